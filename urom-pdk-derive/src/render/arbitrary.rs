//! Arbitrary messages for tests, enabled by `urom-abi`'s feature `test-util`. If only another build
//! of this crate has the feature, a macro of `urom-abi` drops them.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Lifetime, parse_quote};

use super::Render;
use crate::model::{Field, LenKind, Payload, Presence, Role, Variant, WordRef};
use crate::names;

impl Render<'_> {
    pub(super) fn arbitrary(&self) -> TokenStream {
        let krate = &self.model.krate;
        let lifetime = self.model.lifetime.clone().unwrap_or_else(|| parse_quote!('arbitrary));
        let makers = self.model.variants.iter().map(|variant| self.maker(variant, &lifetime));
        let (input, kind) = (names::local("input"), self.kind());
        let structs = self.model.variants.iter().map(|variant| {
            let maker = variant.constant("arbitrary");
            let made = names::local("made");
            let first = (!self.model.is_borrowed()).then(|| quote!(.map(|(#made, _)| #made)));
            let body = quote!(__a::#kind(#input, #maker)#first);
            implementation(&self.own_type(variant), &lifetime, &input, &body)
        });
        let (count, chosen) = (self.model.variants.len(), names::local("chosen"));
        let arms = self.model.variants.iter().enumerate().map(|(at, variant)| {
            let maker = variant.constant("arbitrary");
            let at = if at + 1 < count { quote!(#at) } else { quote!(_) };
            quote!(#at => __a::#kind(#input, #maker).map(__p::From::from),)
        });
        let whole = quote! {
            __a::one_of(#input, #count, |#input, #chosen| match #chosen { #(#arms)* })
        };
        let whole = implementation(&self.enum_type(), &lifetime, &input, &whole);
        quote!(#krate::__arbitrary! { use __p::arbitrary as __a; #(#makers)* #whole #(#structs)* })
    }

    fn kind(&self) -> Ident {
        let kind = if self.model.is_borrowed() { "command" } else { "notification" };
        Ident::new(kind, Span::mixed_site())
    }

    fn maker(&self, variant: &Variant, lifetime: &Lifetime) -> TokenStream {
        let (name, this, input) = (&variant.ident, self.own_type(variant), names::local("input"));
        let maker = variant.constant("arbitrary");
        let values = variant.fixed().map(|field| {
            let (local, accessor) = (field.local(), field.accessor());
            let ty = self.described_type(variant, field);
            if let Role::Codec(_) = field.role {
                let decode = field.constant("decode_of");
                return quote!(let #local = __a::coded(#input, #accessor, #ty, #decode)?;);
            }
            quote!(let mut #local = __a::value(#input, #accessor, #ty)?;)
        });
        let payloads = variant.payloads();
        let payloads =
            payloads.map(|(field, payload)| self.made_up(variant, field, payload, &input));
        let member = |field: &Field| {
            let (ident, local) = (&field.ident, field.local());
            quote!(#ident: #local)
        };
        let (made, values_made) = if self.model.is_borrowed() {
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

    fn made_up(
        &self,
        variant: &Variant,
        field: &Field,
        payload: &Payload,
        input: &Ident,
    ) -> TokenStream {
        let (local, ty) = (field.local(), &field.ty);
        let call = |key| self.call(key, variant, field, |field| self.made_up_argument(field));
        let length = match (&payload.count, call("len")) {
            (_, Some(given)) => quote!(__a::Length::Given(#given)),
            (LenKind::Word(WordRef::Own), None) => quote!(__a::Length::<__p::u64>::Free),
            _ => quote!(__a::Length::<__p::u64>::Short),
        };
        let there = match payload.presence {
            Presence::ByAddress => quote!(__p::None),
            Presence::When(_) => {
                let when = call("when");
                quote!(__p::Some(#when))
            }
            Presence::Always | Presence::Unless(_) | Presence::Received => quote!(__p::Some(true)),
        };
        let value = match payload.presence {
            Presence::Unless(_) => quote!(__a::data(#input, #length)?),
            Presence::Received => quote!(__a::received(#input, #length)?),
            _ if self.model.is_borrowed() => {
                quote!(__a::borrowed::<#ty>(#input, #there, #length)?)
            }
            _ => quote!(__a::owned::<#ty>(#input, #there, #length)?),
        };
        let (message, name) = (variant.name(), field.name());
        let words = payload.words().into_iter().filter_map(|(word, function)| {
            let Some(WordRef::Member(at, path)) = word else { return None };
            let (root, function) = (names::numbered(*at), Ident::new(function, Span::mixed_site()));
            Some(quote!(#root #(.#path)* = __p::#function(#message, #name, &#local)?;))
        });
        quote!(let #local = #value; #(#words)*)
    }

    fn made_up_argument(&self, field: &Field) -> TokenStream {
        let local = field.local();
        match field.role {
            Role::Codec(_) => quote!(&#local),
            Role::Payload(_) if !self.model.is_borrowed() => quote!(__p::Owned::view(&#local)),
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
