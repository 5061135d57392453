//! All that two builds must agree on, as one number.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::Render;
use crate::model::{Address, Count, Field, Given, Presence, Role, Variant};
use crate::{names, tokens};

impl Render<'_> {
    /// The names, tags and places, and how payloads are described, as one number.
    pub(super) fn fingerprint(&self) -> TokenStream {
        let wire = self.wire();
        let name = names::text(&self.model.ident);
        let header = self.model.header().enumerate().map(|(i, field)| {
            let name = names::text(&field.ident);
            let at = i + 1;
            quote!(.text(#name).number(__PARTS_AT[#at] as ::core::primitive::u64).number(__PARTS[#at].size as ::core::primitive::u64))
        });
        let variants = self.model.variants.iter().map(|variant| {
            let (name, tag) = (names::text(&variant.ident), variant.tag);
            let also = variant.also.as_ref().map(|also| {
                let also = also.value;
                quote!(.text("also").number(#also))
            });
            let slots = self.slot_numbers(variant);
            let meanings = variant.fields.iter().map(|field| meaning(variant, field));
            quote!(.text(#name).number(#tag) #also #slots #(#meanings)*)
        });
        quote! {
            const __FINGERPRINT: ::core::primitive::u64 =
                #wire::Fingerprint::new().text(#name).number(__LEN as ::core::primitive::u64) #(#header)* #(#variants)* .value();
        }
    }

    /// Place and size of everything in the variant's own structure.
    fn slot_numbers(&self, variant: &Variant) -> TokenStream {
        let offsets = names::offsets_const(variant);
        let extents = names::extents_const(variant);
        let slots = variant.body().flat_map(|field| self.slots(variant, field)).enumerate().map(|(i, _)| {
            quote! {
                .number(#offsets[#i] as ::core::primitive::u64)
                .number(#extents[#i].size as ::core::primitive::u64)
            }
        });
        quote!(#(#slots)*)
    }
}

/// A field's name and what its keys mean.
fn meaning(variant: &Variant, field: &Field) -> TokenStream {
    let (name, echo) = (names::text(&field.ident), u64::from(field.echo.is_some()));
    let role = match field.role() {
        Role::Plain => None,
        Role::Word => Some("word".to_owned()),
        Role::Codec(module) => Some(format!("with {}", tokens::spaced(module.to_token_stream()))),
        Role::Payload(keys) => {
            let member = |root: &Field, members: &[syn::Ident]| {
                members
                    .iter()
                    .fold(names::text(&root.ident), |path, name| format!("{path}.{}", names::text(name)))
            };
            let address = match variant.address(keys) {
                Address::None => "none".to_owned(),
                Address::Own => String::new(),
                Address::Word(word) => names::text(&word.ident),
                Address::Member(root, members) => member(root, members),
            };
            let count = match variant.count(field, keys) {
                Count::Fixed | Count::Own => String::new(),
                Count::Word(word) => names::text(&word.ident),
                Count::Member(root, members) => member(root, members),
                Count::Given(Given::Name(name)) => names::text(name),
                Count::Given(Given::Expr(expr)) => tokens::spaced(expr.to_token_stream()),
            };
            let presence = match variant.presence(field, keys) {
                Presence::When(when) => tokens::spaced(when.to_token_stream()),
                Presence::Unless(word) => format!("unless {}", names::text(&word.ident)),
                Presence::Always | Presence::ByAddress | Presence::Received => String::new(),
            };
            let form = tokens::spaced(field.ty.to_token_stream());
            Some(format!("{form}; {address}; {count}; {presence}"))
        }
    };
    let role = role.map(|role| quote!(.text(#role)));
    quote!(.text(#name).number(#echo) #role)
}
