//! Collecting errors, so that several mistakes give several errors.

pub(crate) mod messages;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

use messages::Message;

/// The errors found so far. Dropping it before [`into_compile_errors`](Errors::into_compile_errors)
/// panics: an error that nobody looks at would let wrong input through.
pub(crate) struct Errors {
    found: Vec<syn::Error>,
    checked: bool,
}

impl Errors {
    pub(crate) fn new() -> Errors {
        Errors { found: Vec::new(), checked: false }
    }

    pub(crate) fn at(&mut self, span: Span, message: Message) {
        self.found.push(syn::Error::new(span, message));
    }

    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: Message) {
        self.found.push(syn::Error::new_spanned(tokens, message));
    }

    /// Passes on an error of the parser itself: input that is no Rust at all.
    pub(crate) fn syntax(&mut self, error: syn::Error) {
        self.found.push(error);
    }

    /// One `compile_error!` for each error, or `None` when there is none.
    pub(crate) fn into_compile_errors(mut self) -> Option<TokenStream> {
        self.checked = true;
        let all = self.found.drain(..).reduce(|mut all, next| {
            all.combine(next);
            all
        });
        all.map(|all| all.into_compile_error())
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        if !self.checked && !std::thread::panicking() {
            panic!("errors were collected and never looked at");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_given() {
        let mut errors = Errors::new();
        errors.at(Span::call_site(), messages::duplicate_key("a"));
        errors.on(quote::quote!(b), messages::duplicate_key("b"));
        let text =
            errors.into_compile_errors().map(|tokens| tokens.to_string()).unwrap_or_default();
        assert_eq!(text.matches("compile_error").count(), 2, "{text}");
        assert!(Errors::new().into_compile_errors().is_none());
    }

    #[test]
    #[should_panic(expected = "never looked at")]
    fn errors_cannot_be_dropped_unchecked() {
        drop(Errors::new());
    }

    #[test]
    fn messages_read_alike() {
        for (name, text) in messages::TABLE {
            assert!(!text.ends_with('.'), "{name}: no full stop");
            assert!(
                !text.starts_with(|first: char| first.is_ascii_uppercase()),
                "{name}: lower case"
            );
            assert!(text.contains(": "), "{name}: says what to do behind a colon");
        }
    }
}
