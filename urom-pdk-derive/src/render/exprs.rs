//! The expressions of `len` and `when`, each as a function of the fields that it names.
//!
//! A function of its own sees nothing of the code around it, and its parameters are the fields
//! under their own names.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned;

use super::Render;
use crate::model::{Count, Field, Payload, Presence, Role, Variant};
use crate::{names, tokens};

impl Render<'_> {
    /// The functions of all expressions.
    pub(super) fn expressions(&self) -> TokenStream {
        let of = |variant: &Variant, field: &Field| {
            let len = expression("len", field).map(|expr| {
                let output = quote_spanned!(expr.span()=> impl __p::Count);
                self.function("len", variant, field, &quote!(#expr), &output)
            });
            let when = expression("when", field).map(|expr| {
                let output = quote_spanned!(expr.span()=> ::core::primitive::bool);
                self.function("when", variant, field, &quote!(#expr), &output)
            });
            quote!(#len #when)
        };
        let all = self.model.variants.iter().flat_map(|variant| {
            variant.payloads().map(|field| of(variant, field)).collect::<Vec<_>>()
        });
        all.collect()
    }

    fn function(
        &self,
        key: &str,
        variant: &Variant,
        payload: &Field,
        expr: &TokenStream,
        output: &TokenStream,
    ) -> TokenStream {
        let name = names::expression(key, variant, payload);
        let parameters = in_scope(variant, payload, expr).map(|field| {
            let (ident, ty) = (&field.ident, &field.ty);
            let ty = match field.role() {
                Role::Codec(_) => quote!(&#ty),
                Role::Payload if !self.model.is_command() => {
                    quote!(<#ty as __p::Owned>::View<'_>)
                }
                _ => quote!(#ty),
            };
            quote!(#ident: #ty)
        });
        let idents = in_scope(variant, payload, expr).map(|field| &field.ident);
        let borrows = in_scope(variant, payload, expr)
            .any(|field| field.is_payload() && self.borrows_type(&field.ty));
        let generics =
            self.model.lifetime.as_ref().filter(|_| borrows).map(|lifetime| quote!(<#lifetime>));
        quote! {
            #[inline]
            fn #name #generics(#(#parameters),*) -> #output {
                // A method may be called like a field that the expression does not use.
                #(let _ = #idents;)*
                #expr
            }
        }
    }

    /// A call of the function of `key`, when the payload has one. `value` gives what to pass for a
    /// field: plain ones and a command's payloads by value, others as they are looked at.
    pub(super) fn call(
        &self,
        key: &str,
        variant: &Variant,
        payload: &Field,
        value: impl Fn(&Field) -> TokenStream,
    ) -> Option<TokenStream> {
        let expr = expression(key, payload)?.to_token_stream();
        let name = names::expression(key, variant, payload);
        let arguments = in_scope(variant, payload, &expr).map(value);
        Some(quote!(#name(#(#arguments),*)))
    }
}

/// The expression of a payload's key `len` or `when`, when that is one.
fn expression<'a>(key: &str, payload: &'a Field) -> Option<&'a Expr> {
    match payload.payload.as_ref()? {
        Payload { count: Count::Given(expr), .. } if key == "len" => Some(expr),
        Payload { presence: Presence::When(expr), .. } if key == "when" => Some(expr),
        _ => None,
    }
}

/// The fields that an expression of `payload` names: all that have a value of their own, and the
/// payloads before it.
fn in_scope<'a>(
    variant: &'a Variant,
    payload: &'a Field,
    expr: &'a TokenStream,
) -> impl Iterator<Item = &'a Field> {
    let before = variant.fields.iter().take_while(move |field| field.ident != payload.ident);
    let payloads = before.filter(|field| field.is_payload());
    let values = variant.values().filter(|field| !field.is_payload());
    values.chain(payloads).filter(move |field| tokens::mentions(expr.clone(), &field.ident))
}
