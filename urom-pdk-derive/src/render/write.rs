//! The code that writes a message: words and checks first, then everything into its place.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::Render;
use super::exprs::{length_expr, when_expr};
use crate::model::{Address, Count, Field, Presence, Role, Variant};
use crate::names;

/// The parts of the code that writes one variant.
pub(super) struct Writing {
    /// Statements that compute the words and check that fields and payloads agree.
    pub(super) prepare: TokenStream,
    /// Statements that write tag, fields and words into the fixed part.
    pub(super) fill: TokenStream,
}

/// What the statements of `prepare` leave for those of `fill`.
#[derive(Default)]
struct Words {
    prepare: TokenStream,
    checks: TokenStream,
    /// The local of each word by the name of its field.
    by_field: HashMap<String, Ident>,
    /// The locals of a payload's own words, address first.
    own: HashMap<String, Vec<(Ident, Ident)>>,
    /// The copy of each plain field that has a word as a member.
    copies: HashMap<String, Ident>,
}

impl Render<'_> {
    /// The code that writes `variant` into `fixed`; `value` gives a reference to a field's value.
    pub(super) fn writing(
        &self,
        fixed: &Ident,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> Writing {
        let words = self.words(variant, &value);
        let tag = Literal::u64_unsuffixed(variant.tag);
        let fields = variant.fields.iter().map(|field| {
            let (name, constant) = (names::text(&field.ident), names::field_const(variant, field));
            match field.role() {
                Role::Plain => {
                    let copy = words.copies.get(&name).map(|copy| quote!(&#copy));
                    let value = copy.unwrap_or_else(|| value(field));
                    quote!(#constant.write(#fixed, #value);)
                }
                Role::Codec(module) => {
                    let value = value(field);
                    quote!(#constant.write(#fixed, &#module::encode(#value));)
                }
                Role::Word => {
                    let word = words.by_field.get(&name);
                    quote!(#constant.write(#fixed, &#word);)
                }
                Role::Payload(_) => {
                    let own = words.own.get(&name).into_iter().flatten();
                    own.map(|(constant, word)| quote!(#constant.write(#fixed, &#word);)).collect()
                }
            }
        });
        let fill = quote!(__TAG.write(#fixed, &#tag); #(#fields)*);
        let Words { prepare, checks, .. } = words;
        Writing { prepare: quote!(#prepare #checks), fill }
    }

    /// Statements that write the tag and the echoed fields only.
    pub(super) fn write_echo(&self, fixed: &Ident, variant: &Variant) -> TokenStream {
        let tag = Literal::u64_unsuffixed(variant.tag);
        let fields = variant.echoed().map(|field| {
            let (ident, constant) = (&field.ident, names::field_const(variant, field));
            quote!(#constant.write(#fixed, &self.#ident);)
        });
        quote!(__TAG.write(#fixed, &#tag); #(#fields)*)
    }

    fn words(&self, variant: &Variant, value: &impl Fn(&Field) -> TokenStream) -> Words {
        let mut words = Words::default();
        for (i, payload) in variant.fields.iter().enumerate() {
            let Role::Payload(keys) = payload.role() else { continue };
            let presence = variant.presence(payload, keys);
            let address = match presence {
                Presence::When(_) => "address_word_when",
                _ => "address_word",
            };
            match variant.address(keys) {
                Address::None => {}
                Address::Own => {
                    let constant = names::address_const(variant, payload);
                    self.own_word(&mut words, variant, payload, i, address, constant, value);
                }
                Address::Word(word) => self.word(&mut words, variant, payload, word, address, value),
                Address::Member(root, path) => {
                    self.member(&mut words, variant, payload, (root, path), address, value);
                }
            }
            match variant.count(payload, keys) {
                Count::Fixed | Count::Given(_) => {}
                Count::Own => {
                    let constant = names::length_const(variant, payload);
                    self.own_word(&mut words, variant, payload, i, "length_word", constant, value);
                }
                Count::Word(word) => self.word(&mut words, variant, payload, word, "length_word", value),
                Count::Member(root, path) => {
                    self.member(&mut words, variant, payload, (root, path), "length_word", value);
                }
            }
            if let Presence::Unless(word) = presence {
                self.word(&mut words, variant, payload, word, "selector_word", value);
            }
        }
        // After all words, so that an expression over a field with a word in it sees what a reader will see.
        for payload in variant.payloads() {
            let checks = self.checks(&words, variant, payload, value);
            words.checks.extend(checks);
        }
        words
    }

    /// A call of a function of `wire` about `payload`.
    fn about(
        &self,
        function: &str,
        variant: &Variant,
        payload: &Field,
        value: &impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let (wire, function) = (self.wire(), names::local(function));
        let (message, field) = (names::text(&variant.ident), names::text(&payload.ident));
        let value = value(payload);
        quote!(#wire::#function(#message, #field, #value)?)
    }

    #[expect(clippy::too_many_arguments, reason = "each names one thing, and there is one caller")]
    fn own_word(
        &self,
        words: &mut Words,
        variant: &Variant,
        payload: &Field,
        index: usize,
        function: &str,
        constant: Ident,
        value: &impl Fn(&Field) -> TokenStream,
    ) {
        let local = names::local(&format!("{function}_{index}"));
        let call = self.about(function, variant, payload, value);
        words.prepare.extend(quote!(let #local: u64 = #call;));
        words.own.entry(names::text(&payload.ident)).or_default().push((constant, local));
    }

    fn word(
        &self,
        words: &mut Words,
        variant: &Variant,
        payload: &Field,
        word: &Field,
        function: &str,
        value: &impl Fn(&Field) -> TokenStream,
    ) {
        let (name, ty) = (names::text(&word.ident), &word.ty);
        let local = names::local(&format!("word_{name}"));
        let call = self.about(function, variant, payload, value);
        words.prepare.extend(quote!(let #local: #ty = #call;));
        words.by_field.insert(name, local);
    }

    fn member(
        &self,
        words: &mut Words,
        variant: &Variant,
        payload: &Field,
        (root, path): (&Field, &[Ident]),
        function: &str,
        value: &impl Fn(&Field) -> TokenStream,
    ) {
        let name = names::text(&root.ident);
        let copy = names::local(&format!("copy_of_{name}"));
        if !words.copies.contains_key(&name) {
            let (constant, value) = (names::field_const(variant, root), value(root));
            words.prepare.extend(quote!(let mut #copy = #constant.copy(#value);));
            words.copies.insert(name, copy.clone());
        }
        let call = self.about(function, variant, payload, value);
        words.prepare.extend(quote!(#copy #(.#path)* = #call;));
    }

    /// Whether a payload is as the variant's other fields say.
    fn checks(
        &self,
        words: &Words,
        variant: &Variant,
        payload: &Field,
        value: &impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let wire = self.wire();
        let (message, name) = (names::text(&variant.ident), names::text(&payload.ident));
        let argument = |field: &Field| {
            let value = value(field);
            match field.role() {
                Role::Codec(_) => value,
                Role::Payload(_) if self.model.is_command() => quote!(*#value),
                Role::Payload(_) => quote!(#wire::Owned::view(#value)),
                Role::Plain | Role::Word => match words.copies.get(&names::text(&field.ident)) {
                    Some(copy) => quote!(#copy),
                    None => {
                        let constant = names::field_const(variant, field);
                        quote!(#constant.copy(#value))
                    }
                },
            }
        };
        let of_payload = value(payload);
        let when = when_expr(variant, payload).map(|expr| {
            let call = self.call("when", variant, payload, &expr, argument);
            quote!(#wire::agrees_when(#message, #name, #of_payload, #call)?;)
        });
        let len = length_expr(variant, payload).map(|expr| {
            let call = self.call("len", variant, payload, &expr, argument);
            quote!(#wire::agrees(#message, #name, #of_payload, #call)?;)
        });
        quote!(#when #len)
    }
}
