//! Arbitrary messages for tests: fields first, then each payload as they say, then whether all of it can be written.
//!
//! All of it goes through a macro of `urom-abi` that gives nothing back unless that crate's `test-util` is on, so a
//! protocol's crate needs no feature of its own.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Lifetime, parse_quote};

use super::Render;
use super::exprs::{length_expr, when_expr};
use super::read::index;
use crate::model::{Address, Count, Field, Inline, Presence, Role, Variant};
use crate::names;

impl Render<'_> {
    /// A function for each variant, and the implementations of `Arbitrary`.
    pub(super) fn arbitrary(&self) -> TokenStream {
        let krate = &self.model.krate;
        let lifetime = self.model.lifetime.clone().unwrap_or_else(|| parse_quote!('arbitrary));
        let makers = self.model.variants.iter().map(|variant| self.maker(variant, &lifetime));
        let structs =
            self.model.variants.iter().map(|variant| self.arbitrary_struct(variant, &lifetime));
        let this = self.enum_type();
        let (input, chosen) = (names::local("input"), names::local("chosen"));
        let count = self.model.variants.len();
        let arms = self.model.variants.iter().enumerate().map(|(at, variant)| {
            let maker = names::maker(variant);
            quote!(#at => #maker(#input),)
        });
        let body = self.attempt(
            &quote!(input),
            &quote! {
                |#input| {
                    let #chosen = #krate::arbitrary::choose(#input, #count)?;
                    match #chosen {
                        #(#arms)*
                        _ => ::core::result::Result::Err(#krate::arbitrary::Unfit),
                    }
                }
            },
        );
        let for_enum = self.implementation(&this, &lifetime, &body);
        quote!(#krate::__arbitrary! { #(#makers)* #for_enum #(#structs)* })
    }

    fn implementation(
        &self,
        this: &TokenStream,
        lifetime: &Lifetime,
        body: &TokenStream,
    ) -> TokenStream {
        let krate = &self.model.krate;
        quote! {
            #[automatically_derived]
            impl<#lifetime> #krate::arbitrary::Arbitrary<#lifetime> for #this {
                fn arbitrary(
                    input: &mut #krate::arbitrary::Unstructured<#lifetime>,
                ) -> #krate::arbitrary::Result<Self> {
                    #body
                }
            }
        }
    }

    /// An expression that calls `make` until what comes of it can be written.
    fn attempt(&self, input: &TokenStream, make: &TokenStream) -> TokenStream {
        let (krate, ident) = (&self.model.krate, &self.model.ident);
        let (made, out) = (names::local("made"), names::local("out"));
        quote! {
            #krate::arbitrary::attempt(#input, #make, |#made| {
                #krate::arbitrary::can_be_written(#ident::encoded_len(#made), |#out| #ident::encode(#made, #out))
            })
        }
    }

    fn arbitrary_struct(&self, variant: &Variant, lifetime: &Lifetime) -> TokenStream {
        let (krate, ident, name, maker) =
            (&self.model.krate, &self.model.ident, &variant.ident, names::maker(variant));
        let wanted: Vec<_> = variant
            .values()
            .filter(|field| self.model.is_command() || field.echo.is_none())
            .map(|field| &field.ident)
            .collect();
        let attempt = self.attempt(&quote!(input), &quote!(#maker));
        let body = quote! {
            match #attempt? {
                #ident::#name { #(#wanted,)* .. } => ::core::result::Result::Ok(#name { #(#wanted),* }),
                _ => ::core::result::Result::Err(#krate::arbitrary::Error::IncorrectFormat),
            }
        };
        self.implementation(&self.own_type(variant), lifetime, &body)
    }

    /// The function that makes up one variant.
    fn maker(&self, variant: &Variant, lifetime: &Lifetime) -> TokenStream {
        let (krate, ident, name, this) =
            (&self.model.krate, &self.model.ident, &variant.ident, self.enum_type());
        let (maker, input) = (names::maker(variant), names::local("input"));
        let values = variant.values().filter(|field| !field.is_payload()).map(|field| {
            let (local, constant) =
                (names::numbered(index(variant, field)), names::field_const(variant, field));
            match field.role() {
                Role::Codec(_) => {
                    let decode = names::expression("decode", variant, field);
                    let ty = self.checked_type(field);
                    quote!(let #local = #krate::arbitrary::coded(#input, #constant, #ty, #decode)?;)
                }
                _ => match self.checked_type(field) {
                    None => quote!(let mut #local = #krate::arbitrary::plain(#input, #constant)?;),
                    Some(ty) => {
                        quote!(let mut #local = #krate::arbitrary::value(#input, #constant, #ty)?;)
                    }
                },
            }
        });
        let payloads = variant.payloads().map(|payload| self.made_up(variant, payload, &input));
        let members = variant.values().map(|field| {
            let (ident, local) = (&field.ident, names::numbered(index(variant, field)));
            quote!(#ident: #local)
        });
        quote! {
            fn #maker<#lifetime>(
                #input: &mut #krate::arbitrary::Unstructured<#lifetime>,
            ) -> ::core::result::Result<#this, #krate::arbitrary::Unfit> {
                #(#values)*
                #(#payloads)*
                ::core::result::Result::Ok(#ident::#name { #(#members),* })
            }
        }
    }

    /// Statements that make up a payload, and write its words into the fields that they are members of.
    fn made_up(&self, variant: &Variant, payload: &Field, input: &Ident) -> TokenStream {
        let Role::Payload(keys) = payload.role() else { return TokenStream::new() };
        let krate = &self.model.krate;
        let (local, ty) = (names::numbered(index(variant, payload)), &payload.ty);
        let length = self.any_length(variant, payload, keys);
        let presence = variant.presence(payload, keys);
        let there = match (&presence, when_expr(variant, payload)) {
            (Presence::ByAddress, _) => quote!(#krate::arbitrary::flip(#input)?),
            (_, Some(when)) => self.call("when", variant, payload, &when, |field| {
                self.made_up_argument(variant, field)
            }),
            _ => quote!(true),
        };
        let is_there = names::local("is_there");
        let value = match presence {
            Presence::Unless(_) => quote!(#krate::arbitrary::data(#input, #length)?),
            Presence::Received => quote!(#krate::arbitrary::received(#input, #length)?),
            _ if self.model.is_command() => {
                quote!(#krate::arbitrary::borrowed::<#ty>(#input, #is_there, #length)?)
            }
            _ => quote!(#krate::arbitrary::owned::<#ty>(#input, #is_there, #length)?),
        };
        let address = match presence {
            Presence::When(_) => "address_word_when",
            _ => "address_word",
        };
        let mut words = TokenStream::new();
        if let Address::Member(root, path) = variant.address(keys) {
            words.extend(self.member_word(variant, payload, address, root, path));
        }
        if let Count::Member(root, path) = variant.count(payload, keys) {
            words.extend(self.member_word(variant, payload, "length_word", root, path));
        }
        quote!(let #is_there = #there; let #local = #value; #words)
    }

    fn any_length(&self, variant: &Variant, payload: &Field, keys: &Inline) -> TokenStream {
        let length = {
            let krate = &self.model.krate;
            quote!(#krate::arbitrary::Length)
        };
        match (variant.count(payload, keys), length_expr(variant, payload)) {
            (_, Some(expr)) => {
                let given = self.call("len", variant, payload, &expr, |field| {
                    self.made_up_argument(variant, field)
                });
                quote!(#length::Given(#given))
            }
            (Count::Own, None) => quote!(#length::<::core::primitive::u64>::Free),
            _ => quote!(#length::<::core::primitive::u64>::Short),
        }
    }

    fn member_word(
        &self,
        variant: &Variant,
        payload: &Field,
        function: &str,
        root: &Field,
        path: &[Ident],
    ) -> TokenStream {
        let (wire, function) = (self.wire(), names::local(function));
        let (message, name) = (names::text(&variant.ident), names::text(&payload.ident));
        let (root, local) =
            (names::numbered(index(variant, root)), names::numbered(index(variant, payload)));
        quote!(#root #(.#path)* = #wire::#function(#message, #name, &#local)?;)
    }

    /// What an expression gets for a field.
    fn made_up_argument(&self, variant: &Variant, field: &Field) -> TokenStream {
        let (wire, local) = (self.wire(), names::numbered(index(variant, field)));
        match field.role() {
            Role::Codec(_) => quote!(&#local),
            Role::Payload(_) if !self.model.is_command() => quote!(#wire::Owned::view(&#local)),
            _ => quote!(#local),
        }
    }
}
