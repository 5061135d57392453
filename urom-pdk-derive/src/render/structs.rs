//! Each variant as a structure of its own.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Path, parse_quote};

use super::Render;
use crate::model::{Field, Form, Role, Shape, Variant};
use crate::{names, validate};

impl Render<'_> {
    pub(super) fn structs(&self) -> TokenStream {
        let variants = self.model.variants.iter().map(|variant| {
            if self.model.is_borrowed() {
                let what = if self.model.peers.is_some() { "message" } else { "command" };
                return self.structure(variant, what, &variant.values().collect::<Vec<_>>());
            }
            let own = variant.own().collect::<Vec<_>>();
            let (body, echo) = (self.structure(variant, "notification", &own), self.echo(variant));
            quote!(#body #echo)
        });
        quote!(#(#variants)*)
    }

    fn structure(&self, variant: &Variant, what: &str, fields: &[&Field]) -> TokenStream {
        let (name, parameters) = (names::made(&variant.ident), self.parameters(variant));
        let allowed = self.allowed();
        let docs =
            self.copied_docs(&variant.docs, &format!(" The {what} `{}`.", names::text(&name)));
        let derives = self.derives(fields);
        let (derived, implemented) = match self.inert {
            true => (None, Some(self.stand_ins(variant, &derives))),
            false => ((!derives.is_empty()).then(|| quote!(#[derive(#(#derives),*)])), None),
        };
        let body = self.members(fields, true);
        let vis = &self.model.vis;
        quote! {
            #docs
            #derived
            #allowed
            #vis struct #name #parameters #body
            #implemented
        }
    }

    fn echo(&self, variant: &Variant) -> TokenStream {
        let (name, allowed) = (names::echo(&variant.ident), self.allowed());
        let body = self.members(&variant.echoed().collect::<Vec<_>>(), false);
        let vis = &self.model.vis;
        quote! {
            #[doc(hidden)]
            #[derive(::core::clone::Clone, ::core::marker::Copy)]
            #allowed
            #vis struct #name #body
        }
    }

    fn members(&self, fields: &[&Field], documented: bool) -> TokenStream {
        if fields.is_empty() {
            return quote!(;);
        }
        let vis = &self.model.vis;
        let members = fields.iter().map(|field| {
            let Field { ident, ty, docs, .. } = field;
            let otherwise = format!(" The field `{}`.", field.name());
            let docs = documented.then(|| self.copied_docs(docs, &otherwise));
            let ident = names::made(ident);
            quote!(#docs #vis #ident: #ty)
        });
        quote!({ #(#members),* })
    }

    /// Returns the derives that all fields are known to support, or the user's derives.
    fn derives(&self, fields: &[&Field]) -> Vec<Path> {
        let mut derives = self.model.derives.clone();
        if fields.iter().all(|field| is_known(field)) {
            let known: [Path; 3] = [
                parse_quote!(::core::clone::Clone),
                parse_quote!(::core::fmt::Debug),
                parse_quote!(::core::cmp::PartialEq),
            ];
            let owns = fields.iter().any(|field| field.is_payload() && field.shape.form.is_owned());
            let copy = (!owns).then(|| parse_quote!(::core::marker::Copy));
            for derive in known.into_iter().chain(copy) {
                if !derives.iter().any(|given| last(given) == last(&derive)) {
                    derives.push(derive);
                }
            }
        }
        derives
    }

    /// Returns impls without bodies for derives of an invalid structure, except `Copy`.
    fn stand_ins(&self, variant: &Variant, derives: &[Path]) -> TokenStream {
        let (this, parameters) = (self.own_type(variant), self.parameters(variant));
        let one = |derive: &Path| {
            let (path, function) = match last(derive)?.as_str() {
                "Clone" => (quote!(clone::Clone), quote!(fn clone(&self) -> Self)),
                "Debug" => (
                    quote!(fmt::Debug),
                    quote!(fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result),
                ),
                "PartialEq" => (
                    quote!(cmp::PartialEq),
                    quote!(fn eq(&self, _: &Self) -> ::core::primitive::bool),
                ),
                "PartialOrd" => (
                    quote!(cmp::PartialOrd),
                    quote!(fn partial_cmp(&self, _: &Self) -> ::core::option::Option<::core::cmp::Ordering>),
                ),
                "Ord" => {
                    (quote!(cmp::Ord), quote!(fn cmp(&self, _: &Self) -> ::core::cmp::Ordering))
                }
                "Hash" => (
                    quote!(hash::Hash),
                    quote!(fn hash<AnyHasher: ::core::hash::Hasher>(&self, _: &mut AnyHasher)),
                ),
                "Eq" => return Some(quote!(impl #parameters ::core::cmp::Eq for #this {})),
                _ => return None,
            };
            let body = self.body(TokenStream::new());
            Some(quote!(impl #parameters ::core::#path for #this { #function { #body } }))
        };
        derives.iter().filter_map(one).collect()
    }
}

fn is_known(field: &Field) -> bool {
    match field.role {
        Role::Codec(_) => false,
        Role::Payload(_) => {
            let Shape { form, element, .. } = &field.shape;
            *form != Form::Other && element.as_ref().is_none_or(validate::is_number)
        }
        Role::Plain | Role::Word => validate::is_primitive(&field.ty),
    }
}

fn last(path: &Path) -> Option<String> {
    path.segments.last().map(|segment| segment.ident.to_string())
}
