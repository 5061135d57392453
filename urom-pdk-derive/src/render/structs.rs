//! Each variant as a structure of its own.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Path, parse_quote};

use super::Render;
use crate::model::{Field, Kind, Variant};
use crate::{names, validate};

impl Render<'_> {
    /// The structures, and for notifications those of the echoed fields.
    pub(super) fn structs(&self) -> TokenStream {
        let variants = self.model.variants.iter().map(|variant| match self.model.kind {
            Kind::Command(_) => {
                let fields = variant.fields.iter().collect::<Vec<_>>();
                self.structure(&variant.ident, &variant.docs, "command", &fields)
            }
            Kind::Notification => {
                let own = variant.own().collect::<Vec<_>>();
                let body = self.structure(&variant.ident, &variant.docs, "notification", &own);
                let echo = self.echo(variant);
                quote!(#body #echo)
            }
        });
        quote!(#(#variants)*)
    }

    fn structure(&self, name: &Ident, docs: &[Attribute], what: &str, fields: &[&Field]) -> TokenStream {
        let docs = documented(docs, &format!(" The {what} `{}`.", names::text(name)));
        let derives = self.derives(fields);
        let body = self.members(fields);
        let vis = &self.model.vis;
        quote! {
            #docs
            #derives
            #[allow(dead_code, reason = "not every program uses every part of a protocol")]
            #vis struct #name #body
        }
    }

    fn echo(&self, variant: &Variant) -> TokenStream {
        let name = names::echo(&variant.ident);
        let doc = format!(" The fields of `{}` that repeat the command's.", names::text(&variant.ident));
        let body = self.members(&variant.echoed().collect::<Vec<_>>());
        let vis = &self.model.vis;
        quote! {
            #[doc = #doc]
            #[doc(hidden)]
            #[derive(::core::clone::Clone, ::core::marker::Copy)]
            #[allow(dead_code, reason = "not every program uses every part of a protocol")]
            #vis struct #name #body
        }
    }

    fn members(&self, fields: &[&Field]) -> TokenStream {
        if fields.is_empty() {
            return quote!(;);
        }
        let vis = &self.model.vis;
        let members = fields.iter().map(|field| {
            let Field { ident, ty, docs, .. } = field;
            let docs = documented(docs, &format!(" The field `{}`.", names::text(ident)));
            quote!(#docs #vis #ident: #ty)
        });
        quote!({ #(#members),* })
    }

    /// What the structure derives: all that numbers can do, or what the user derives for the whole enum.
    fn derives(&self, fields: &[&Field]) -> TokenStream {
        let mut derives = self.model.derives.clone();
        if fields.iter().all(|field| validate::is_number(&field.ty)) {
            let numbers: [Path; 4] = [
                parse_quote!(::core::clone::Clone),
                parse_quote!(::core::marker::Copy),
                parse_quote!(::core::fmt::Debug),
                parse_quote!(::core::cmp::PartialEq),
            ];
            for derive in numbers {
                if !derives.iter().any(|given| last(given) == last(&derive)) {
                    derives.push(derive);
                }
            }
        }
        if derives.is_empty() || self.inert { TokenStream::new() } else { quote!(#[derive(#(#derives),*)]) }
    }

    /// A `Clone` for structures that derive none; their fields are known to be plain data.
    pub(super) fn clone_impl(&self, variant: &Variant, fields: &[&Field]) -> TokenStream {
        let derived =
            self.model.derives.iter().any(|derive| last(derive).is_some_and(|name| name == "Clone"));
        if derived || self.inert || fields.iter().all(|field| validate::is_number(&field.ty)) {
            return TokenStream::new();
        }
        let name = &variant.ident;
        let members = fields.iter().map(|field| {
            let (ident, constant) = (&field.ident, names::field_const(variant, field));
            quote!(#ident: #constant.copy(&self.#ident))
        });
        quote! {
            #[automatically_derived]
            impl ::core::clone::Clone for #name {
                fn clone(&self) -> #name {
                    #name { #(#members),* }
                }
            }
        }
    }
}

fn last(path: &Path) -> Option<String> {
    path.segments.last().map(|segment| segment.ident.to_string())
}

/// The user's documentation, or a sentence in its place.
pub(super) fn documented(docs: &[Attribute], otherwise: &str) -> TokenStream {
    if docs.is_empty() { quote!(#[doc = #otherwise]) } else { quote!(#(#docs)*) }
}

/// A pattern that names every field of a variant `field_0`, `field_1`, ..., and those names.
pub(super) fn pattern(of: &Ident, variant: &Variant) -> (TokenStream, Vec<Ident>) {
    let name = &variant.ident;
    let locals = (0..variant.fields.len()).map(names::numbered).collect::<Vec<_>>();
    let idents = variant.fields.iter().map(|field| &field.ident);
    (quote!(#of::#name { #(#idents: #locals),* }), locals)
}
