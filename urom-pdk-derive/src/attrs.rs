//! Parses an attribute's keys: readers take known keys; [`Keys::finish`] reports unknown ones.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Meta, Path, Token, parse_quote};

use crate::diagnostics::{Errors, messages};

#[derive(Default)]
pub(crate) struct Keys {
    given: Vec<AttrKey>,
    known: Vec<&'static str>,
    spans: Spans,
}

pub(crate) type Spans = BTreeMap<&'static str, Span>;

struct AttrKey {
    name: String,
    span: Span,
    value: Option<TokenStream>,
}

enum AttrPart {
    Key(AttrKey),
    Other(TokenStream),
}

impl Parse for AttrPart {
    fn parse(input: ParseStream<'_>) -> syn::Result<AttrPart> {
        let Ok(name) = input.call(Ident::parse_any) else {
            return up_to_comma(input).map(AttrPart::Other);
        };
        let value = if input.is_empty() || input.peek(Token![,]) {
            None
        } else if input.parse::<Option<Token![=]>>()?.is_some() {
            // A comma inside an expression does not end it: `len = f::<A, B>(x)`.
            let ahead = input.fork();
            let is_expression =
                ahead.parse::<Expr>().is_ok() && (ahead.is_empty() || ahead.peek(Token![,]));
            Some(match is_expression {
                true => input.parse::<Expr>()?.into_token_stream(),
                false => up_to_comma(input)?,
            })
        } else {
            let rest = up_to_comma(input)?;
            return Ok(AttrPart::Other(quote!(#name #rest)));
        };
        Ok(AttrPart::Key(AttrKey { name: name.to_string(), span: name.span(), value }))
    }
}

fn up_to_comma(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

impl Keys {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Keys {
        let mut keys = Keys::default();
        keys.extend(tokens, errors);
        keys
    }

    /// Removes all `#[urom(...)]` from `attributes` and returns their keys.
    pub(crate) fn take_helpers(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> Keys {
        let mut keys = Keys::default();
        for helper in attributes.extract_if(.., |attribute| attribute.path().is_ident("urom")) {
            match helper.meta {
                Meta::List(list) if !list.tokens.is_empty() => keys.extend(list.tokens, errors),
                other => errors.on(other, messages::attribute_without_keys()),
            }
        }
        keys
    }

    fn extend(&mut self, tokens: TokenStream, errors: &mut Errors) {
        let parts = Punctuated::<AttrPart, Token![,]>::parse_terminated.parse2(tokens);
        for part in parts.into_iter().flatten() {
            match part {
                AttrPart::Key(key) if self.has(&key.name) => {
                    errors.at(key.span, messages::duplicate_key(&key.name));
                }
                AttrPart::Key(key) => self.given.push(key),
                AttrPart::Other(tokens) if tokens.is_empty() => {}
                AttrPart::Other(tokens) => errors.on(tokens, messages::not_a_key()),
            }
        }
    }

    fn take(&mut self, name: &'static str) -> Option<AttrKey> {
        self.known.push(name);
        let at = self.given.iter().position(|key| key.name == name)?;
        let key = self.given.swap_remove(at);
        self.spans.insert(name, key.span);
        Some(key)
    }

    pub(crate) fn flag(&mut self, name: &'static str, errors: &mut Errors) {
        if let Some(value) = self.take(name).and_then(|key| key.value) {
            errors.on(value, messages::flag_with_value(name));
        }
    }

    /// Takes a key whose value `read` parses. `example` shows the syntax in errors.
    pub(crate) fn value_with<T>(
        &mut self,
        name: &'static str,
        example: &str,
        errors: &mut Errors,
        read: impl FnOnce(TokenStream) -> Option<T>,
    ) -> Option<T> {
        let key = self.take(name)?;
        let Some(tokens) = key.value.filter(|tokens| !tokens.is_empty()) else {
            errors.at(key.span, messages::key_without_value(name, example));
            return None;
        };
        let value = read(tokens.clone());
        if value.is_none() {
            errors.on(tokens, messages::bad_value(name, example));
        }
        value
    }

    pub(crate) fn value<T: Parse>(
        &mut self,
        name: &'static str,
        example: &str,
        errors: &mut Errors,
    ) -> Option<T> {
        self.value_with(name, example, errors, |tokens| syn::parse2(tokens).ok())
    }

    pub(crate) fn krate(&mut self, usual: &str, errors: &mut Errors) -> Path {
        let krate = self.value("crate", &format!("crate = {usual}"), errors);
        let usual = Ident::new(usual, Span::call_site());
        krate.unwrap_or_else(|| parse_quote!(::#usual))
    }

    pub(crate) fn refuse(&mut self, name: &str, target: &str, errors: &mut Errors) {
        for key in self.given.extract_if(.., |key| key.name == name) {
            errors.at(key.span, messages::misplaced_key(name, target));
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|key| key.name == name)
    }

    pub(crate) fn finish(mut self, errors: &mut Errors) -> Spans {
        self.known.sort_unstable();
        let all = self.known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        for key in self.given {
            let message = match alike(&key.name, &self.known) {
                Some(meant) => messages::mistyped_key(&key.name, meant, &all),
                None => messages::unknown_key(&key.name, &all),
            };
            errors.at(key.span, message);
        }
        self.spans
    }
}

fn alike<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    /// Names at least this similar are treated as misspellings, as in `cargo urom`.
    const ALIKE: f64 = 0.75;
    let score = |other: &&str| strsim::jaro_winkler(name, other);
    // Two exchanged letters in a short name are a misspelling too.
    let is_slip = |other: &&&str| score(other) > ALIKE || strsim::osa_distance(name, other) <= 1;
    known.iter().filter(is_slip).max_by(|a, b| score(a).total_cmp(&score(b))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors_of(read: impl FnOnce(&mut Errors)) -> String {
        let mut errors = Errors::default();
        read(&mut errors);
        errors.into_compile_errors().map(|tokens| tokens.to_string()).unwrap_or_default()
    }

    #[test]
    fn keys_are_taken_once_and_by_name() {
        let found = errors_of(|errors| {
            let mut keys = Keys::parse(quote!(echo, tag = 7, crate = a::b,), errors);
            keys.flag("echo", errors);
            assert!(!keys.has("echo"));
            let tag = keys.value::<syn::LitInt>("tag", "tag = 1", errors);
            assert_eq!(tag.map(|tag| tag.to_string()).as_deref(), Some("7"));
            assert!(keys.value::<syn::Path>("crate", "crate = c", errors).is_some());
            assert!(keys.finish(errors).into_keys().eq(["crate", "echo", "tag"]));
        });
        assert_eq!(found, "");
    }

    #[test]
    fn commas_within_a_value_belong_to_it() {
        let value = quote!(f::<A, B>(x, y));
        for tokens in [
            quote!(inline, len = #value, addr = none),
            quote!(len = #value),
            quote!(len = #value, inline,),
        ] {
            let found = errors_of(|errors| {
                let mut keys = Keys::parse(tokens, errors);
                let len = keys.value::<Expr>("len", "len = other_field", errors);
                assert_eq!(len.map(|len| quote!(#len).to_string()), Some(value.to_string()));
                keys.flag("inline", errors);
                keys.value::<syn::Path>("addr", "addr = a", errors);
                keys.finish(errors);
            });
            assert_eq!(found, "");
        }
        let keys = quote!(len = a::<B, echo, tag = <C as D<E, F>>::G, x);
        let keys = Keys::parse(keys, &mut Errors::default()).given;
        let values = keys.iter().map(|key| key.value.as_ref().map(TokenStream::to_string));
        let values = values.map(Option::unwrap_or_default).collect::<Vec<_>>();
        assert_eq!(values, ["a :: < B", "", "< C as D < E , F > > :: G", ""]);
    }
}
