//! The enum's own functions, and the types of its variants.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Lifetime, Type};

use super::Render;
use crate::model::{Field, Variant};
use crate::{names, tokens};

/// Gives a reference to a field's value.
type Value<'a> = &'a dyn Fn(&Field) -> TokenStream;

impl Render<'_> {
    /// The enum with its parameters, as a type.
    pub(super) fn enum_type(&self) -> TokenStream {
        let (ident, (_, parameters, _)) = (&self.model.ident, self.model.generics.split_for_impl());
        quote!(#ident #parameters)
    }

    /// The lifetime of the variant's structure, when it borrows.
    pub(super) fn borrowed(&self, variant: &Variant) -> Option<&Lifetime> {
        self.model
            .lifetime
            .as_ref()
            .filter(|_| variant.values().any(|field| self.borrows_type(&field.ty)))
    }

    /// Whether a type mentions the enum's lifetime.
    pub(super) fn borrows_type(&self, ty: &Type) -> bool {
        let of = |lifetime: &Lifetime| {
            tokens::lifetimes_in(ty.to_token_stream()).iter().any(|name| lifetime.ident == *name)
        };
        self.model.lifetime.as_ref().is_some_and(of)
    }

    /// The parameters of the variant's structure: none, or its lifetime.
    pub(super) fn parameters(&self, variant: &Variant) -> TokenStream {
        self.borrowed(variant).map(|lifetime| quote!(<#lifetime>)).unwrap_or_default()
    }

    /// The variant's structure as a type, borrowing for `lifetime`.
    pub(super) fn message_type(&self, variant: &Variant, lifetime: &Lifetime) -> TokenStream {
        let name = &variant.ident;
        if self.borrowed(variant).is_some() { quote!(#name<#lifetime>) } else { quote!(#name) }
    }

    /// The variant's structure as a type, borrowing for the enum's lifetime.
    pub(super) fn own_type(&self, variant: &Variant) -> TokenStream {
        let (name, parameters) = (&variant.ident, self.parameters(variant));
        quote!(#name #parameters)
    }

    /// A type with `lifetime` in place of the enum's.
    pub(super) fn with_lifetime(&self, ty: &Type, lifetime: &Lifetime) -> TokenStream {
        match &self.model.lifetime {
            Some(own) => tokens::with_lifetime(ty.to_token_stream(), own, lifetime),
            None => ty.to_token_stream(),
        }
    }

    /// A statement that returns when `fixed` has another tag than the variant's.
    pub(super) fn check_tag(&self, fixed: &Ident, variant: &Variant) -> TokenStream {
        let wire = self.wire();
        let (name, tag) = (names::text(&variant.ident), variant.tag);
        let also = match variant.also.as_ref().map(|also| also.value) {
            Some(also) => quote!(::core::option::Option::Some(#also)),
            None => quote!(::core::option::Option::None),
        };
        quote!(#wire::own_tag(#name, __TAG.read(#fixed), #tag, #also)?;)
    }

    /// A `match` on the tag of `bytes`, with an arm for each variant.
    pub(super) fn by_tag(
        &self,
        bytes: &Ident,
        arm: impl Fn(&Variant) -> TokenStream,
    ) -> TokenStream {
        let variants = self.model.variants.iter();
        self.by_tags(bytes, variants.map(|variant| (std::slice::from_ref(variant), arm(variant))))
    }

    /// The same with an arm for each group of variants.
    pub(super) fn by_tags<'v>(
        &self,
        bytes: &Ident,
        groups: impl Iterator<Item = (&'v [Variant], TokenStream)>,
    ) -> TokenStream {
        let wire = self.wire();
        let name = names::text(&self.model.ident);
        let tag = self.tag_type();
        let found = names::local("found");
        let arms = groups.map(|(variants, arm)| {
            let tags = variants.iter().map(|variant| variant.tag);
            quote!(#(#tags)|* => #arm)
        });
        quote! {
            match #wire::tag::<#tag, __LEN>(#name, #bytes)? {
                #(#arms,)*
                #found => ::core::result::Result::Err(#wire::unknown_tag(#name, #found, __KNOWN))?,
            }
        }
    }

    /// A function's body that has `variant` written to the start of `out` and gives the length.
    pub(super) fn encoding(
        &self,
        out: &Ident,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        if !self.model.is_command() {
            return self.writer_body(out, variant, value);
        }
        let (writer, values) = (names::writer(variant), variant.values().map(value));
        quote!(#writer(#out, (#(#values,)*)))
    }

    /// The body of the function that writes `variant`.
    pub(super) fn writer_body(
        &self,
        out: &Ident,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let wire = self.wire();
        let fixed = names::local("fixed");
        let message = names::text(&variant.ident);
        let writing = self.writing(&fixed, variant, &value);
        let (prepare, fill) = (&writing.prepare, &writing.fill);
        let payloads = variant.payloads().map(&value).collect::<Vec<_>>();
        if payloads.is_empty() {
            return quote! {
                let #fixed = #wire::room::<__LEN>(#message, #out)?;
                #fill
                ::core::result::Result::Ok(__LEN)
            };
        }
        quote! {
            #prepare
            #wire::message::<__LEN, _>(#message, #out, [#(#wire::bytes(#payloads)),*], |#fixed| { #fill })
        }
    }

    /// How many bytes `variant` takes, as an `Option`.
    pub(super) fn length(
        &self,
        variant: &Variant,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let wire = self.wire();
        let payloads = variant.payloads().map(value).collect::<Vec<_>>();
        if payloads.is_empty() {
            return quote!(::core::option::Option::Some(__LEN));
        }
        quote!(#wire::total(__LEN, &[#(#wire::bytes(#payloads).len()),*]))
    }

    /// A function's body that is another one for each variant, with what refers to a field's value there.
    fn match_self(&self, body: impl Fn(&Variant, Value<'_>) -> TokenStream) -> TokenStream {
        let ident = &self.model.ident;
        let arms = self.model.variants.iter().map(|variant| {
            let (pattern, locals) = super::structs::pattern(ident, variant);
            let value = |field: &Field| {
                let at = variant.values().position(|other| other.ident == field.ident);
                at.map(|at| locals[at].to_token_stream()).unwrap_or_default()
            };
            let body = body(variant, &value);
            quote!(#pattern => { #body })
        });
        self.body(quote!(match self { #(#arms)* }))
    }

    /// The conversion of a variant's structure `ty`, which has all fields of the variant.
    pub(super) fn conversion(&self, variant: &Variant, ty: &TokenStream) -> TokenStream {
        let (ident, name, this) = (&self.model.ident, &variant.ident, self.enum_type());
        let (generics, message) = (&self.model.generics, names::local("message"));
        let fields = variant.values().map(|field| {
            let field = &field.ident;
            quote!(#field: #message.#field)
        });
        let body = self.body(quote!(#ident::#name { #(#fields),* }));
        quote! {
            #[automatically_derived]
            impl #generics ::core::convert::From<#ty> for #this {
                #[inline]
                fn from(#message: #ty) -> #this {
                    #body
                }
            }
        }
    }

    /// The enum's inherent constants and functions.
    pub(super) fn enum_impl(&self, decode: TokenStream) -> TokenStream {
        let wire = self.wire();
        let (vis, this) = (&self.model.vis, self.enum_type());
        let generics = &self.model.generics;
        let lifetime = &self.model.lifetime;
        let (bytes, out) = (names::local("bytes"), names::local("out"));
        let decode = self.body(decode);
        let encode = self.match_self(|variant, value| self.encoding(&out, variant, value));
        let encoded_len =
            if self.model.variants.iter().all(|variant| variant.payloads().next().is_none()) {
                self.body(quote!(::core::option::Option::Some(__LEN)))
            } else {
                self.match_self(|variant, value| self.length(variant, value))
            };
        let ident = &self.model.ident;
        // A use of all variants and fields: not every program uses every part of a protocol, and nobody is to blame for that.
        let used = (!self.inert).then(|| {
            quote!(const _: () = {
                let _ = #ident::decode;
                let _ = #ident::encode;
            };)
        });
        quote! {
            #used

            #[automatically_derived]
            impl #generics #this {
                /// The size in bytes of every message without its inline payloads.
                #vis const FIXED_LEN: ::core::primitive::usize = __LEN;

                /// Reads a message of any variant.
                ///
                /// # Errors
                /// Which field is wrong, and how; a tag that no variant has lists those there are.
                #[inline]
                #vis fn decode(#bytes: &#lifetime [::core::primitive::u8]) -> ::core::result::Result<#this, #wire::DecodeError> {
                    #decode
                }

                /// Writes the message to the start of `out` and returns how many bytes it took.
                ///
                /// # Errors
                /// `TooBig` when `out` is too short, `Mismatch` when a payload contradicts the fields that describe it;
                /// nothing is written then.
                #[inline]
                #vis fn encode(&self, #out: &mut [::core::primitive::u8]) -> ::core::result::Result<::core::primitive::usize, #wire::EncodeError> {
                    #encode
                }

                /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
                #[inline]
                #vis fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
                    #encoded_len
                }
            }
        }
    }
}
