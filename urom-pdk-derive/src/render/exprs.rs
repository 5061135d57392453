//! Each `len` or `when` expression as a function, with only its fields as variables in scope.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned;

use super::Render;
use crate::model::{Field, Payload, Role, Variant};
use crate::{names, tokens};

impl Render<'_> {
    pub(super) fn expressions(&self) -> TokenStream {
        let mut functions = TokenStream::new();
        for variant in &self.model.variants {
            for (field, payload) in variant.payloads() {
                functions.extend(payload.len().map(|expr| {
                    let output = quote_spanned!(expr.span()=> impl __p::Count);
                    self.function("len", variant, field, expr, &output)
                }));
                functions.extend(payload.when().map(|expr| {
                    let output = quote_spanned!(expr.span()=> ::core::primitive::bool);
                    self.function("when", variant, field, expr, &output)
                }));
            }
        }
        functions
    }

    fn function(
        &self,
        key: &str,
        variant: &Variant,
        payload: &Field,
        expr: &Expr,
        output: &TokenStream,
    ) -> TokenStream {
        let (name, fields) = (function_name(key, payload), in_scope(variant, payload, expr));
        let parameters = fields.iter().map(|field| {
            let (local, ty) = (field.local(), &field.ty);
            match field.role {
                Role::Codec(_) => quote!(#local: &#ty),
                Role::Payload(_) if !self.model.is_borrowed() => {
                    quote!(#local: <#ty as __p::Owned>::View<'_>)
                }
                _ => quote!(#local: #ty),
            }
        });
        let idents = fields.iter().map(|field| &field.ident).collect::<Vec<_>>();
        let (shadows, locals) =
            (names::shadows(idents.iter().copied()), fields.iter().map(|field| field.local()));
        let borrows = fields.iter().any(|field| field.is_payload() && self.borrows_type(&field.ty));
        let lifetime = self.model.lifetime.as_ref().filter(|_| borrows);
        let generics = lifetime.map(|lifetime| quote!(<#lifetime>));
        quote! {
            #[inline]
            fn #name #generics(#(#parameters),*) -> #output {
                #shadows
                // A method may have the name of a field that the expression does not use.
                #(let #idents = #locals; let _ = #idents;)*
                #expr
            }
        }
    }

    /// Returns a call of the function of `key`, `len` or `when`, if any. `value` returns an
    /// argument: plain fields and a command's payloads by value, others by reference.
    pub(super) fn call(
        &self,
        key: &str,
        variant: &Variant,
        payload: &Field,
        value: impl Fn(&Field) -> TokenStream,
    ) -> Option<TokenStream> {
        let expr =
            payload.payload().and_then(if key == "len" { Payload::len } else { Payload::when })?;
        let name = function_name(key, payload);
        let arguments = in_scope(variant, payload, expr).into_iter().map(value);
        Some(quote!(#name(#(#arguments),*)))
    }
}

fn function_name(key: &str, payload: &Field) -> proc_macro2::Ident {
    payload.constant(&format!("{key}_of"))
}

fn in_scope<'a>(variant: &'a Variant, payload: &Field, expr: &Expr) -> Vec<&'a Field> {
    let before = variant.payloads().map(|(field, _)| field).filter(|field| field.at < payload.at);
    let known = variant.fixed().chain(before);
    known.filter(|field| tokens::mentions(expr.to_token_stream(), &field.ident)).collect()
}
