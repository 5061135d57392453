//! Reads a message: the fixed part, then each payload; remaining bytes are an error.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::Render;
use crate::model::{Field, LenKind, Payload, Presence, Role, Variant, WordRef};
use crate::{names, validate};

impl Render<'_> {
    /// Returns statements that read `variant`, and a member initialiser for each of its values.
    /// `source` is the bytes that a command borrows, or a received notification, whose memory its
    /// payloads take over. The statements of `check` run as soon as `fixed` is known.
    pub(super) fn reading(
        &self,
        source: &Ident,
        variant: &Variant,
        fixed: &Ident,
        check: &TokenStream,
    ) -> (TokenStream, Vec<TokenStream>) {
        if self.inert {
            return Default::default();
        }
        let (message, is_command) = (variant.name(), self.model.is_borrowed());
        let [behind, tail] = ["behind", "tail"].map(names::local);
        let bytes =
            if is_command { quote!(#source) } else { quote!(__p::Incoming::bytes(&#source)) };
        let values = variant.fixed().map(|field| self.value(variant, field, fixed));
        let members = variant.values().map(|field| {
            let (ident, ty, local) = (&field.ident, &field.ty, field.local());
            if is_command || !field.is_payload() {
                quote!(#ident: #local)
            } else {
                quote!(#ident: __p::Tail::take::<#ty>(&mut #tail, #local))
            }
        });
        let members = members.collect();
        if variant.payloads().next().is_none() {
            let exact = quote!(let #fixed = __p::exact(#message, #bytes)?;);
            return (quote!(#exact #check #(#values)*), members);
        }
        let payloads = variant.payloads();
        let payloads =
            payloads.map(|(field, payload)| self.payload(variant, field, payload, fixed, &behind));
        let take = (!is_command).then(|| quote!(let mut #tail = __p::Tail::of(#source, __LEN);));
        let statements = quote! {
            let (#fixed, mut #behind) = __p::start(#message, #bytes)?;
            #check
            #(#values)*
            #(#payloads)*
            #behind.end()?;
            #take
        };
        (statements, members)
    }

    /// Returns the local of a field in the fixed part; it returns an error for an invalid value.
    fn value(&self, variant: &Variant, field: &Field, fixed: &Ident) -> TokenStream {
        let (local, accessor) = (field.local(), field.accessor());
        let (message, name) = (variant.name(), field.name());
        let read = if field.is_plain() && validate::is_number(&field.ty) {
            quote!(#accessor.read(#fixed))
        } else {
            let ty = self.described_type(variant, field);
            quote!(#accessor.checked(#fixed, #message, #name, #ty)?)
        };
        if let Role::Codec(_) = field.role {
            let decode = field.constant("decode_of");
            return quote!(let #local = __p::decoded(#message, #name, #decode(#read))?;);
        }
        quote!(let #local = #read;)
    }

    /// Returns the local of a payload: a command's value, or a notification's byte range.
    fn payload(
        &self,
        variant: &Variant,
        field: &Field,
        payload: &Payload,
        fixed: &Ident,
        behind: &Ident,
    ) -> TokenStream {
        let (ty, name, local) = (&field.ty, field.name(), field.local());
        let argument = |field: &Field| self.argument(field);
        let word = |word: &WordRef, own: &str| match word {
            WordRef::Own => {
                let accessor = field.constant(own);
                quote!(#accessor.read(#fixed))
            }
            WordRef::Field(at) => {
                let accessor = variant.fields[*at].accessor();
                quote!(#accessor.read(#fixed))
            }
            WordRef::Member(at, path) => {
                let root = names::numbered(*at);
                quote!(#root #(.#path)*)
            }
        };
        let count = match &payload.count {
            LenKind::Fixed => None,
            LenKind::Word(length) => Some(word(length, "length")),
            LenKind::Given(_) => self.call("len", variant, field, argument),
        };
        let address = match &payload.address {
            None => quote!(1u64),
            Some(address) => word(address, "address"),
        };
        let there = match &payload.presence {
            Presence::Unless(at) => {
                let selector = variant.fields[*at].accessor();
                return quote! {
                    let #local = __p::Behind::data(&mut #behind, #name, #selector.read(#fixed), #address, #count)?;
                };
            }
            Presence::ByAddress | Presence::Received => quote!(__p::by_address::<#ty>(#address)),
            Presence::When(_) => self.call("when", variant, field, argument).unwrap_or_default(),
            Presence::Always => quote!(true),
        };
        match count {
            _ if !self.model.is_borrowed() => {
                let view = view(field);
                quote!(let (#view, #local) = __p::Behind::part::<#ty>(&mut #behind, #name, #there, #count)?;)
            }
            None => quote!(let #local = __p::Behind::fixed::<#ty>(&mut #behind, #name, #there)?;),
            Some(count) => {
                quote!(let #local = __p::Behind::take::<#ty>(&mut #behind, #name, #there, #count)?;)
            }
        }
    }

    fn argument(&self, field: &Field) -> TokenStream {
        let (local, view) = (field.local(), view(field));
        match field.role {
            Role::Codec(_) => quote!(&#local),
            Role::Payload(_) if !self.model.is_borrowed() => quote!(#view),
            _ => quote!(#local),
        }
    }
}

/// The view of a notification's payload; unused unless an expression names it.
fn view(field: &Field) -> Ident {
    names::local(&format!("view_{}", field.at))
}
