//! The enum's own functions, and the types of its variants.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Lifetime, Type};

use super::Render;
use crate::model::{Field, Role, Variant};
use crate::{names, tokens, validate};

impl Render<'_> {
    pub(super) fn enum_type(&self) -> TokenStream {
        let (ident, (_, parameters, _)) = (&self.model.ident, self.model.generics.split_for_impl());
        quote!(#ident #parameters)
    }

    pub(super) fn borrowed(&self, variant: &Variant) -> Option<&Lifetime> {
        self.model
            .lifetime
            .as_ref()
            .filter(|_| variant.values().any(|field| self.borrows_type(&field.ty)))
    }

    pub(super) fn borrows_type(&self, ty: &Type) -> bool {
        let own = self.model.lifetime.as_ref();
        own.is_some_and(|own| tokens::names_lifetime(ty, |name| own.ident == *name))
    }

    pub(super) fn parameters(&self, variant: &Variant) -> TokenStream {
        self.borrowed(variant).map(|lifetime| quote!(<#lifetime>)).unwrap_or_default()
    }

    pub(super) fn message_type(&self, variant: &Variant, lifetime: &Lifetime) -> TokenStream {
        let name = &variant.ident;
        if self.borrowed(variant).is_some() { quote!(#name<#lifetime>) } else { quote!(#name) }
    }

    pub(super) fn own_type(&self, variant: &Variant) -> TokenStream {
        let (name, parameters) = (&variant.ident, self.parameters(variant));
        quote!(#name #parameters)
    }

    pub(super) fn with_lifetime(&self, ty: &Type, lifetime: &Lifetime) -> TokenStream {
        match &self.model.lifetime {
            Some(own) => tokens::with_lifetime(ty.to_token_stream(), own, lifetime),
            None => ty.to_token_stream(),
        }
    }

    pub(super) fn check_tag(&self, fixed: &Ident, variant: &Variant) -> TokenStream {
        let (name, tag) = (variant.name(), Literal::u64_unsuffixed(variant.tag));
        let also = variant.also.map(|(also, _)| Literal::u64_unsuffixed(also));
        let also = also.map_or(quote!(__p::None), |also| quote!(__p::Some(#also)));
        quote!(__p::own_tag(#name, __TAG.read(#fixed), #tag, #also)?;)
    }

    pub(super) fn by_tag(
        &self,
        bytes: &Ident,
        arm: impl Fn(&Variant) -> TokenStream,
    ) -> TokenStream {
        let variants = self.model.variants.iter();
        self.by_tags(bytes, variants.map(|variant| (std::slice::from_ref(variant), arm(variant))))
    }

    pub(super) fn by_tags<'v>(
        &self,
        bytes: &Ident,
        groups: impl Iterator<Item = (&'v [Variant], TokenStream)>,
    ) -> TokenStream {
        let name = names::text(&self.model.ident);
        let tag = self.tag_type();
        let found = names::local("found");
        let arms = groups.map(|(variants, arm)| {
            let tags = variants.iter().map(|variant| variant.tag);
            let tags = tags.map(Literal::u64_unsuffixed);
            quote!(#(#tags)|* => #arm)
        });
        quote! {
            match __p::tag::<#tag, __LEN>(#name, #bytes)? {
                #(#arms,)*
                #found => __p::unknown(#name, #found, __KNOWN),
            }
        }
    }

    /// Returns the conversion of `from`, which has all fields of the variant: `member` accesses
    /// each. The lifetime is repeated, because a crate may forbid lifetimes used once.
    pub(super) fn conversion(
        &self,
        variant: &Variant,
        from: &TokenStream,
        pattern: &TokenStream,
        member: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let (ident, name, this) = (&self.model.ident, &variant.ident, self.enum_type());
        let generics = &self.model.generics;
        let fields = variant.values().map(|field| {
            let (member, field) = (member(field), &field.ident);
            quote!(#field: #member.#field)
        });
        let body = self.body(quote!(#ident::#name { #(#fields),* }));
        quote! {
            impl #generics __p::From<#from> for #this {
                #[inline]
                fn from(#pattern: #from) -> #this {
                    #body
                }
            }
        }
    }

    pub(super) fn copied(&self, field: &Field) -> TokenStream {
        let (ident, local, at, ty) = (&field.ident, field.local(), field.accessor(), &field.ty);
        let copy = match field.role {
            Role::Plain if validate::is_number(ty) => quote!(*#local),
            Role::Plain => quote!(#at.copy(#local)),
            // On the type's span, so that a type without `Clone` is one error.
            Role::Codec(_) => {
                let clone = quote_spanned!(ty.span()=> <#ty as ::core::clone::Clone>::clone);
                quote!(#clone(#local))
            }
            Role::Word | Role::Payload(_) => quote!(__p::Clone::clone(#local)),
        };
        quote!(#ident: #copy)
    }

    /// Returns the enum's inherent constants and functions. `write` returns an expression that
    /// writes the variant's structure; each field's local is a reference to its value.
    pub(super) fn enum_impl(
        &self,
        decode: &TokenStream,
        write: impl Fn(&Variant, &Ident) -> TokenStream,
    ) -> TokenStream {
        let (vis, this, ident) = (&self.model.vis, self.enum_type(), &self.model.ident);
        let generics = &self.model.generics;
        let lifetime = &self.model.lifetime;
        let [bytes, out] = ["bytes", "out"].map(names::local);
        let arms = self.model.variants.iter().map(|variant| {
            let (name, idents) = (&variant.ident, variant.values().map(|field| &field.ident));
            let (locals, call) = (variant.values().map(Field::local), write(variant, &out));
            quote!(#ident::#name { #(#idents: #locals),* } => #call,)
        });
        let decode = self.body(decode.clone());
        let encode = self.body(quote!(match self { #(#arms)* }));
        let encoded_len = self.body(quote!(__p::encoded_len(self.encode(&mut []))));
        // Uses all variants and fields, because not every program uses a whole protocol.
        let used = (!self.inert)
            .then(|| quote!(const _: () = __p::used((#ident::decode, #ident::encode));));
        quote! {
            #used

            impl #generics #this {
                /// The size in bytes of every message without its inline payloads.
                #vis const FIXED_LEN: __p::usize = __LEN;

                /// Reads a message of any variant. The error contains the invalid field and the
                /// reason; for an unknown tag it lists the known ones.
                #[inline]
                #vis fn decode(#bytes: &#lifetime [__p::u8]) -> __p::Result<Self, __p::DecodeError> {
                    #decode
                }

                /// Writes the message to the start of the buffer and returns its length. After an error
                /// nothing is written.
                #[inline]
                #vis fn encode(&self, #out: &mut [__p::u8]) -> __p::Result<__p::usize, __p::EncodeError> {
                    #encode
                }

                /// The length that `encode` writes; `None` when it cannot write the message.
                #[inline]
                #vis fn encoded_len(&self) -> __p::Option<__p::usize> {
                    #encoded_len
                }
            }
        }
    }
}
