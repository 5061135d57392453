//! The lifetime of a command enum's payloads. What a definition lacks is put into the user's item,
//! so that rustc does not report it once more.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{
    Field, Fields, GenericArgument, GenericParam, Ident, ItemEnum, Lifetime, Meta, PathArguments,
    Type, parse_quote,
};

use super::Macro;
use crate::diagnostics::{Errors, messages};
use crate::model::Shape;
use crate::tokens::lifetimes_in;
use crate::{names, tokens};

/// The enum's only lifetime. Every other parameter is an error.
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

/// Takes the lifetimes, which were a mistake, out of an enum of notifications.
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

/// Sees to it that each payload of a command borrows for the enum's lifetime, and gives that.
pub(super) fn borrow(
    which: Macro,
    item: &mut ItemEnum,
    declared: Option<Lifetime>,
    errors: &mut Errors,
) -> Option<Lifetime> {
    if which == Macro::Notification {
        return None;
    }
    let lifetime = declared.clone().unwrap_or_else(|| Lifetime::new("'a", Span::call_site()));
    let mut repaired = false;
    for variant in &mut item.variants {
        let Fields::Named(fields) = &mut variant.fields else { continue };
        for field in fields.named.iter_mut().filter(|field| Shape::of(&field.ty).form.is_borrowed())
        {
            let used = lifetimes_in(field.ty.to_token_stream());
            let known =
                |name: &String| item.generics.lifetimes().any(|one| one.lifetime.ident == *name);
            if used.iter().any(known) {
                continue;
            }
            // One that is not marked as a payload is told that first.
            if is_payload(field) {
                errors.on(&field.ty, messages::payload_lifetime(&item.ident, &lifetime));
            }
            state(&mut field.ty, &lifetime);
            repaired = true;
        }
    }
    if repaired && declared.is_none() {
        item.generics.params.insert(0, parse_quote!(#lifetime));
    }
    if repaired { Some(lifetime) } else { declared }
}

fn is_payload(field: &Field) -> bool {
    let inline = Ident::new("inline", Span::call_site());
    field.attrs.iter().any(|attribute| match &attribute.meta {
        Meta::List(keys) => {
            keys.path.is_ident("urom") && tokens::mentions(keys.tokens.clone(), &inline)
        }
        _ => false,
    })
}

/// Writes `lifetime` wherever a borrowed payload's type lacks or misnames it.
fn state(ty: &mut Type, lifetime: &Lifetime) {
    match ty {
        Type::Reference(reference) => reference.lifetime = Some(lifetime.clone()),
        Type::Group(group) => state(&mut group.elem, lifetime),
        Type::Paren(paren) => state(&mut paren.elem, lifetime),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last_mut() else { return };
            let is_option = last.ident == "Option";
            match &mut last.arguments {
                PathArguments::AngleBracketed(given) if is_option => {
                    for argument in &mut given.args {
                        if let GenericArgument::Type(inner) = argument {
                            state(inner, lifetime);
                        }
                    }
                }
                PathArguments::AngleBracketed(given) => {
                    let others = given
                        .args
                        .iter()
                        .filter(|one| !matches!(one, GenericArgument::Lifetime(_)));
                    *given = parse_quote!(<#lifetime, #(#others),*>);
                }
                arguments => *arguments = PathArguments::AngleBracketed(parse_quote!(<#lifetime>)),
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Form;

    #[test]
    fn what_lacks_a_lifetime_gets_one() {
        let stated = |mut ty: Type| {
            state(&mut ty, &parse_quote!('a));
            names::written(ty)
        };
        assert_eq!(stated(parse_quote!(&[u8])), "&'a [u8]");
        assert_eq!(stated(parse_quote!(Option<Elements<u16>>)), "Option<Elements<'a, u16>>");
        assert_eq!(stated(parse_quote!(kit::Data)), "kit::Data<'a>");
    }

    #[test]
    fn only_known_forms_are_taken_for_payloads() {
        let form = |ty: Type| Shape::of(&ty).form.is_borrowed();
        assert!(form(parse_quote!(&[u8])) && form(parse_quote!(Option<kit::Elements<'a, u8>>)));
        assert!(form(parse_quote!(&'a str)) && form(parse_quote!(Option<&str>)));
        assert!(
            !form(parse_quote!(u64))
                && !form(parse_quote!(&'a u64))
                && !form(parse_quote!(&mut [u8]))
        );
        assert!(matches!(Shape::of(&parse_quote!(&'a [u8; 4])).form, Form::Array));
    }
}
