//! Replaces `Self` in a definition by the enum's name, because generated items are other types.

use quote::ToTokens;
use syn::{Attribute, Expr, ExprLit, ItemEnum, Lit, LitStr, Meta, MetaNameValue};

use crate::{names, tokens};

pub(super) fn named(mut item: ItemEnum) -> ItemEnum {
    let own = item.ident.clone();
    for variant in &mut item.variants {
        let tokens = tokens::named(variant.to_token_stream(), "Self", &own);
        // The replacement does not change a variant's kind.
        if let Ok(named) = syn::parse2(tokens) {
            *variant = named;
        }
        let (own, name) = (names::text(&own), names::text(&variant.ident));
        let idents = variant.fields.iter().filter_map(|field| field.ident.as_ref());
        let fields = idents.map(names::text).collect::<Vec<_>>();
        let inner = variant.fields.iter_mut().flat_map(|field| &mut field.attrs);
        for attribute in variant.attrs.iter_mut().chain(inner) {
            if let Some(text) = text(attribute) {
                *text = LitStr::new(&in_links(&text.value(), &own, &name, &fields), text.span());
            }
        }
    }
    item
}

fn text(attribute: &mut Attribute) -> Option<&mut LitStr> {
    let Meta::NameValue(MetaNameValue { path, value, .. }) = &mut attribute.meta else {
        return None;
    };
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if path.is_ident("doc") => Some(text),
        _ => None,
    }
}

/// Replaces `Self` in the links of a text; a field `Self::n` becomes `Command::Work::n`.
fn in_links(text: &str, own: &str, variant: &str, fields: &[String]) -> String {
    let to_field = |field| (format!("::{field}"), format!("::{variant}::{field}"));
    let fields = fields.iter().map(to_field).flat_map(|(from, to)| {
        ["`", "]", ")"].map(|end| (format!("{from}{end}"), format!("{to}{end}")))
    });
    let others = ["::", "`", "]", ")"].map(|end| (end.to_owned(), end.to_owned()));
    // Fields first, because the general replacement removes every `Self`.
    fields.chain(others).fold(text.to_owned(), |text, (from, to)| {
        ["[`", "[", "("].iter().fold(text, |text, start| {
            text.replace(&format!("{start}Self{from}"), &format!("{start}{own}{to}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::in_links;

    #[test]
    fn self_in_links_is_the_enum_and_its_fields_are_the_variants() {
        let text = "[`Self::Undo`], [`Self`], [Self], [it](Self::N), Selfish, [Selfish]";
        let named =
            "[`Command::Undo`], [`Command`], [Command], [it](Command::N), Selfish, [Selfish]";
        let in_links = |text| in_links(text, "Command", "Work", &["n".to_owned()]);
        assert_eq!(in_links(text), named);
        let named = "[`Command::Work::n`], [it](Command::Work::n), [`Command::nn`]";
        assert_eq!(in_links("[`Self::n`], [it](Self::n), [`Self::nn`]"), named);
    }
}
