//! Messages between plugins: commands without an answer, a handler and a host.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Lifetime;

use super::Render;
use crate::model::{Field, Variant};
use crate::names;

impl Render<'_> {
    pub(super) fn peer_messages(&self) -> TokenStream {
        let (this, generics, bytes) =
            (self.enum_type(), &self.model.generics, names::local("bytes"));
        let whole = self.whole();
        let messages = self.model.variants.iter().map(|variant| self.peer_message(variant));
        let out = names::local("out");
        let of_enum = self.peer_message_impl(
            &quote!(impl #generics),
            &this,
            &self.body(quote!(Self::encoded_len(self))),
            &self.body(quote!(Self::encode(self, #out))),
        );
        let lifetime = match &self.model.lifetime {
            Some(lifetime) => lifetime.clone(),
            None => Lifetime::new("'message", Span::call_site()),
        };
        let decode = self.body(quote!(Self::decode(#bytes)));
        quote! {
            #whole
            #(#messages)*
            #of_enum

            impl<#lifetime> __p::PeerMessages<#lifetime> for #this {
                fn decode(#bytes: &#lifetime [__p::u8]) -> __p::Result<Self, __p::DecodeError> {
                    #decode
                }
            }
        }
    }

    fn peer_message(&self, variant: &Variant) -> TokenStream {
        let decoding = self.decoding(variant);
        let elided = self.message_type(variant, &Lifetime::new("'_", Span::call_site()));
        let (len, encode) = self.encoders(variant);
        let message = self.peer_message_impl(&quote!(impl), &elided, &len, &encode);
        quote!(#decoding #message)
    }

    fn peer_message_impl(
        &self,
        head: &TokenStream,
        this: &impl ToTokens,
        len: &TokenStream,
        encode: &TokenStream,
    ) -> TokenStream {
        let version = Literal::u64_unsuffixed(self.model.peers.unwrap_or_default());
        let out = names::local("out");
        quote! {
            #head __p::PeerMessage for #this {
                const VERSION: __p::u64 = #version;

                #[inline]
                fn encoded_len(&self) -> __p::Option<__p::usize> {
                    #len
                }

                #[inline]
                fn encode(&self, #out: &mut [__p::u8]) -> __p::Encoded {
                    #encode
                }
            }
        }
    }

    pub(super) fn decoding(&self, variant: &Variant) -> TokenStream {
        let (vis, name) = (&self.model.vis, &variant.ident);
        let [bytes, fixed, message] = ["bytes", "fixed", "message"].map(names::local);
        let check = self.check_tag(&fixed, variant);
        let (reading, members) = self.reading(&bytes, variant, &fixed, &check);
        let decode = self.body(quote!(#reading __p::Ok(#name { #(#members),* })));
        let this = self.own_type(variant);
        let conversion = self.conversion(variant, &this, &quote!(#message), |_| quote!(#message));
        let (parameters, lifetime) = (self.parameters(variant), self.borrowed(variant));
        let doc = format!(
            " Reads the {}. The error names the field that is wrong, and why.",
            if self.model.plugin.is_some() { "command" } else { "message" }
        );
        quote! {
            #conversion

            impl #parameters #this {
                #[doc = #doc]
                #[inline]
                #vis fn decode(#bytes: &#lifetime [__p::u8]) -> __p::Result<Self, __p::DecodeError> {
                    #decode
                }
            }
        }
    }

    pub(super) fn encoders(&self, variant: &Variant) -> (TokenStream, TokenStream) {
        let value = |field: &Field| {
            let field = &field.ident;
            quote!(&self.#field)
        };
        let encode = self.body(self.encoding(&names::local("out"), variant, value));
        let payloads = variant.payloads().map(|(field, _)| value(field));
        let len = self.body(quote!(__p::total(__LEN, &[#(<[_]>::len(__p::bytes(#payloads))),*])));
        (len, encode)
    }
}
