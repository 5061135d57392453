//! Writes a message: words and checks first, then everything at its offset.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;

use super::Render;
use crate::model::{Field, Payload, Presence, Role, Variant, WordRef};
use crate::{names, tokens};

impl Render<'_> {
    /// Returns the code that prepares and the code that writes `variant` into `fixed`; `value`
    /// returns a reference to a value.
    pub(super) fn writing(
        &self,
        fixed: &Ident,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> (TokenStream, TokenStream) {
        if self.inert {
            return Default::default();
        }
        let words = variant.payloads().flat_map(|(_, payload)| payload.words());
        let copied = words.filter_map(|(word, _)| match word {
            Some(WordRef::Member(at, _)) => Some(*at),
            _ => None,
        });
        let writer = FieldWriter { render: self, variant, value, copied: copied.collect() };
        let copies = writer.copied.iter().map(|at| {
            let field = &variant.fields[*at];
            let (copy, accessor, value) = (field.local(), field.accessor(), (writer.value)(field));
            quote!(let mut #copy = #accessor.copy(#value);)
        });
        let words = variant.payloads().map(|(field, payload)| writer.words(field, payload));
        // After all words, so that expressions over fields with words see the reader's values.
        let checks = variant.payloads().map(|(field, _)| writer.checks(field));
        let prepare = quote!(#(#copies)* #(#words)* #(#checks)*);
        (prepare, writer.fill(fixed))
    }

    pub(super) fn encoding(
        &self,
        out: &Ident,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let (fixed, message) = (names::local("fixed"), variant.name());
        let payloads = variant.payloads().map(|(field, _)| value(field)).collect::<Vec<_>>();
        let (prepare, fill) = self.writing(&fixed, variant, value);
        if payloads.is_empty() {
            return quote! {
                let #fixed = __p::fixed_part(#message, #out)?;
                #fill
                __p::Ok(__LEN)
            };
        }
        quote! {
            #prepare
            __p::message(#message, #out, [#(__p::bytes(#payloads)),*], |#fixed| { #fill })
        }
    }
}

struct FieldWriter<'a, V> {
    render: &'a Render<'a>,
    variant: &'a Variant,
    value: V,
    /// The indices of plain fields that have a word as a member: their locals are copies.
    copied: BTreeSet<usize>,
}

impl<V: Fn(&Field) -> TokenStream> FieldWriter<'_, V> {
    fn words(&self, field: &Field, payload: &Payload) -> TokenStream {
        let mut statements = TokenStream::new();
        for ((word, function), own) in payload.words().into_iter().zip(["address", "length"]) {
            statements.extend(match word {
                None => continue,
                Some(WordRef::Own) => {
                    let call = self.about(field, function, field.ty.span());
                    let local = own_word(own, field);
                    quote!(let #local = #call;)
                }
                Some(WordRef::Field(at)) => self.word(field, function, &self.variant.fields[*at]),
                Some(WordRef::Member(at, path)) => {
                    let span = path.last().map_or_else(Span::call_site, Ident::span);
                    let call = self.about(field, function, span);
                    let copy = names::numbered(*at);
                    quote!(#copy #(.#path)* = #call;)
                }
            });
        }
        if let Presence::Unless(at) = payload.presence {
            statements.extend(self.word(field, "selector_word", &self.variant.fields[at]));
        }
        statements
    }

    fn word(&self, payload: &Field, function: &str, word: &Field) -> TokenStream {
        let (local, ty) = (word.local(), &word.ty);
        let call = self.about(payload, function, ty.span());
        quote!(let #local: #ty = #call;)
    }

    /// Returns a call of a function of `wire` about a payload; `span` is underlined on errors.
    fn about(&self, payload: &Field, function: &str, span: Span) -> TokenStream {
        let function = Ident::new(function, span);
        let (message, field, value) = (self.variant.name(), payload.name(), (self.value)(payload));
        tokens::at(quote!(__p::#function(#message, #field, #value)?), span)
    }

    fn checks(&self, payload: &Field) -> TokenStream {
        let (message, name, value) = (self.variant.name(), payload.name(), (self.value)(payload));
        let call = |key| self.render.call(key, self.variant, payload, |field| self.argument(field));
        let when =
            call("when").map(|call| quote!(__p::agrees_when(#message, #name, #value, #call)?;));
        let len = call("len").map(|call| quote!(__p::agrees(#message, #name, #value, #call)?;));
        quote!(#when #len)
    }

    fn argument(&self, field: &Field) -> TokenStream {
        let (value, accessor) = ((self.value)(field), field.accessor());
        match field.role {
            Role::Codec(_) => value,
            Role::Payload(_) if self.render.model.is_borrowed() => quote!(*#value),
            Role::Payload(_) => quote!(__p::Owned::view(#value)),
            _ if self.copied.contains(&field.at) => field.local().to_token_stream(),
            Role::Plain | Role::Word => quote!(#accessor.copy(#value)),
        }
    }

    fn fill(&self, fixed: &Ident) -> TokenStream {
        let tag = Literal::u64_unsuffixed(self.variant.tag);
        let fields = self.variant.fields.iter().map(|field| {
            let (accessor, local) = (field.accessor(), field.local());
            match &field.role {
                Role::Plain if !self.copied.contains(&field.at) => {
                    let value = (self.value)(field);
                    quote!(#accessor.write(#fixed, #value);)
                }
                Role::Plain | Role::Word => quote!(#accessor.write(#fixed, &#local);),
                Role::Codec(_) => {
                    let (value, encode) = ((self.value)(field), field.constant("encode_of"));
                    quote!(#accessor.write(#fixed, &#encode(#value));)
                }
                Role::Payload(payload) => {
                    let words = payload.own_words().map(|own| {
                        let (accessor, local) = (field.constant(own), own_word(own, field));
                        quote!(#accessor.write(#fixed, &#local);)
                    });
                    words.collect()
                }
            }
        });
        quote!(__TAG.write(#fixed, &#tag); #(#fields)*)
    }
}

fn own_word(own: &str, payload: &Field) -> Ident {
    names::local(&format!("{own}_of_{}", payload.name()))
}
