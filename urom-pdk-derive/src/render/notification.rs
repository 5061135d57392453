//! Notifications as replies.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

use super::Render;
use crate::model::Variant;
use crate::names;

impl Render<'_> {
    pub(super) fn notifications(&self) -> TokenStream {
        let (this, bytes) = (self.enum_type(), names::local("bytes"));
        let decode = self.by_tag(&bytes, |variant| {
            let name = &variant.ident;
            quote!(__p::read::<#name, #this>(#bytes))
        });
        let enum_impl = self.enum_impl(&decode, |variant, out| {
            let (name, echo) = (&variant.ident, names::echo(&variant.ident));
            let copied = |field| self.copied(field);
            let (own, echoed) = (variant.own().map(copied), variant.echoed().map(copied));
            let [message, repeated] = ["message", "repeated"].map(names::local);
            quote! {{
                let #message = #name { #(#own),* };
                let #repeated = #echo { #(#echoed),* };
                __p::encode(#message, &#repeated, #out)
            }}
        });
        let replies = self.model.variants.iter().map(|variant| self.reply(variant));
        let generics = &self.model.generics;
        quote! {
            #enum_impl

            impl #generics __p::Notifications for #this {
                const DESCRIPTION: __p::Messages = __DESCRIPTION;
            }

            #(#replies)*
        }
    }

    /// Returns the body of the function that reads `variant` and compares echoed fields with
    /// `echo`.
    fn reader(&self, variant: &Variant, incoming: &Ident, echo: &Ident) -> TokenStream {
        let (name, fixed) = (&variant.ident, names::local("fixed"));
        let echo_name = names::echo(name);
        let (text, tag) = (variant.name(), self.check_tag(&fixed, variant));
        let repeats = variant.echoed().map(|field| {
            let (ident, name, accessor) = (&field.ident, field.name(), field.accessor());
            let value = quote!(#echo.map(|#echo| &#echo.#ident));
            quote!(#accessor.repeats(#fixed, #text, #name, #value)?;)
        });
        let check = quote!(#tag #(#repeats)*);
        let (reading, members) = self.reading(incoming, variant, &fixed, &check);
        let members = || variant.values().zip(&members);
        let own = members().filter(|(field, _)| !field.is_echoed()).map(|(_, member)| member);
        let echoed = members().filter(|(field, _)| field.is_echoed()).map(|(_, member)| member);
        let repeated = names::local("repeated");
        quote! {
            #reading
            let #repeated = #echo_name { #(#echoed),* };
            __p::Ok((#name { #(#own),* }, #repeated))
        }
    }

    fn reply(&self, variant: &Variant) -> TokenStream {
        let (name, this) = (&variant.ident, self.enum_type());
        let echo_name = names::echo(name);
        let [incoming, fixed, echo, message, buffer] =
            ["incoming", "fixed", "echo", "message", "buffer"].map(names::local);
        let is_whole = variant.echoed().next().is_none();
        let read = self.body(self.reader(variant, &incoming, &echo));
        let encode = self.body(self.written(variant, &fixed, &echo, &buffer));
        let both = quote!((#name, #echo_name));
        let pattern = if is_whole { quote!((#message, _)) } else { quote!((#message, #echo)) };
        let conversion = self.conversion(variant, &both, &pattern, |field| {
            if field.is_echoed() { quote!(#echo) } else { quote!(#message) }
        });
        let from_structure = is_whole.then(|| {
            self.conversion(
                variant,
                &name.to_token_stream(),
                &quote!(#message),
                |_| quote!(#message),
            )
        });
        let payload = self.payload_maker(variant);
        quote! {
            #conversion
            #from_structure
            #payload

            impl __p::Reply for #name {
                type Echo = #echo_name;

                #[inline(always)]
                fn read(
                    #incoming: impl __p::Incoming,
                    #echo: __p::Option<&#echo_name>,
                ) -> __p::Decoded<(Self, #echo_name)> {
                    #read
                }

                #[inline]
                fn write(
                    self,
                    #echo: &#echo_name,
                    #buffer: __p::AnswerBuffer<'_>,
                ) -> __p::Written {
                    #encode
                }
            }

            impl __p::ReplyOf<#this> for #name {
                type This = Self;
                type Echo = #echo_name;
            }
        }
    }

    fn written(
        &self,
        variant: &Variant,
        fixed: &Ident,
        echo: &Ident,
        buffer: &Ident,
    ) -> TokenStream {
        let text = names::text(&variant.ident);
        let (prepare, fill) = self.writing(fixed, variant, |field| {
            let ident = &field.ident;
            if field.is_echoed() { quote!(&#echo.#ident) } else { quote!(&self.#ident) }
        });
        let payloads = variant.payloads().map(|(field, _)| &field.ident).collect::<Vec<_>>();
        if payloads.is_empty() {
            quote!(__p::notification(#text, #buffer, |#fixed| { #fill }))
        } else {
            quote! {
                #prepare
                __p::reply(#text, #buffer, [#(__p::give(self.#payloads)),*], |#fixed| { #fill })
            }
        }
    }

    fn payload_maker(&self, variant: &Variant) -> Option<TokenStream> {
        let mut payloads = variant.payloads();
        let (payload, _) = payloads.next().filter(|_| payloads.next().is_none())?;
        let (krate, vis, name) = (&self.model.krate, &self.model.vis, &variant.ident);
        let (shape, len) = (&payload.shape, names::local("len"));
        let ty = if shape.form.is_two_armed() {
            quote!(#krate::Payload)
        } else {
            shape.inner.to_token_stream()
        };
        let text = names::text(name);
        let body = self.body(quote!(__p::payload::<__LEN, _>(#text, #len)));
        let doc = format!(
            " Memory for `len` elements of `{}`, zeroed: the notification's own, so that nothing is copied. `NoMemory` when the C heap is full.",
            payload.name()
        );
        Some(quote! {
            impl #name {
                #[doc = #doc]
                #[inline]
                #vis fn payload(#len: __p::usize) -> __p::Result<#ty, __p::EncodeError> {
                    #body
                }
            }
        })
    }
}
