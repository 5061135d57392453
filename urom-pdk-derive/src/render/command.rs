//! Commands as requests, and their protocol.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Lifetime, Path};

use super::Render;
use crate::model::{Plugin, Variant};
use crate::{names, tokens, validate};

impl Render<'_> {
    /// Returns the type `Protocol`, and the impls, which need a separate scope.
    pub(super) fn protocol(&self, plugin: &Plugin) -> (TokenStream, TokenStream) {
        let (name, vis) = (plugin.text(), &self.model.vis);
        let doc = format!(" The protocol of the plugin `{name}`: its commands and notifications.");
        let allowed = self.allowed();
        let item = quote! {
            #[doc = #doc]
            #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
            #allowed
            #vis struct Protocol;
        };
        let whole = self.whole();
        let requests = self.pairs().map(|(variant, reply)| self.request(variant, reply));
        let protocol = self.protocol_impl(plugin);
        let (notification, span) = (&plugin.notification, plugin.notification.span());
        // Used once, so that a missing type is one error.
        let notification = tokens::at(quote!(#notification), span);
        (item, quote!(type __Notifications = #notification; #whole #(#requests)* #protocol))
    }

    pub(super) fn whole(&self) -> TokenStream {
        let bytes = names::local("bytes");
        let decode = self.by_tag(&bytes, |variant| {
            let name = &variant.ident;
            quote!(#name::decode(#bytes).map(__p::From::from))
        });
        self.enum_impl(&decode, |variant, out| {
            let name = &variant.ident;
            let members = variant.values().map(|field| self.copied(field));
            let message = names::local("message");
            let of = if self.model.peers.is_some() { quote!(PeerMessage) } else { quote!(Request) };
            quote!({ let #message = #name { #(#members),* }; __p::#of::encode(&#message, #out) })
        })
    }

    fn request(&self, variant: &Variant, reply: &Path) -> TokenStream {
        let (decoding, out) = (self.decoding(variant), names::local("out"));
        let (encoded_len, encode) = self.encoders(variant);
        // A crate may forbid lifetimes that are used once.
        let elided = self.message_type(variant, &Lifetime::new("'_", Span::call_site()));
        // On the answer's span, or rustc reports a wrong answer again in functions that depend on
        // it.
        let (answer, of_answer) = (self.of_answer(reply, "This"), self.of_answer(reply, "Echo"));
        let made = variant.constant("Echo");
        let alias = quote_spanned!(reply.span()=> type #made = #of_answer;);
        let mut echo_type = made;
        echo_type.set_span(reply.span());
        let (echo, receiver) = (self.body(self.echo_value(variant, &echo_type)), quote!(&self));
        let echo = quote_spanned!(reply.span()=> fn echo(#receiver) -> #echo_type { #echo });
        let associated = quote_spanned!(reply.span()=> type Reply = #answer;);
        quote! {
            #alias
            #decoding

            impl __p::Request for #elided {
                type Protocol = Protocol;
                #associated

                #[inline]
                fn encoded_len(&self) -> __p::Option<__p::usize> {
                    #encoded_len
                }

                #[inline]
                fn encode(&self, #out: &mut [__p::u8]) -> __p::Encoded {
                    #encode
                }

                #[inline]
                #echo
            }
        }
    }

    /// Returns an associated type of an answer, on the answer's span for errors.
    pub(super) fn of_answer(&self, reply: &Path, name: &str) -> TokenStream {
        let name = Ident::new(name, reply.span());
        quote_spanned!(reply.span()=> <#reply as __p::ReplyOf<__Notifications>>::#name)
    }

    fn echo_value(&self, variant: &Variant, echo: &Ident) -> TokenStream {
        let members = variant.echoed().map(|field| {
            let (ident, accessor) = (&field.ident, field.accessor());
            let value = match validate::is_number(&field.ty) {
                true => quote!(self.#ident),
                false => quote!(#accessor.copy(&self.#ident)),
            };
            // On the field's span, to underline a field with another type in the answer.
            let value = tokens::at(value, ident.span());
            quote!(#ident: #value)
        });
        let members = quote!(#(#members),*);
        quote_spanned!(echo.span()=> #echo { #members })
    }

    fn protocol_impl(&self, plugin: &Plugin) -> TokenStream {
        let (name, version, vis) = (plugin.text(), plugin.version, &self.model.vis);
        let (notification, plugin) = (answers(plugin), names::local("plugin"));
        quote! {
            impl Protocol {
                /// The plugin's name.
                #vis const NAME: &'static __p::str = #name;
                /// The version, which host and plugin compare.
                #vis const VERSION: __p::u64 = #version;
            }

            impl __p::Protocol for Protocol {
                const DESCRIPTION: &'static __p::Description = &__p::Description {
                    name: #name,
                    version: #version,
                    commands: __DESCRIPTION,
                    notifications: #notification::DESCRIPTION,
                };

                type Client<AnyHost: __p::HostSide> = Client<AnyHost>;

                fn client<AnyHost: __p::HostSide>(#plugin: AnyHost::Plugin) -> Client<AnyHost> {
                    Client(#plugin)
                }
            }
        }
    }
}

/// Returns the enum of the answers, through its trait, which reports an invalid answer.
fn answers(plugin: &Plugin) -> TokenStream {
    let notification = &plugin.notification;
    tokens::at(quote!(<#notification as __p::Notifications>), notification.span())
}
