//! Collects errors, so that several mistakes give several errors.

pub(crate) mod messages;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

use messages::ErrorMessage;

#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn at(&mut self, span: Span, message: ErrorMessage) {
        self.syntax(syn::Error::new(span, message));
    }

    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: ErrorMessage) {
        self.syntax(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn syntax(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Returns one `compile_error!` for each error, or `None` without errors.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_alike() {
        for (name, text) in messages::TABLE {
            assert!(!text.ends_with('.'), "{name}: no full stop");
            assert!(
                !text.starts_with(|first: char| first.is_ascii_uppercase()),
                "{name}: lower case"
            );
            assert!(text.contains(": "), "{name}: a remedy follows a colon");
        }
    }
}
