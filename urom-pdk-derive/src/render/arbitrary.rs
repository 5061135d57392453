//! Arbitrary messages for tests: fields first, then each payload as they say, then whether all of
//! it can be written.
//!
//! All of it goes through a macro of `urom-abi` that gives nothing back unless that crate's
//! `test-util` is on, so a protocol's crate needs no feature of its own.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Lifetime, parse_quote};

use super::Render;
use super::read::index;
use crate::model::{Count, Field, Presence, Role, Variant, Word};
use crate::names;

impl Render<'_> {
    /// A function for each variant, and the implementations of `Arbitrary`.
    pub(super) fn arbitrary(&self) -> TokenStream {
        let krate = &self.model.krate;
        let lifetime = self.model.lifetime.clone().unwrap_or_else(|| parse_quote!('arbitrary));
        let makers = self.model.variants.iter().map(|variant| self.maker(variant, &lifetime));
        let (input, kind) = (names::local("input"), self.kind());
        let structs = self.model.variants.iter().map(|variant| {
            let maker = names::maker(variant);
            let first = (!self.model.is_command()).then(|| quote!(.map(|(made, _)| made)));
            let body = quote!(__a::#kind(#input, #maker)#first);
            implementation(&self.own_type(variant), &lifetime, &input, &body)
        });
        let (count, chosen) = (self.model.variants.len(), names::local("chosen"));
        let arms = self.model.variants.iter().enumerate().map(|(at, variant)| {
            let maker = names::maker(variant);
            let at = if at + 1 < count { quote!(#at) } else { quote!(_) };
            quote!(#at => __a::#kind(#input, #maker).map(__p::From::from),)
        });
        let whole = quote! {
            __a::one_of(#input, #count, |#input, #chosen| match #chosen { #(#arms)* })
        };
        let whole = implementation(&self.enum_type(), &lifetime, &input, &whole);
        quote!(#krate::__arbitrary! { use __p::arbitrary as __a; #(#makers)* #whole #(#structs)* })
    }

    /// The function that makes up messages which can be written.
    fn kind(&self) -> Ident {
        names::local(if self.model.is_command() { "command" } else { "notification" })
    }

    /// The function that makes up one variant: its structure, and what a notification repeats.
    fn maker(&self, variant: &Variant, lifetime: &Lifetime) -> TokenStream {
        let (name, this) = (&variant.ident, self.own_type(variant));
        let (maker, input) = (names::maker(variant), names::local("input"));
        let values = variant.values().filter(|field| !field.is_payload()).map(|field| {
            let (local, constant) =
                (names::numbered(index(variant, field)), names::field_const(variant, field));
            match (field.role(), self.checked_type(variant, field)) {
                (Role::Codec(_), ty) => {
                    let decode = names::expression("decode", variant, field);
                    quote!(let #local = __a::coded(#input, #constant, #ty, #decode)?;)
                }
                (_, None) => quote!(let mut #local = __a::plain(#input, #constant)?;),
                (_, Some(ty)) => quote!(let mut #local = __a::value(#input, #constant, #ty)?;),
            }
        });
        let payloads = variant.payloads().map(|payload| self.made_up(variant, payload, &input));
        let member = |field: &Field| {
            let (ident, local) = (&field.ident, names::numbered(index(variant, field)));
            quote!(#ident: #local)
        };
        let (made, values_made) = if self.model.is_command() {
            let members = variant.values().map(member);
            (quote!(#this), quote!(#name { #(#members),* }))
        } else {
            let echo = names::echo(name);
            let (own, echoed) = (variant.own().map(member), variant.echoed().map(member));
            (quote!((#this, #echo)), quote!((#name { #(#own),* }, #echo { #(#echoed),* })))
        };
        quote! {
            fn #maker<#lifetime>(#input: &mut __a::Unstructured<#lifetime>) -> __a::Made<#made> {
                #(#values)*
                #(#payloads)*
                __p::Ok(#values_made)
            }
        }
    }

    /// Statements that make up a payload, and write its words into the fields that they are members
    /// of.
    fn made_up(&self, variant: &Variant, payload: &Field, input: &Ident) -> TokenStream {
        let Some(resolved) = &payload.payload else { return TokenStream::new() };
        let (local, ty) = (names::numbered(index(variant, payload)), &payload.ty);
        let argument = |field: &Field| self.made_up_argument(variant, field);
        let length = match (&resolved.count, self.call("len", variant, payload, argument)) {
            (_, Some(given)) => quote!(__a::Length::Given(#given)),
            (Count::Word(Word::Own), None) => quote!(__a::Length::<__p::u64>::Free),
            _ => quote!(__a::Length::<__p::u64>::Short),
        };
        let is_there = names::local("is_there");
        let (mut flip, mut there) = (TokenStream::new(), quote!(true));
        match &resolved.presence {
            Presence::ByAddress => {
                flip = quote!(let #is_there = __a::flip(#input)?;);
                there = quote!(#is_there);
            }
            Presence::When(_) => {
                there = self.call("when", variant, payload, argument).unwrap_or_default();
            }
            Presence::Always | Presence::Unless(_) | Presence::Received => {}
        }
        let value = match resolved.presence {
            Presence::Unless(_) => quote!(__a::data(#input, #length)?),
            Presence::Received => quote!(__a::received(#input, #length)?),
            _ if self.model.is_command() => {
                quote!(__a::borrowed::<#ty>(#input, #there, #length)?)
            }
            _ => quote!(__a::owned::<#ty>(#input, #there, #length)?),
        };
        let (message, name) = (names::text(&variant.ident), names::text(&payload.ident));
        let words = resolved.words().into_iter().filter_map(|(word, function)| {
            let Some(Word::Member(at, path)) = word else { return None };
            let (root, function) = (names::numbered(*at), names::local(function));
            Some(quote!(#root #(.#path)* = __p::#function(#message, #name, &#local)?;))
        });
        quote!(#flip let #local = #value; #(#words)*)
    }

    /// What an expression gets for a field.
    fn made_up_argument(&self, variant: &Variant, field: &Field) -> TokenStream {
        let local = names::numbered(index(variant, field));
        match field.role() {
            Role::Codec(_) => quote!(&#local),
            Role::Payload if !self.model.is_command() => quote!(__p::Owned::view(&#local)),
            _ => quote!(#local),
        }
    }
}

fn implementation(
    this: &TokenStream,
    lifetime: &Lifetime,
    input: &Ident,
    body: &TokenStream,
) -> TokenStream {
    quote! {
        impl<#lifetime> __a::Arbitrary<#lifetime> for #this {
            fn arbitrary(#input: &mut __a::Unstructured<#lifetime>) -> __a::Result<Self> {
                #body
            }
        }
    }
}
