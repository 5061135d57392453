//! The names of what is generated: `TagSend` makes `TagSendTask`, `task_tag_send` and the handler
//! method `tag_send`.

use heck::ToSnakeCase;
use proc_macro2::{Ident, Span};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt;

use crate::model::{Field, Variant};

/// An identifier's text without `r#`.
pub(crate) fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// `TagSend` as the handler's method `tag_send`, raw where that is a keyword. `None` where not even
/// that is a name.
pub(crate) fn method(variant: &Ident) -> Option<Ident> {
    // A name is a keyword in the edition of whoever writes it: the handler's may be a later one
    // than the protocol's.
    const LATER_KEYWORDS: [&str; 1] = ["gen"];
    let name = text(variant).to_snake_case();
    let as_is =
        syn::parse_str::<Ident>(&name).ok().filter(|_| !LATER_KEYWORDS.contains(&name.as_str()));
    let name = as_is.or_else(|| syn::parse_str::<Ident>(&format!("r#{name}")).ok());
    name.map(|mut name| {
        name.set_span(variant.span());
        made(&name)
    })
}

/// A user's name for an item or a field that is made: it stands where the user's does and names the
/// same, but lints take it for what it is, a macro's.
pub(crate) fn made(name: &Ident) -> Ident {
    let mut name = name.clone();
    name.set_span(Span::mixed_site().located_at(name.span()));
    name
}

/// `TagSend` as the client's method `task_tag_send`.
pub(crate) fn task_method(variant: &Ident) -> Ident {
    made(&Ident::new(&format!("task_{}", text(variant).to_snake_case()), variant.span()))
}

/// `TagSend` as the task `TagSendTask`.
pub(crate) fn task(variant: &Ident) -> Ident {
    made(&Ident::new(&format!("{}Task", text(variant)), variant.span()))
}

/// `TagSent` as the structure of its echoed fields, `TagSentEcho`.
pub(crate) fn echo(variant: &Ident) -> Ident {
    made(&Ident::new(&format!("{}Echo", text(variant)), variant.span()))
}

/// Tokens as their author writes them, without the spaces that they are printed with.
pub(crate) fn written(tokens: impl ToTokens) -> String {
    crate::tokens::spelled_type(tokens.to_token_stream())
}

/// The constant that places one field. The underscores in front keep it apart from the user's own
/// names.
pub(crate) fn field_const(variant: &Variant, field: &Field) -> Ident {
    constant(&format!("__AT_{}_", owner(variant)), &field.ident)
}

/// The function that gives one field its value of zeros.
pub(crate) fn zero_const(variant: &Variant, field: &Field) -> Ident {
    constant(&format!("__ZERO_OF_{}_", owner(variant)), &field.ident)
}

/// The constant that places the address word at a payload's own place.
pub(crate) fn address_const(variant: &Variant, payload: &Field) -> Ident {
    constant(&format!("__ADDR_{}_", owner(variant)), &payload.ident)
}

/// The constant that places the length word at a payload's own place.
pub(crate) fn length_const(variant: &Variant, payload: &Field) -> Ident {
    constant(&format!("__LEN_{}_", owner(variant)), &payload.ident)
}

/// The function of a payload's `len` or `when` expression.
pub(crate) fn expression(key: &str, variant: &Variant, payload: &Field) -> Ident {
    constant(&format!("__{key}_of_{}_", owner(variant)), &payload.ident)
}

/// The type of the fields that a command's answer repeats.
pub(crate) fn echo_type(variant: &Variant) -> Ident {
    constant("__Echo_", &variant.ident)
}

/// The function that makes them of the command's.
pub(crate) fn echo_maker(variant: &Variant) -> Ident {
    constant("__echo_", &variant.ident)
}

/// The function that makes up a variant, for tests.
pub(crate) fn maker(variant: &Variant) -> Ident {
    constant("__arbitrary_", &variant.ident)
}

/// The constant that describes what stands in a variant's structure.
pub(crate) fn fields_const(variant: &Variant) -> Ident {
    constant("__FIELDS_", &variant.ident)
}

/// The constant of the offsets of a variant's fields.
pub(crate) fn offsets_const(variant: &Variant) -> Ident {
    constant("__OF_", &variant.ident)
}

/// The described name of the address word at a payload's own place.
pub(crate) fn address(payload: &Field) -> String {
    format!("{}_addr", text(&payload.ident))
}

/// The described name of the length word at a payload's own place.
pub(crate) fn length(payload: &Field) -> String {
    format!("{}_len", text(&payload.ident))
}

/// A variant's name in front of a field's: `tag_send` and `len` are not `tag` and `send_len`.
fn owner(variant: &Variant) -> String {
    let name = text(&variant.ident);
    if name.contains('_') { format!("{}_{name}", name.len()) } else { name }
}

fn constant(prefix: &str, name: &Ident) -> Ident {
    Ident::new(&format!("{prefix}{}", text(name)), Span::call_site())
}

/// A local variable that no name of the user's can clash with.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// A local variable for the field numbered `index`.
pub(crate) fn numbered(index: usize) -> Ident {
    format_ident!("f{}", index, span = Span::mixed_site())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_become_raw_and_what_cannot_be_raw_is_no_name() {
        let method_of =
            |name: &str| method(&Ident::new(name, Span::call_site())).map(|name| name.to_string());
        assert_eq!(method_of("Move").as_deref(), Some("r#move"));
        assert_eq!(method_of("Loop").as_deref(), Some("r#loop"));
        for keyword in ["Gen", "Async", "Await", "Dyn", "Try", "Box", "Yield", "Abstract"] {
            assert_eq!(method_of(keyword), Some(format!("r#{}", keyword.to_lowercase())));
        }
        for name in ["Union", "Auto", "Default", "Raw", "Safe"] {
            assert_eq!(method_of(name), Some(name.to_lowercase()));
        }
        assert_eq!(method_of("Crate"), None);
        assert_eq!(method_of("Super"), None);
    }

    #[test]
    fn types_and_parameters_are_shown_as_they_are_written() {
        for text in [
            "&'static str",
            "&'a [u8]",
            "&mut [u8; 3]",
            "*const u8",
            "a::b::C<u8, D<4>>",
            "[u8; 4]",
            "::core::primitive::bool",
            "Option<::kit::Elements<'a, ::core::primitive::u8>>",
            "(u8, ::a::B)",
            "extern \"C\" fn(u8) -> ::a::B",
            "<A as ::b::C>::D",
            "dyn Fn(u8) -> u8 + 'static",
            "[::a::B; { 1 + 2 }]",
        ] {
            let tokens = syn::parse_str::<syn::Type>(text).ok();
            assert_eq!(tokens.map(written).as_deref(), Some(text));
        }
        let parameter = syn::parse_str::<syn::GenericParam>("const N: usize").ok();
        assert_eq!(parameter.map(written).as_deref(), Some("const N: usize"));
    }
}
