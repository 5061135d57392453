//! Fields with a codec of their own: each of its functions is called in one place, so that one that
//! is missing or has other types is reported once, and where it is named.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::Render;
use crate::model::{Field, Role, Variant};
use crate::{names, tokens};

impl Render<'_> {
    /// The functions that call those of codecs.
    pub(super) fn codecs(&self) -> TokenStream {
        let variants = self.model.variants.iter();
        variants
            .flat_map(|variant| variant.fields.iter().map(move |field| codec(variant, field)))
            .collect()
    }
}

fn codec(variant: &Variant, field: &Field) -> TokenStream {
    let Role::Codec(module) = field.role() else { return TokenStream::new() };
    let (encode, decode) =
        (names::expression("encode", variant, field), names::expression("decode", variant, field));
    let clone = names::expression("clone", variant, field);
    let (ty, value) = (&field.ty, names::local("value"));
    let functions = quote! {
        // No functions, because clippy has its own idea of one that takes a `&String`.
        const #encode: fn(&#ty) -> #module::Wire = |#value| #module::encode(#value);
        const #decode: fn(#module::Wire) -> __p::Result<#ty, &'static __p::str> =
            |#value| #module::decode(#value);
    };
    let functions = tokens::at(functions, module.span());
    let clone = quote_spanned! {ty.span()=>
        const #clone: fn(&#ty) -> #ty = <#ty as ::core::clone::Clone>::clone;
    };
    quote!(#functions #clone)
}
