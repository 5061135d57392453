//! The definition as a constant of `urom_abi::describe`.

mod terms;

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote;
use syn::visit::Visit;
use syn::{Expr, ExprPath, Ident, Macro, PatIdent, Path, Type};

use super::Render;
use super::layout::word_name;
use crate::described::{docs, type_of};
use crate::model::{Field, Form, LenKind, Payload, Presence, Variant, WordRef, plainly};
use crate::{names, tokens};

impl Render<'_> {
    /// Returns the constant `__DESCRIPTION`; empty when the definition has an error.
    pub(super) fn description(&self) -> TokenStream {
        let (name, docs) = (names::text(&self.model.ident), docs(&self.model.docs));
        let tag = self.tag_type();
        let known = if self.inert { &[] } else { self.model.variants.as_slice() };
        let variants = known.iter().map(|variant| self.variant_description(variant));
        let union_at = if self.inert { quote!(0) } else { quote!(__LAYOUT.union_at) };
        let header = known.first().map_or(quote!(&[]), |first| self.items(first)[0].clone());
        let count = Literal::usize_unsuffixed(known.len());
        quote! {
            const __DESCRIPTION: __p::Messages = __p::Messages {
                name: #name,
                docs: #docs,
                tag: <#tag as __p::Described>::TYPE,
                len: __LEN,
                union_at: #union_at,
                header: #header,
                variants: &[#(#variants),*],
            };
            const __KNOWN: &[(&__p::str, __p::u64)] = &__p::known::<#count>(&__DESCRIPTION);
        }
    }

    fn variant_description(&self, variant: &Variant) -> TokenStream {
        let (name, docs) = (variant.name(), docs(&variant.docs));
        let tag = Literal::u64_unsuffixed(variant.tag);
        let also = given("also", variant.also.map(|(also, _)| also));
        let reply = variant.reply.as_ref().and_then(|reply| reply.segments.last());
        let reply = given("reply", reply.map(|last| names::text(&last.ident)));
        let [_, fields] = self.items(variant);
        let payloads = variant
            .payloads()
            .map(|(field, payload)| self.payload_description(variant, field, payload))
            .collect::<Vec<_>>();
        let payloads = (!payloads.is_empty()).then(|| quote!(payloads: &[#(#payloads),*],));
        quote! {
            __p::Variant {
                name: #name,
                docs: #docs,
                tag: #tag,
                #also
                #reply
                fields: #fields,
                #payloads
                ..__p::Variant::NONE
            }
        }
    }

    fn payload_description(
        &self,
        variant: &Variant,
        field: &Field,
        payload: &Payload,
    ) -> TokenStream {
        let (name, docs, shape) = (field.name(), docs(&field.docs), &field.shape);
        let ty = match shape.form {
            Form::Str => Some(quote!(__p::Type::Utf8)),
            _ => shape.element.as_ref().map(type_of),
        };
        let ty = given_as_is("ty", ty);
        let count = count(variant, field, payload);
        let address = payload.address.as_ref();
        let address = address.map(|word| path_of(variant, word, word_name("address", field)));
        let presence = match &payload.presence {
            Presence::Always => None,
            Presence::ByAddress => Some(quote!(__p::Presence::ByAddress)),
            Presence::Unless(_) | Presence::Received => Some(quote!(__p::Presence::Registered)),
            Presence::When(when) => {
                let text = tokens::spelled(quote!(#when));
                let compares = terms::comparison(variant, when);
                Some(quote!(__p::when(#text, #compares)))
            }
        };
        let presence = given_as_is("presence", presence);
        let constants = constants(variant, payload);
        let constants = (!constants.is_empty()).then(|| quote!(constants: &[#(#constants),*],));
        let address = given("address", address);
        let optional =
            (self.model.is_borrowed() && field.has_setter()).then(|| quote!(optional: true,));
        quote! {
            __p::PayloadItem {
                name: #name,
                docs: #docs,
                #ty
                #presence
                count: #count,
                #address
                #constants
                #optional
                ..__p::PayloadItem::NONE
            }
        }
    }
}

fn given(member: &str, value: Option<impl quote::ToTokens>) -> Option<TokenStream> {
    given_as_is(member, value.map(|value| quote!(__p::Some(#value))))
}

fn given_as_is(member: &str, value: Option<TokenStream>) -> Option<TokenStream> {
    let member = Ident::new(member, Span::call_site());
    value.map(|value| quote!(#member: #value,))
}

/// Returns a word's path in a description; `own` is its name at the payload's own position.
fn path_of(variant: &Variant, word: &WordRef, own: String) -> String {
    match word {
        WordRef::Own => own,
        WordRef::Field(at) => variant.fields[*at].name(),
        WordRef::Member(at, members) => {
            let path = [&variant.fields[*at].ident].into_iter().chain(members).map(names::text);
            path.collect::<Vec<_>>().join(".")
        }
    }
}

fn count(variant: &Variant, field: &Field, payload: &Payload) -> TokenStream {
    match (&payload.count, payload.literal()) {
        (LenKind::Fixed, _) => {
            let len = array_len(&field.shape.inner);
            quote!(__p::PayloadCount::Fixed(#len))
        }
        (LenKind::Word(word), _) => {
            let path = path_of(variant, word, word_name("length", field));
            quote!(__p::PayloadCount::Word(#path))
        }
        (LenKind::Given(_), Some(count)) => quote!(__p::PayloadCount::Fixed(#count)),
        (LenKind::Given(expr), None) => {
            let (text, term) = (tokens::spelled(quote!(#expr)), terms::given(variant, expr));
            quote!(__p::given(#text, #term))
        }
    }
}

fn constants(variant: &Variant, payload: &Payload) -> Vec<TokenStream> {
    let mut found = Constants { variant, paths: Vec::new() };
    for expr in payload.len().into_iter().chain(payload.when()) {
        found.visit_expr(expr);
    }
    let paths = found.paths.into_iter();
    paths
        .map(|(name, path)| {
            quote! {
                __p::constant(#name, &#path, &|| {
                    use __p::{IsAnything as _, IsNumber as _};
                    (&__p::TypeOf::value(&#path)).__reading()
                })
            }
        })
        .collect()
}

struct Constants<'a> {
    variant: &'a Variant,
    paths: Vec<(String, TokenStream)>,
}

impl Constants<'_> {
    fn add(&mut self, path: &Path, tokens: TokenStream) {
        let name = tokens::spelled(tokens.clone());
        if is_constant(self.variant, path) && self.paths.iter().all(|(known, _)| *known != name) {
            self.paths.push((name, tokens));
        }
    }
}

impl<'ast> Visit<'ast> for Constants<'_> {
    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        self.add(&path.path, quote!(#path));
    }

    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        let name = &pattern.ident;
        self.add(&name.clone().into(), quote!(#name));
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(matched) = tokens::matched(call) {
            self.visit_expr(&matched);
        }
    }

    fn visit_type(&mut self, _: &'ast Type) {}
}

pub(super) fn is_constant(variant: &Variant, path: &Path) -> bool {
    path.segments.last().is_some_and(|last| is_screaming(&names::text(&last.ident)))
        && path.get_ident().is_none_or(|name| variant.field(name).is_none())
}

fn is_screaming(name: &str) -> bool {
    name.contains(char::is_uppercase) && !name.contains(char::is_lowercase)
}

fn array_len(ty: &Type) -> Option<&Expr> {
    match plainly(ty) {
        Type::Reference(reference) => array_len(&reference.elem),
        Type::Array(array) => Some(&array.len),
        _ => None,
    }
}
