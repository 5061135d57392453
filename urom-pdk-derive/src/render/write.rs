//! The code that writes a message: words and checks first, then everything into its place.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;

use super::Render;
use crate::model::{Field, Payload, Presence, Role, Variant, Word};
use crate::{names, tokens};

/// The parts of the code that writes one variant.
pub(super) struct Writing {
    /// Statements that compute the words and check that fields and payloads agree.
    pub(super) prepare: TokenStream,
    /// Statements that write tag, fields and words into the fixed part.
    pub(super) fill: TokenStream,
}

impl Render<'_> {
    /// The code that writes `variant` into `fixed`; `value` gives a reference to a field's value.
    pub(super) fn writing(
        &self,
        fixed: &Ident,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> Writing {
        let mut writer = Writer {
            render: self,
            variant,
            value,
            prepare: TokenStream::new(),
            words: HashMap::new(),
            own: HashMap::new(),
            copies: HashMap::new(),
        };
        for (field, payload) in variant.resolved() {
            writer.words(field, payload);
        }
        // After all words, so that an expression over a field with a word in it sees what a reader
        // will see.
        for payload in variant.payloads() {
            let checks = writer.checks(payload);
            writer.prepare.extend(checks);
        }
        let fill = writer.fill(fixed);
        Writing { prepare: writer.prepare, fill }
    }

    /// A function's body that has `variant` written to the start of `out` and gives the length.
    pub(super) fn encoding(
        &self,
        out: &Ident,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let (fixed, message) = (names::local("fixed"), names::text(&variant.ident));
        let writing = self.writing(&fixed, variant, &value);
        let (prepare, fill) = (&writing.prepare, &writing.fill);
        let payloads = variant.payloads().map(&value).collect::<Vec<_>>();
        if payloads.is_empty() {
            return quote! {
                let #fixed = __p::room(#message, #out)?;
                #fill
                __p::Ok(__LEN)
            };
        }
        quote! {
            #prepare
            __p::message(#message, #out, [#(__p::bytes(#payloads)),*], |#fixed| { #fill })
        }
    }

    /// How many bytes `variant` takes, as an `Option`.
    pub(super) fn length(
        &self,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let payloads = variant.payloads().map(value).collect::<Vec<_>>();
        if payloads.is_empty() {
            return quote!(__p::Some(__LEN));
        }
        quote!(__p::total(__LEN, &[#(__p::bytes(#payloads).len()),*]))
    }
}

/// A statement that writes the tag.
pub(super) fn write_tag(fixed: &Ident, variant: &Variant) -> TokenStream {
    let tag = Literal::u64_unsuffixed(variant.tag);
    quote!(__TAG.write(#fixed, &#tag);)
}

/// What is known while the code of one variant is made.
struct Writer<'a, V> {
    render: &'a Render<'a>,
    variant: &'a Variant,
    value: V,
    prepare: TokenStream,
    /// The local of each field that is a word.
    words: HashMap<String, Ident>,
    /// Where the words at a payload's own place go, and their locals.
    own: HashMap<String, Vec<(Ident, Ident)>>,
    /// The copy of each plain field that has a word as a member.
    copies: HashMap<String, Ident>,
}

impl<V: Fn(&Field) -> TokenStream> Writer<'_, V> {
    /// Computes all words of a payload.
    fn words(&mut self, field: &Field, payload: &Payload) {
        let variant = self.variant;
        let own = [names::address_const(variant, field), names::length_const(variant, field)];
        let words = payload.words().into_iter().zip(own);
        for ((word, function), own) in words {
            match word {
                None => {}
                Some(Word::Own) => self.own(field, function, own),
                Some(Word::Field(at)) => self.word(field, function, &variant.fields[*at]),
                Some(Word::Member(at, path)) => {
                    self.member(field, function, &variant.fields[*at], path);
                }
            }
        }
        if let Presence::Unless(at) = payload.presence {
            self.word(field, "selector_word", &variant.fields[at]);
        }
    }

    /// A word at the payload's own place, which `constant` is.
    fn own(&mut self, payload: &Field, function: &str, constant: Ident) {
        let name = names::text(&payload.ident);
        let local =
            names::local(&format!("{}_of_{name}", function.split('_').next().unwrap_or(function)));
        let call = self.about(payload, function, payload.ty.span());
        self.prepare.extend(quote!(let #local = #call;));
        self.own.entry(name).or_default().push((constant, local));
    }

    /// A word that is a field.
    fn word(&mut self, payload: &Field, function: &str, word: &Field) {
        let (name, ty) = (names::text(&word.ident), &word.ty);
        let local = names::local(&format!("word_{name}"));
        let call = self.about(payload, function, ty.span());
        self.prepare.extend(quote!(let #local: #ty = #call;));
        self.words.insert(name, local);
    }

    /// A word that is a member of a plain field, which is copied for that.
    fn member(&mut self, payload: &Field, function: &str, root: &Field, path: &[Ident]) {
        let name = names::text(&root.ident);
        let copy = names::local(&format!("copy_of_{name}"));
        if !self.copies.contains_key(&name) {
            let (constant, value) = (names::field_const(self.variant, root), (self.value)(root));
            self.prepare.extend(quote!(let mut #copy = #constant.copy(#value);));
            self.copies.insert(name, copy.clone());
        }
        let span = path.last().map_or_else(Span::call_site, Ident::span);
        let call = self.about(payload, function, span);
        self.prepare.extend(quote!(#copy #(.#path)* = #call;));
    }

    /// A call of a function of `wire` about a payload; `span` is what to underline when it cannot
    /// be.
    fn about(&self, payload: &Field, function: &str, span: Span) -> TokenStream {
        let function = Ident::new(function, span);
        let (message, field) = (names::text(&self.variant.ident), names::text(&payload.ident));
        let value = (self.value)(payload);
        tokens::at(quote!(__p::#function(#message, #field, #value)?), span)
    }

    /// Whether a payload is as the variant's other fields say.
    fn checks(&self, payload: &Field) -> TokenStream {
        let variant = self.variant;
        let (message, name, value) =
            (names::text(&variant.ident), names::text(&payload.ident), (self.value)(payload));
        let argument = |field: &Field| self.argument(field);
        let when = self.render.call("when", variant, payload, argument);
        let when = when.map(|call| quote!(__p::agrees_when(#message, #name, #value, #call)?;));
        let len = self.render.call("len", variant, payload, argument);
        let len = len.map(|call| quote!(__p::agrees(#message, #name, #value, #call)?;));
        quote!(#when #len)
    }

    /// What an expression gets for a field while the message is written.
    fn argument(&self, field: &Field) -> TokenStream {
        let value = (self.value)(field);
        match field.role() {
            Role::Codec(_) => value,
            Role::Payload if self.render.model.is_command() => quote!(*#value),
            Role::Payload => quote!(__p::Owned::view(#value)),
            Role::Plain | Role::Word => match self.copies.get(&names::text(&field.ident)) {
                Some(copy) => copy.to_token_stream(),
                None => {
                    let constant = names::field_const(self.variant, field);
                    quote!(#constant.copy(#value))
                }
            },
        }
    }

    /// Statements that write everything into its place.
    fn fill(&self, fixed: &Ident) -> TokenStream {
        let tag = write_tag(fixed, self.variant);
        let fields = self.variant.fields.iter().map(|field| {
            let (name, constant) =
                (names::text(&field.ident), names::field_const(self.variant, field));
            let value = || (self.value)(field);
            match field.role() {
                Role::Plain => {
                    let value = self.copies.get(&name).map_or_else(value, |copy| quote!(&#copy));
                    quote!(#constant.write(#fixed, #value);)
                }
                Role::Codec(_) => {
                    let (value, encode) =
                        (value(), names::expression("encode", self.variant, field));
                    quote!(#constant.write(#fixed, &#encode(#value));)
                }
                Role::Word => {
                    let word = self.words.get(&name);
                    quote!(#constant.write(#fixed, &#word);)
                }
                Role::Payload => {
                    let own = self.own.get(&name).into_iter().flatten();
                    own.map(|(constant, word)| quote!(#constant.write(#fixed, &#word);)).collect()
                }
            }
        });
        quote!(#tag #(#fields)*)
    }
}
