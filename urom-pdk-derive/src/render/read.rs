//! The code that reads a message: the fixed part, then each payload, then nothing may be left.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::Render;
use crate::model::{Count, Field, Presence, Role, Variant, Word};
use crate::{names, validate};

/// Where the bytes are.
pub(super) enum Source<'a> {
    /// Bytes that a command borrows.
    Bytes(&'a Ident),
    /// A notification that arrived, whose memory its payloads take over.
    Incoming(&'a Ident),
}

impl Render<'_> {
    /// Statements that read `variant`, and a member initialiser for each of its values. The
    /// statements of `check` run as soon as `fixed` is known.
    pub(super) fn reading(
        &self,
        source: &Source<'_>,
        variant: &Variant,
        fixed: &Ident,
        check: &TokenStream,
    ) -> (TokenStream, Vec<TokenStream>) {
        let message = names::text(&variant.ident);
        let bytes = match source {
            Source::Bytes(bytes) => quote!(#bytes),
            Source::Incoming(incoming) => quote!(__p::Incoming::bytes(&#incoming)),
        };
        if variant.payloads().next().is_none() {
            let locals = self.values(variant, fixed, |field| !field.is_plain());
            let members = variant.values().map(|field| {
                let ident = &field.ident;
                match field.role() {
                    Role::Plain => {
                        let value = self.value(variant, field, fixed);
                        quote!(#ident: #value)
                    }
                    _ => {
                        let local = names::numbered(index(variant, field));
                        quote!(#ident: #local)
                    }
                }
            });
            let start = quote!(let #fixed = __p::exact(#message, #bytes)?; #check #locals);
            return (start, members.collect());
        }
        let behind = names::local("behind");
        let locals = self.values(variant, fixed, |_| true);
        let payloads = variant.payloads().map(|field| self.payload(variant, field, fixed, &behind));
        let tail = names::local("tail");
        let members = variant.values().map(|field| {
            let (ident, ty, local) =
                (&field.ident, &field.ty, names::numbered(index(variant, field)));
            match source {
                Source::Incoming(_) if field.is_payload() => {
                    quote!(#ident: #tail.take::<#ty>(#local))
                }
                _ => quote!(#ident: #local),
            }
        });
        let take = match source {
            Source::Bytes(_) => TokenStream::new(),
            Source::Incoming(incoming) => {
                quote!(let mut #tail = __p::Tail::of(#incoming, __LEN);)
            }
        };
        let members = members.collect();
        let statements = quote! {
            let (#fixed, mut #behind) = __p::start(#message, #bytes)?;
            #check
            #locals
            #(#payloads)*
            #behind.end()?;
            #take
        };
        (statements, members)
    }

    /// An expression for what lies in the fixed part for a field; it returns when that is no value
    /// of the field's type.
    fn value(&self, variant: &Variant, field: &Field, fixed: &Ident) -> TokenStream {
        let constant = names::field_const(variant, field);
        match self.checked_type(variant, field) {
            None => quote!(#constant.read(#fixed)),
            Some(ty) => {
                let (message, name) = (names::text(&variant.ident), names::text(&field.ident));
                quote!(#constant.checked(#fixed, #message, #name, #ty)?)
            }
        }
    }

    /// The description, as a reference, of the type of a field whose bytes may be no value of it,
    /// as far as the spelling tells.
    pub(super) fn checked_type(&self, variant: &Variant, field: &Field) -> Option<TokenStream> {
        let is_any = field.is_plain() && validate::is_number(&field.ty);
        (!is_any).then(|| self.described_type(variant, field))
    }

    /// Locals of the fields in the fixed part.
    fn values(
        &self,
        variant: &Variant,
        fixed: &Ident,
        wanted: impl Fn(&Field) -> bool,
    ) -> TokenStream {
        let message = names::text(&variant.ident);
        let fields = variant.values().filter(|field| wanted(field)).map(|field| {
            let local = names::numbered(index(variant, field));
            let read = self.value(variant, field, fixed);
            match field.role() {
                Role::Plain => quote!(let #local = #read;),
                Role::Codec(_) => {
                    let decode = names::expression("decode", variant, field);
                    let (name, what, value) =
                        (names::text(&field.ident), names::local("what"), names::local("value"));
                    quote! {
                        let #local = match #decode(#read) {
                            __p::Ok(#value) => #value,
                            __p::Err(#what) => {
                                return __p::Err(__p::invalid(#message, #name, #what));
                            }
                        };
                    }
                }
                Role::Word | Role::Payload => TokenStream::new(),
            }
        });
        fields.collect()
    }

    /// The local of a payload: of a command its value, of a notification which bytes it is.
    fn payload(
        &self,
        variant: &Variant,
        field: &Field,
        fixed: &Ident,
        behind: &Ident,
    ) -> TokenStream {
        let Some(payload) = &field.payload else { return TokenStream::new() };
        let (ty, name, local) =
            (&field.ty, names::text(&field.ident), names::numbered(index(variant, field)));
        let argument = |field: &Field| self.argument(variant, field);
        let count = match &payload.count {
            Count::Fixed => None,
            Count::Word(word) => {
                Some(word_in(variant, word, &names::length_const(variant, field), fixed))
            }
            Count::Given(_) => self.call("len", variant, field, argument),
        };
        let address = match &payload.address {
            None => quote!(1u64),
            Some(word) => word_in(variant, word, &names::address_const(variant, field), fixed),
        };
        let there = match &payload.presence {
            Presence::Unless(at) => {
                let selector = names::field_const(variant, &variant.fields[*at]);
                return quote! {
                    let #local = #behind.data(#name, #selector.read(#fixed), #address, #count)?;
                };
            }
            Presence::ByAddress | Presence::Received => quote!(__p::by_address::<#ty>(#address)),
            Presence::When(_) => self.call("when", variant, field, argument).unwrap_or_default(),
            Presence::Always => quote!(true),
        };
        match count {
            _ if !self.model.is_command() => {
                let view = self.view_local(variant, field);
                quote!(let (#view, #local) = #behind.part::<#ty>(#name, #there, #count)?;)
            }
            None => quote!(let #local = #behind.fixed::<#ty>(#name, #there)?;),
            Some(count) => quote!(let #local = #behind.take::<#ty>(#name, #there, #count)?;),
        }
    }

    /// What an expression gets for a field while the message is read.
    fn argument(&self, variant: &Variant, field: &Field) -> TokenStream {
        let local = names::numbered(index(variant, field));
        match field.role() {
            Role::Codec(_) => quote!(&#local),
            Role::Payload if !self.model.is_command() => {
                let view = self.view_local(variant, field);
                quote!(#view)
            }
            _ => quote!(#local),
        }
    }

    /// The view of a notification's payload; nothing binds it when no expression names it.
    fn view_local(&self, variant: &Variant, field: &Field) -> Ident {
        names::local(&format!("_view_{}", index(variant, field)))
    }
}

/// An expression for a word of a payload; `own` reads one at the payload's own place.
fn word_in(variant: &Variant, word: &Word, own: &Ident, fixed: &Ident) -> TokenStream {
    match word {
        Word::Own => quote!(#own.read(#fixed)),
        Word::Field(at) => {
            let constant = names::field_const(variant, &variant.fields[*at]);
            quote!(#constant.read(#fixed))
        }
        Word::Member(at, path) => {
            let root = names::numbered(*at);
            quote!(#root #(.#path)*)
        }
    }
}

/// The place of a field among all of its variant, words among them: the number of its local.
pub(super) fn index(variant: &Variant, field: &Field) -> usize {
    variant.fields.iter().position(|other| other.ident == field.ident).unwrap_or_default()
}
