//! Documentation of the user's on what is made of a definition.
//! It stands on the enum, where its examples run, and is copied to structures and methods, where an
//! example would run once more for each: so a copy that may have one is replaced while
//! documentation is tested.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Meta};

use super::Render;
use crate::described;

impl Render<'_> {
    /// The user's documentation of a variant or of a field of it, for another item; a sentence when
    /// there is none.
    pub(super) fn copied_docs(&self, docs: &[Attribute], otherwise: &str) -> TokenStream {
        let is_text = |attribute: &&Attribute| matches!(attribute.meta, Meta::NameValue(_));
        // Such as `hidden`.
        let others = docs.iter().filter(|attribute| !is_text(attribute)).collect::<Vec<_>>();
        if others.len() == docs.len() {
            return quote!(#[doc = #otherwise] #(#others)*);
        }
        let text = described::docs(docs);
        let spelled = text.to_string();
        // Text from elsewhere, such as `include_str!`, may hold anything.
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
