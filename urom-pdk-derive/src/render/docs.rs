//! Copies the user's documentation from the enum to structures and methods. An example runs on the
//! enum only: in documentation tests, a copy that may contain one is replaced.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Meta};

use super::Render;
use crate::described;

impl Render<'_> {
    /// Returns the documentation of a variant or a field for another item, or `otherwise`.
    pub(super) fn copied_docs(&self, docs: &[Attribute], otherwise: &str) -> TokenStream {
        let is_text = |attribute: &&Attribute| matches!(attribute.meta, Meta::NameValue(_));
        // Such as `hidden`.
        let others = docs.iter().filter(|attribute| !is_text(attribute)).collect::<Vec<_>>();
        if others.len() == docs.len() {
            return quote!(#[doc = #otherwise] #(#others)*);
        }
        let text = described::docs(docs);
        let spelled = text.to_string();
        // Text from elsewhere, such as `include_str!`, may contain code.
        let may_hold_code = !spelled.starts_with('"')
            || ["```", "~~~", "\\n     "].iter().any(|code| spelled.contains(code));
        if !may_hold_code {
            return quote!(#[doc = #text] #(#others)*);
        }
        quote! {
            #[cfg_attr(not(doctest), doc = #text)]
            #[cfg_attr(doctest, doc = #otherwise)]
            #(#others)*
        }
    }
}
