//! Fields with a codec. Each function is used once, so that an error is reported once.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;

use super::Render;
use crate::model::{Field, Role};
use crate::{names, tokens};

impl Render<'_> {
    pub(super) fn codecs(&self) -> TokenStream {
        self.model.variants.iter().flat_map(|variant| &variant.fields).filter_map(codec).collect()
    }
}

fn codec(field: &Field) -> Option<TokenStream> {
    let Role::Codec(module) = &field.role else { return None };
    let (encode, decode) = (field.constant("encode_of"), field.constant("decode_of"));
    let (ty, value) = (&field.ty, names::local("value"));
    let functions = quote! {
        // Closures, because clippy rejects functions that take a `&String`.
        const #encode: fn(&#ty) -> #module::Wire = |#value| #module::encode(#value);
        const #decode: fn(#module::Wire) -> __p::Result<#ty, &'static __p::str> =
            |#value| #module::decode(#value);
    };
    Some(tokens::at(functions, module.span()))
}
