//! Commands as requests, and the protocol they make.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Lifetime, Path};

use super::Commands;
use super::read::{Source, index};
use crate::diagnostics::messages;
use crate::model::{Field, Variant};
use crate::{names, tokens};

impl Commands<'_> {
    /// The type `Protocol`, and what stands apart from the module's names: its impls and those of the commands.
    pub(super) fn protocol(&self) -> (TokenStream, TokenStream) {
        let (name, vis) = (self.plugin.text(), &self.render.model.vis);
        let doc = format!(
            " The protocol of the plugin `{name}`: its commands and notifications as one type."
        );
        let allowed = self.render.allowed();
        let item = quote! {
            #[doc = #doc]
            #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
            #allowed
            #vis struct Protocol;
        };
        let decode = self.decode_enum();
        let requests = self.pairs().map(|(variant, reply)| self.request(variant, reply));
        let protocol = self.protocol_impl();
        let (notification, span) = (&self.plugin.notification, self.plugin.notification.span());
        // Named once, so that one that does not exist is one error.
        let notification = tokens::at(quote!(#notification), span);
        let answers = self.answers_check();
        (
            item,
            quote!(type __Notifications = #notification; #answers #decode #(#requests)* #protocol),
        )
    }

    /// A command whose answer is no notification does not compile. That check is by name and needs no
    /// type, so it works where rustc finds no type of that name.
    fn answers_check(&self) -> TokenStream {
        if self.render.inert {
            return TokenStream::new();
        }
        let (krate, wire) = (&self.render.model.krate, self.render.wire());
        let (notification, mut known) = (self.notifications(), HashSet::new());
        let names = self.pairs().filter_map(|(_, reply)| Some(&reply.segments.last()?.ident));
        let checks = names.filter(|name| known.insert(names::text(name))).map(|name| {
            let text = names::text(name);
            tokens::written_at(quote!(#wire::assert_notification(__ANSWERS, #text);), name.span())
        });
        quote! {
            const __ANSWERS: &#krate::describe::Messages = &#notification::DESCRIPTION;
            #(const _: () = #checks)*
        }
    }

    /// The enum's own `decode` and `encode`.
    fn decode_enum(&self) -> TokenStream {
        let bytes = names::local("bytes");
        let this = self.render.enum_type();
        let by_tag = self.render.by_tag(&bytes, |variant| {
            let name = &variant.ident;
            let ty = self.render.own_type(variant);
            quote!(<#this as ::core::convert::From<#ty>>::from(#name::decode(#bytes)?))
        });
        self.render.enum_impl(quote!(::core::result::Result::Ok(#by_tag)))
    }

    fn request(&self, variant: &Variant, reply: &Path) -> TokenStream {
        let (krate, vis, wire) =
            (&self.render.model.krate, &self.render.model.vis, self.render.wire());
        let name = &variant.ident;
        let (bytes, out, fixed) =
            (names::local("bytes"), names::local("out"), names::local("fixed"));
        let check = self.render.check_tag(&fixed, variant);
        let (reading, members) =
            self.render.reading(&Source::Bytes(&bytes), variant, &fixed, &check);
        let decode =
            self.render.body(quote!(#reading ::core::result::Result::Ok(#name { #(#members),* })));
        let value = |field: &Field| {
            let field = &field.ident;
            quote!(&self.#field)
        };
        let write = self.writer(variant);
        let encode = self.render.body(self.render.encoding(&out, variant, value));
        let encoded_len = self.render.body(self.render.length(variant, value));
        let echoed = self.echo_of(variant, reply, |field| {
            let (ident, constant) = (&field.ident, names::field_const(variant, field));
            quote!(#constant.copy(&self.#ident))
        });
        let (echo, receiver) = (self.render.body(echoed), quote!(&self));
        let conversion = self.render.conversion(variant, &self.render.own_type(variant));
        let clone = self.render.clone_impl(variant, &variant.values().collect::<Vec<_>>());
        let this = self.render.own_type(variant);
        let (parameters, lifetime) =
            (self.render.parameters(variant), self.render.borrowed(variant));
        let (answer, echo_type) = (self.of_answer(reply, "This"), self.of_answer(reply, "Echo"));
        // On the answer's span too: rustc reports a wrong answer once more for a function whose signature depends on it.
        let echo = quote_spanned!(reply.span()=> fn echo(#receiver) -> #echo_type { #echo });
        let kind = self.render.message_type(variant, &Lifetime::new("'static", Span::call_site()));
        let kind = tokens::written_at(kind, reply.span());
        let echo_check = self.echo_check(variant, reply);
        let associated = quote_spanned!(reply.span()=> type Reply = #answer; type Kind = #kind;);
        quote! {
            #clone
            #echo_check
            #write

            #conversion

            #[automatically_derived]
            impl #parameters #this {
                /// Reads the command.
                ///
                /// # Errors
                /// Which field is wrong, and how.
                #[inline]
                #vis fn decode(#bytes: &#lifetime [::core::primitive::u8]) -> ::core::result::Result<#this, #wire::DecodeError> {
                    #decode
                }
            }

            #[automatically_derived]
            impl #parameters #krate::protocol::Request for #this {
                type Protocol = Protocol;
                #associated

                #[inline]
                fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
                    #encoded_len
                }

                #[inline]
                fn encode(&self, #out: &mut [::core::primitive::u8]) -> ::core::result::Result<::core::primitive::usize, #wire::EncodeError> {
                    #encode
                }

                #[inline]
                #echo
            }
        }
    }

    /// The function that writes `variant`, which the enum and the variant's structure call.
    fn writer(&self, variant: &Variant) -> TokenStream {
        if self.render.inert {
            return TokenStream::new();
        }
        let (wire, writer, out) = (self.render.wire(), names::writer(variant), names::local("out"));
        let local = |field: &Field| names::numbered(index(variant, field)).to_token_stream();
        let elided = Lifetime::new("'_", Span::call_site());
        let locals = variant.values().map(local);
        let types = variant.values().map(|field| self.render.with_lifetime(&field.ty, &elided));
        let body = self.render.writer_body(&out, variant, local);
        // The values are one tuple: clippy limits the number of parameters and refuses `&String`.
        // Lifetimes are elided: a crate may forbid those that are used once.
        quote! {
            #[inline(always)]
            fn #writer(
                #out: &mut [::core::primitive::u8],
                (#(#locals,)*): (#(&#types,)*),
            ) -> ::core::result::Result<::core::primitive::usize, #wire::EncodeError> {
                #body
            }
        }
    }

    /// An associated type of an answer. On the answer's span, so that one that is no notification is underlined itself,
    /// and once.
    fn of_answer(&self, reply: &Path, name: &str) -> TokenStream {
        let (wire, name) = (self.render.wire(), Ident::new(name, reply.span()));
        quote_spanned!(reply.span()=> <#reply as #wire::Answer<__Notifications>>::#name)
    }

    /// The echo of `variant`, each field of it what `value` gives for it.
    fn echo_of(
        &self,
        variant: &Variant,
        reply: &Path,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let (wire, echo_type) = (self.render.wire(), self.of_answer(reply, "Echo"));
        // A local is of the answer's type, so it stands on the answer's span too.
        let echo = Ident::new("__echo", reply.span());
        let setters = variant.echoed().map(|field| {
            let ident = &field.ident;
            let (name, value) = (names::text(ident), value(field));
            // On the field's span, so that a field the answer does not have, or has otherwise, is underlined itself.
            let set =
                quote!(#wire::Echoes::<{ #wire::echo_name(#name) }>::set(&mut #echo, #value););
            tokens::at(set, ident.span())
        });
        let mutable = variant.echoed().next().map(|_| quote!(mut));
        let zero = quote_spanned!(reply.span()=> <#echo_type as #wire::Echo>::zero());
        quote_spanned! {reply.span()=>
            let #mutable #echo = #zero;
            #(#setters)*
            #echo
        }
    }

    /// A command that lacks a field of its answer does not compile.
    fn echo_check(&self, variant: &Variant, reply: &Path) -> TokenStream {
        if self.render.inert {
            return TokenStream::new();
        }
        let (wire, echo_type) = (self.render.wire(), self.of_answer(reply, "Echo"));
        let given = variant.echoed().map(|field| names::text(&field.ident));
        let text = messages::echo_missing(&variant.ident, names::written(reply)).to_string();
        quote_spanned!(reply.span()=>
            const _: () = ::core::assert!(
                #wire::echoes_all(<#echo_type as #wire::Echo>::NAMES, &[#(#wire::echo_name(#given)),*]),
                #text,
            );
        )
    }

    fn protocol_impl(&self) -> TokenStream {
        let (krate, wire) = (&self.render.model.krate, self.render.wire());
        let (name, version) = (self.plugin.text(), self.plugin.version);
        let notification = self.notifications();
        let command = names::local("command");
        let refusal = self.render.body(self.refusal());
        quote! {
            #[automatically_derived]
            impl #krate::protocol::Protocol for Protocol {
                const NAME: &'static ::core::primitive::str = #name;
                const VERSION: ::core::primitive::u64 = #version;
                const COMMAND_LEN: ::core::primitive::usize = __LEN;
                const NOTIFICATION_LEN: ::core::primitive::usize = #notification::LEN;
                const DESCRIPTION: &'static #krate::describe::Protocol = &#krate::describe::Protocol {
                    name: #name,
                    version: #version,
                    commands: __DESCRIPTION,
                    notifications: #notification::DESCRIPTION,
                };

                type Client<AnyHost: #krate::protocol::HostSide> = Client<AnyHost>;

                fn client<AnyHost: #krate::protocol::HostSide>(plugin: AnyHost::Plugin) -> Client<AnyHost> {
                    Client { plugin }
                }

                fn refusal(
                    #command: &[::core::primitive::u8],
                ) -> ::core::result::Result<#krate::descriptor::NotificationDesc, #wire::EncodeError> {
                    #refusal
                }
            }
        }
    }

    /// The enum of the answers, by its trait, which says so when it is none.
    fn notifications(&self) -> TokenStream {
        let (wire, notification) = (self.render.wire(), &self.plugin.notification);
        tokens::at(quote!(<#notification as #wire::Notifications>), notification.span())
    }

    fn refusal(&self) -> TokenStream {
        let (wire, notification) = (self.render.wire(), self.notifications());
        let [command, found] = ["command", "found"].map(names::local);
        let name = names::text(&self.render.model.ident);
        let tag = self.render.tag_type();
        let arms = self.pairs().map(|(variant, reply)| {
            let (tag, echoed) = (variant.tag, Ident::new("__echoed", reply.span()));
            let echo = self.echo_of(variant, reply, |field| {
                self.render.read_or_zero(variant, field, &command)
            });
            quote_spanned! {reply.span()=>
                ::core::result::Result::Ok(#tag) => {
                    let #echoed = { #echo };
                    #echoed.refusal()
                }
            }
        });
        quote! {
            match #wire::tag::<#tag, __LEN>(#name, #command) {
                #(#arms,)*
                ::core::result::Result::Ok(#found) => #notification::refusal(#found),
                ::core::result::Result::Err(_) => #notification::refusal(0),
            }
        }
    }
}
