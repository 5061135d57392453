//! Notifications as replies.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

use super::Render;
use super::read::Source;
use crate::model::{Field, Variant};
use crate::names;

impl Render<'_> {
    /// Everything of a notification enum but the structures.
    pub(super) fn notifications(&self) -> TokenStream {
        let ident = &self.model.ident;
        let [bytes, message, echo] = ["bytes", "message", "echo"].map(names::local);
        let by_tag = self.by_tag(&bytes, |variant| {
            let (name, reader) = (&variant.ident, names::reader(variant));
            let members = variant.values().map(|field| {
                let (field, from) =
                    (&field.ident, if field.echo.is_some() { &echo } else { &message });
                quote!(#field: #from.#field)
            });
            quote!({
                let (#message, #echo) = #reader(#bytes, ::core::option::Option::None)?;
                #ident::#name { #(#members),* }
            })
        });
        let enum_impl = self.enum_impl(quote!(::core::result::Result::Ok(#by_tag)));
        let for_commands = self.for_commands();
        let replies = self.model.variants.iter().map(|variant| self.reply(variant));
        quote!(#enum_impl #for_commands #(#replies)*)
    }

    /// What the command enum needs, also to answer a command that no variant is known to answer.
    fn for_commands(&self) -> TokenStream {
        let (krate, wire) = (&self.model.krate, self.wire());
        let (generics, this) = (&self.model.generics, self.enum_type());
        let text = names::text(&self.model.ident);
        let tag_type = self.tag_type();
        let (tag, fixed) = (names::local("tag"), names::local("fixed"));
        let body = self.body(quote! {
            let #tag = <#tag_type as #wire::Word>::from_u64(#tag);
            #wire::notification::<__LEN>(#text, |#fixed| {
                __TAG.write(#fixed, &::core::option::Option::unwrap_or_default(#tag));
            })
        });
        quote! {
            #[automatically_derived]
            impl #generics #wire::Notifications for #this {
                const LEN: ::core::primitive::usize = __LEN;
                const DESCRIPTION: #krate::describe::Messages = __DESCRIPTION;

                fn refusal(
                    #tag: ::core::primitive::u64,
                ) -> ::core::result::Result<#krate::descriptor::NotificationDesc, #wire::EncodeError> {
                    #body
                }
            }
        }
    }

    /// The function that reads `variant`, for the enum and the variant's structure. It returns the
    /// structure and the echoed fields, which must repeat `echo` when there is one.
    fn reader(&self, variant: &Variant) -> TokenStream {
        if self.inert {
            return TokenStream::new();
        }
        let (krate, wire, name) = (&self.model.krate, self.wire(), &variant.ident);
        let (reader, echo_name) = (names::reader(variant), names::echo(name));
        let [incoming, echo, fixed] = ["incoming", "echo", "fixed"].map(names::local);
        let (text, tag) = (names::text(name), self.check_tag(&fixed, variant));
        let repeats = variant.echoed().map(|field| {
            let (field, constant) = (&field.ident, names::field_const(variant, field));
            let field_text = names::text(field);
            quote!(#wire::repeats(#text, #field_text, #constant.holds(#fixed, &#echo.#field))?;)
        });
        let repeats = variant
            .echoed()
            .next()
            .map(|_| quote!(if let ::core::option::Option::Some(#echo) = #echo { #(#repeats)* }));
        // Without echoed fields there is nothing to compare.
        let given = if repeats.is_some() { echo } else { names::local("_echo") };
        let source = Source::Incoming(&incoming);
        let (reading, members) = self.reading(&source, variant, &fixed, &quote!(#tag #repeats));
        let members = || variant.values().zip(&members);
        let own = members().filter(|(field, _)| field.echo.is_none()).map(|(_, member)| member);
        let echoed = members().filter(|(field, _)| field.echo.is_some()).map(|(_, member)| member);
        quote! {
            #[inline(always)]
            fn #reader(
                #incoming: impl #krate::protocol::Incoming,
                #given: ::core::option::Option<&#echo_name>,
            ) -> ::core::result::Result<(#name, #echo_name), #wire::DecodeError> {
                #reading
                ::core::result::Result::Ok((#name { #(#own),* }, #echo_name { #(#echoed),* }))
            }
        }
    }

    fn reply(&self, variant: &Variant) -> TokenStream {
        let (krate, vis, wire) = (&self.model.krate, &self.model.vis, self.wire());
        let (name, this) = (&variant.ident, self.enum_type());
        let (text, echo_name) = (names::text(name), names::echo(name));
        let (incoming, fixed, echo) =
            (names::local("incoming"), names::local("fixed"), names::local("echo"));

        let (reader, read, message) =
            (names::reader(variant), self.reader(variant), names::local("message"));
        let decode = self.body(quote! {
            let (#message, _) = #reader(#incoming, ::core::option::Option::Some(#echo))?;
            ::core::result::Result::Ok(#message)
        });

        let encode = self.body(self.descriptor(variant, &fixed, &echo));
        let zeros = self.write_echo(&fixed, variant);
        let refusal = self.body(quote!(#wire::notification::<__LEN>(#text, |#fixed| { #zeros })));

        let clone = self.clone_impl(variant, &variant.own().collect::<Vec<_>>());
        // Without echoed fields the structure has all fields of the variant.
        let is_whole = variant.echoed().next().is_none();
        let conversion =
            is_whole.then(|| self.conversion(variant, &variant.ident.to_token_stream()));
        let payload = self.payload_maker(variant);
        let echo_texts = variant.echoed().map(|field| names::text(&field.ident));
        let zero = variant.echoed().map(|field| {
            let (ident, zero) = (&field.ident, self.zero(variant, field));
            quote!(#ident: #zero)
        });
        let zero = self.body(quote!(#echo_name { #(#zero),* }));
        let echoes = variant.echoed().map(|field| self.echoes(&echo_name, field));
        quote! {
            #clone
            #conversion
            #payload
            #read

            #[automatically_derived]
            impl #krate::protocol::Reply for #name {
                type Echo = #echo_name;

                #[inline]
                fn decode(
                    #incoming: impl #krate::protocol::Incoming,
                    #echo: &#echo_name,
                ) -> ::core::result::Result<#name, #wire::DecodeError> {
                    #decode
                }

                #[inline]
                fn into_descriptor(
                    self,
                    #echo: &#echo_name,
                ) -> ::core::result::Result<#krate::descriptor::NotificationDesc, #wire::EncodeError> {
                    #encode
                }
            }

            #(#echoes)*

            #[automatically_derived]
            impl #wire::Answer<#this> for #name {
                type This = #name;
                type Echo = #echo_name;
            }

            #[automatically_derived]
            impl #wire::Echo for #echo_name {
                const NAMES: &'static [::core::primitive::u64] = &[#(#wire::echo_name(#echo_texts)),*];

                #[inline]
                fn zero() -> #echo_name {
                    #zero
                }
            }

            #[automatically_derived]
            impl #echo_name {
                #[doc(hidden)]
                #vis fn refusal(
                    &self,
                ) -> ::core::result::Result<#krate::descriptor::NotificationDesc, #wire::EncodeError> {
                    #refusal
                }
            }
        }
    }

    /// How a command fills in one echoed field.
    fn echoes(&self, echo_name: &Ident, field: &Field) -> TokenStream {
        let (wire, ident, ty) = (self.wire(), &field.ident, &field.ty);
        let (text, value) = (names::text(ident), names::local("value"));
        quote! {
            #[automatically_derived]
            impl #wire::Echoes<{ #wire::echo_name(#text) }> for #echo_name {
                type Value = #ty;

                #[inline]
                fn set(&mut self, #value: #ty) {
                    self.#ident = #value;
                }
            }
        }
    }

    /// The notification in a descriptor of its own, which may be that of its payload.
    fn descriptor(&self, variant: &Variant, fixed: &Ident, echo: &Ident) -> TokenStream {
        let (wire, text) = (self.wire(), names::text(&variant.ident));
        let writing = self.writing(fixed, variant, |field| {
            let ident = &field.ident;
            if field.echo.is_some() { quote!(&#echo.#ident) } else { quote!(&self.#ident) }
        });
        let (prepare, fill) = (writing.prepare, writing.fill);
        let payloads = variant.payloads().map(|field| &field.ident).collect::<Vec<_>>();
        if payloads.is_empty() {
            quote!(#wire::notification::<__LEN>(#text, |#fixed| { #fill }))
        } else {
            quote! {
                #prepare
                #wire::reply::<__LEN, _>(#text, [#(#wire::give(self.#payloads)),*], |#fixed| { #fill })
            }
        }
    }

    /// What gives a handler memory for the only payload of a notification: the notification's own.
    fn payload_maker(&self, variant: &Variant) -> Option<TokenStream> {
        let mut payloads = variant.payloads();
        let payload = payloads.next().filter(|_| payloads.next().is_none())?;
        let (krate, vis, wire, name) =
            (&self.model.krate, &self.model.vis, self.wire(), &variant.ident);
        let (shape, len) = (payload.shape(), names::local("len"));
        let ty = if shape.form.is_two_armed() {
            quote!(#krate::Payload)
        } else {
            shape.inner.to_token_stream()
        };
        let text = names::text(name);
        let body = self.body(quote!(#wire::payload::<__LEN, _>(#text, #len)));
        let doc = format!(
            " Memory for `len` elements of `{}`, zeroed: that of the notification itself, so that nothing is copied.",
            names::text(&payload.ident)
        );
        Some(quote! {
            #[automatically_derived]
            impl #name {
                #[doc = #doc]
                ///
                /// # Errors
                /// `NoMemory` when the C heap has no room.
                #[inline]
                #vis fn payload(#len: ::core::primitive::usize) -> ::core::result::Result<#ty, #wire::EncodeError> {
                    #body
                }
            }
        })
    }
}
