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
        let own = names::text(&own);
        let inner = variant.fields.iter_mut().flat_map(|field| &mut field.attrs);
        for attribute in variant.attrs.iter_mut().chain(inner) {
            if let Some(text) = text(attribute) {
                *text = LitStr::new(&in_links(&text.value(), &own), text.span());
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

/// Replaces `Self` in the links of a text.
fn in_links(text: &str, own: &str) -> String {
    ["[`", "[", "("].iter().fold(text.to_owned(), |text, start| {
        let link = |end| (format!("{start}Self{end}"), format!("{start}{own}{end}"));
        ["::", "`", "]", ")"].map(link).iter().fold(text, |text, (from, to)| text.replace(from, to))
    })
}

#[cfg(test)]
mod tests {
    use super::in_links;

    #[test]
    fn self_in_links_is_the_enum() {
        let text = "[`Self::Undo`], [`Self`], [Self], [it](Self::N), Selfish, [Selfish]";
        let named =
            "[`Command::Undo`], [`Command`], [Command], [it](Command::N), Selfish, [Selfish]";
        assert_eq!(in_links(text, "Command"), named);
    }
}
