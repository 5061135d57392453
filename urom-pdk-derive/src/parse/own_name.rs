//! `Self` in a definition: replaced by the enum's name, because generated items are other types.

use quote::ToTokens;
use syn::{Attribute, Expr, ExprLit, ItemEnum, Lit, LitStr, Meta};

use crate::{names, tokens};

/// Replaces `Self` in types, in expressions, and in links of the documentation.
pub(super) fn named(mut item: ItemEnum) -> ItemEnum {
    let own = item.ident.clone();
    for variant in &mut item.variants {
        let tokens = tokens::named(variant.to_token_stream(), "Self", &own);
        // One name for another leaves a variant what it is.
        if let Ok(named) = syn::parse2(tokens) {
            *variant = named;
        }
        let (own, name) = (names::text(&own), names::text(&variant.ident));
        let idents = variant.fields.iter().filter_map(|field| field.ident.as_ref());
        let fields = idents.map(names::text).collect::<Vec<_>>();
        let inner = variant.fields.iter_mut().flat_map(|field| &mut field.attrs);
        for attribute in variant.attrs.iter_mut().chain(inner) {
            if let Some(text) = text(attribute) {
                *text = LitStr::new(&in_text(&text.value(), &own, &name, &fields), text.span());
            }
        }
    }
    item
}

fn text(attribute: &mut Attribute) -> Option<&mut LitStr> {
    match &mut attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => match &mut doc.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces `Self` in a text; a field `Self::n` becomes `Command::Work::n`.
fn in_text(text: &str, own: &str, variant: &str, fields: &[String]) -> String {
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("Self") {
        named.push_str(before);
        rest = behind;
        if before.ends_with(is_name) || behind.starts_with(is_name) {
            named.push_str("Self");
            continue;
        }
        named.push_str(own);
        let path = behind
            .strip_prefix("::")
            .map(|path| path.split(|c| !is_name(c)).next().unwrap_or_default());
        if path.is_some_and(|name| fields.iter().any(|field| field == name)) {
            named.push_str("::");
            named.push_str(variant);
        }
    }
    named.push_str(rest);
    named
}

#[cfg(test)]
mod tests {
    use super::in_text;

    #[test]
    fn self_is_the_enum_and_its_fields_are_the_variants() {
        let named = |text| in_text(text, "Command", "Work", &["n".to_owned()]);
        assert_eq!(named(" See [`Self::Undo`], [`Self`]."), " See [`Command::Undo`], [`Command`].");
        assert_eq!(
            named("[`Self::n`] of [it](Self::N)"),
            "[`Command::Work::n`] of [it](Command::N)"
        );
        assert_eq!(named("Selfish, mySelf, my_Self, Self"), "Selfish, mySelf, my_Self, Command");
    }
}
