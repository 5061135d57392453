//! Replaces an invalid definition with items without bodies, so that their uses cause no errors.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{GenericParam, parse_quote};

use crate::model::Messages;
use crate::render::Render;
use crate::{tokens, validate};

pub(crate) fn messages(mut model: Messages) -> TokenStream {
    for at in 0..model.variants.len() {
        let reply = model.variants[at].reply.as_ref();
        if let Some(structure) = reply.and_then(|reply| validate::structure_of(&model, reply)) {
            model.variants[at].reply = Some(structure);
        }
    }
    let unknown = model.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Lifetime(of) if Some(&of.lifetime) == model.lifetime.as_ref() => None,
        GenericParam::Lifetime(of) => Some(&of.lifetime.ident),
        GenericParam::Type(of) => Some(&of.ident),
        GenericParam::Const(of) => Some(&of.ident),
    });
    let unknown = unknown.cloned().collect::<Vec<_>>();
    let mut variants = std::mem::take(&mut model.variants);
    for field in variants.iter_mut().flat_map(|variant| &mut variant.fields) {
        let borrows = field.is_payload() && field.shape.form.is_borrowed();
        let unsafe_type = validate::unsafe_type(&field.ty, model.is_borrowed());
        // The structures lack such parameters, and the error was reported.
        if unknown.iter().any(|name| tokens::mentions(field.ty.to_token_stream(), name))
            || validate::lacks_lifetime(&model, field)
            || !borrows && unsafe_type.is_some_and(|wrong| wrong.is_no_field())
        {
            field.ty = parse_quote!(());
        }
        if validate::SETTERS.contains(&&*field.name()) {
            field.keys.spans.retain(|key, _| !["echo", "optional"].contains(key));
        }
    }
    model.variants = variants;
    Render::new(&model, true).all()
}
