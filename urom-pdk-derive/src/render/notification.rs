//! Notifications as replies.

use proc_macro2::TokenStream;
use quote::quote;

use super::Render;
use crate::model::Variant;
use crate::names;

impl Render<'_> {
    /// Everything of a notification enum but the structures.
    pub(super) fn notifications(&self) -> TokenStream {
        let ident = &self.model.ident;
        let (bytes, fixed) = (names::local("bytes"), names::local("fixed"));
        let by_tag = self.by_tag(&bytes, |variant| {
            let name = &variant.ident;
            let text = names::text(name);
            let reads = self.reads(&fixed, variant, variant.fields.iter());
            let wire = self.wire();
            quote!({
                let #fixed = #wire::exact::<__LEN>(#text, #bytes)?;
                #ident::#name { #reads }
            })
        });
        let enum_impl = self.enum_impl(quote!(::core::result::Result::Ok(#by_tag)));
        let refusal = self.unknown_refusal();
        let replies = self.model.variants.iter().map(|variant| self.reply(variant));
        quote!(#enum_impl #refusal #(#replies)*)
    }

    /// The answer to a command that no variant is known to answer.
    fn unknown_refusal(&self) -> TokenStream {
        let (krate, vis, wire, ident) = (&self.model.krate, &self.model.vis, self.wire(), &self.model.ident);
        let text = names::text(ident);
        let tag_type = self.tag_type();
        let (tag, fixed) = (names::local("tag"), names::local("fixed"));
        let body = self.body(quote! {
            #wire::notification::<__LEN>(#text, |#fixed| __TAG.write(#fixed, &(#tag as #tag_type)))
        });
        quote! {
            #[automatically_derived]
            impl #ident {
                #[doc(hidden)]
                #vis fn refusal(
                    #tag: u64,
                ) -> ::core::result::Result<#krate::descriptor::NotificationDesc, #wire::EncodeError> {
                    #body
                }
            }
        }
    }

    fn reply(&self, variant: &Variant) -> TokenStream {
        let (krate, vis, wire) = (&self.model.krate, &self.model.vis, self.wire());
        let name = &variant.ident;
        let (text, echo_name) = (names::text(name), names::echo(name));
        let [incoming, bytes, fixed, echo] = ["incoming", "bytes", "fixed", "echo"].map(names::local);

        let checked = self.checked(&fixed, &bytes, variant);
        let repeats = variant.echoed().map(|field| {
            let (field, constant) = (&field.ident, names::field_const(variant, field));
            let field_text = names::text(field);
            quote! {
                if !#constant.holds(#fixed, &#echo.#field) {
                    return ::core::result::Result::Err(#wire::not_echoed(#text, #field_text));
                }
            }
        });
        let reads = self.reads(&fixed, variant, variant.own());
        let decode = self.body(quote! {
            let #bytes = #krate::protocol::Incoming::bytes(&#incoming);
            #checked
            #(#repeats)*
            ::core::result::Result::Ok(#name { #reads })
        });

        let writes = self.writes(&fixed, variant, variant.fields.iter(), |field| {
            let ident = &field.ident;
            if field.echo.is_some() { quote!(&#echo.#ident) } else { quote!(&self.#ident) }
        });
        let encode = self.body(quote!(#wire::notification::<__LEN>(#text, |#fixed| { #writes })));

        let zeros = self.writes(&fixed, variant, variant.echoed(), |field| {
            let ident = &field.ident;
            quote!(&self.#ident)
        });
        let refusal = self.body(quote!(#wire::notification::<__LEN>(#text, |#fixed| { #zeros })));

        let clone = self.clone_impl(variant, &variant.own().collect::<Vec<_>>());
        let from = if variant.echoed().next().is_none() {
            self.reply_conversion(variant)
        } else {
            TokenStream::new()
        };
        quote! {
            #clone
            #from

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

    /// A notification without echoed fields is a variant of the enum as it stands.
    fn reply_conversion(&self, variant: &Variant) -> TokenStream {
        let (ident, name) = (&self.model.ident, &variant.ident);
        let reply = names::local("reply");
        let moved = variant.fields.iter().map(|field| {
            let field = &field.ident;
            quote!(#field: #reply.#field)
        });
        let body = self.body(quote!(#ident::#name { #(#moved),* }));
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<#name> for #ident {
                #[inline]
                fn from(#reply: #name) -> #ident {
                    #body
                }
            }
        }
    }
}
