//! The lifetime of a command enum's payloads.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{GenericParam, ItemEnum, Lifetime, parse_quote};

use super::Macro;
use crate::diagnostics::{Errors, messages};
use crate::{names, tokens};

pub(super) fn declared(which: Macro, item: &ItemEnum, errors: &mut Errors) -> Option<Lifetime> {
    let mut lifetime: Option<Lifetime> = None;
    for parameter in &item.generics.params {
        match (parameter, &lifetime) {
            (GenericParam::Lifetime(parameter), _) if which == Macro::Notification => {
                errors.on(parameter, messages::notification_lifetime(&parameter.lifetime));
            }
            (GenericParam::Lifetime(parameter), Some(first)) => {
                errors.on(parameter, messages::second_lifetime(&parameter.lifetime, first));
            }
            (GenericParam::Lifetime(parameter), None) => {
                lifetime = Some(parameter.lifetime.clone())
            }
            (other, _) => errors.on(other, messages::generic_message(names::written(other))),
        }
    }
    lifetime
}

pub(super) fn remove(item: &mut ItemEnum) {
    let lifetimes =
        item.generics.lifetimes().map(|parameter| parameter.lifetime.clone()).collect::<Vec<_>>();
    let forever = Lifetime::new("'static", Span::call_site());
    for field in item.variants.iter_mut().flat_map(|variant| &mut variant.fields) {
        for lifetime in &lifetimes {
            let ty = tokens::with_lifetime(field.ty.to_token_stream(), lifetime, &forever);
            field.ty = parse_quote!(#ty);
        }
    }
    let others = std::mem::take(&mut item.generics.params).into_iter();
    item.generics.params =
        others.filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_))).collect();
}
