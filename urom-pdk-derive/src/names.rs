//! Names of generated items: `TagSend` makes `TagSendTask`, `task_tag_send` and `tag_send`.

use heck::ToSnakeCase;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;

pub(crate) fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// Returns the handler's method, raw if it is a keyword; `None` if it cannot be a name.
pub(crate) fn method(variant: &Ident) -> Option<Ident> {
    // The handler's crate may use a later edition than the protocol's.
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

/// Returns a user's name for a generated item; lints treat it as a macro's.
pub(crate) fn made(name: &Ident) -> Ident {
    let mut name = name.clone();
    name.set_span(Span::mixed_site().located_at(name.span()));
    name
}

pub(crate) fn task_method(variant: &Ident) -> Ident {
    made(&Ident::new(&format!("task_{}", text(variant).to_snake_case()), variant.span()))
}

pub(crate) fn task(variant: &Ident) -> Ident {
    made(&Ident::new(&format!("{}Task", text(variant)), variant.span()))
}

pub(crate) fn echo(variant: &Ident) -> Ident {
    made(&Ident::new(&format!("{}Echo", text(variant)), variant.span()))
}

/// Formats tokens in source style, without the extra spaces of their printed form.
pub(crate) fn written(tokens: impl ToTokens) -> String {
    crate::tokens::spelled_type(tokens.to_token_stream())
}

/// The prefix of a field's constants. `tag_send` and `len` differ from `tag` and `send_len`.
pub(crate) fn stem(variant: &Ident, field: &Ident) -> String {
    let (variant, field) = (text(variant), text(field));
    if variant.contains('_') {
        format!("{}_{variant}_{field}", variant.len())
    } else {
        format!("{variant}_{field}")
    }
}

pub(crate) fn constant(what: &str, of: &str) -> Ident {
    Ident::new(&format!("__{what}_{of}"), Span::call_site())
}

/// Returns a local variable. A macro's span separates it from the user's variables, the underscores
/// from the user's constants, which a pattern of the same name would match.
pub(crate) fn local(name: &str) -> Ident {
    format_ident!("__{name}", span = Span::mixed_site())
}

pub(crate) fn numbered(index: usize) -> Ident {
    local(&format!("f{index}"))
}

/// Returns functions with the names of the user's variables, for the start of a block. They hide
/// the user's constants: a variable may have a function's name, but not a constant's.
pub(crate) fn shadows<'a>(variables: impl IntoIterator<Item = &'a Ident>) -> TokenStream {
    let variables = variables.into_iter().map(made).collect::<Vec<_>>();
    quote!(#(fn #variables() {} let _ = #variables;)*)
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
