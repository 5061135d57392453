//! The trait `Handler`, with one `async fn` for each command, and the code that serves it.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::Render;
use crate::model::{Plugin, Variant};
use crate::names;

/// Maximum number of commands that one function awaits. rustc's time grows with the square of this
/// number, so the commands of a large protocol are split over several functions.
const AWAITS: usize = 40;

impl Render<'_> {
    pub(super) fn handler_trait(&self, plugin: &Plugin) -> TokenStream {
        let (krate, vis) = (&self.model.krate, &self.model.vis);
        let doc = format!(
            " What a plugin `{}` does: one method for each command, which ends with the notification that answers it.",
            plugin.text()
        );
        let methods = self.pairs().filter_map(|(variant, reply)| {
            let (name, method) = (&variant.ident, names::method(&variant.ident)?);
            let command = self.message_type(variant, &syn::Lifetime::new("'_", Span::call_site()));
            let otherwise = format!(" Answers the command [`{}`].", names::text(name));
            let docs = self.copied_docs(&variant.docs, &otherwise);
            Some(quote! {
                #docs
                async fn #method(
                    &self,
                    cx: &AnySide::Context,
                    cmd: #command,
                ) -> ::core::result::Result<#reply, AnySide::Error>;
            })
        });
        let (allowed, connection) = (self.allowed(), names::local("connection"));
        quote! {
            #[doc = #doc]
            ///
            /// `#[urom_plugin] impl Handler for YourType` fills in the side and exports the plugin.
            /// A method that fails, panics or is dropped at close is answered all the same, with
            /// zeros and the fitting status.
            #allowed
            #vis trait Handler<AnySide: #krate::protocol::PluginSide = <Self as #krate::protocol::FilledIn>::Side>:
                ::core::marker::Sized + 'static
            {
                /// Makes the handler. After an error the worker does not start.
                fn open(cx: &AnySide::OpenContext) -> ::core::result::Result<Self, AnySide::Error>;

                /// The address by which the plugin's members in a domain reach this one; none by
                /// default. Called once, after `open`. After an error the worker does not start.
                fn address(
                    &self,
                ) -> ::core::result::Result<#krate::__private::Vec<::core::primitive::u8>, AnySide::Error> {
                    ::core::result::Result::Ok(#krate::__private::Vec::new())
                }

                /// Advances the plugin's own work, such as a UCX worker; returns whether it did
                /// anything. Called repeatedly; only in every second turn while answers are ready
                /// and no command is pending.
                fn progress(&self) -> ::core::primitive::bool {
                    false
                }

                /// Frees the data of a host that has left. All commands of its connection have
                /// ended. Only this kit's worker calls it, and not at close.
                fn host_left(&self, #connection: #krate::ConnectionId) {}

                /// Arms the event that ends the worker's sleep, such as a UCX worker's. Only this
                /// kit's worker calls it, right before it sleeps; without it, the worker polls with
                /// backoff.
                fn arm(&self) -> #krate::protocol::Armed<'_> {
                    #krate::protocol::Armed::Polled
                }

                #(#methods)*

                #[doc(hidden)]
                fn __made_by_urom_command() -> Protocol {
                    Protocol
                }
            }
        }
    }

    pub(super) fn serve_impl(&self) -> TokenStream {
        let [handler, cx, bytes, command, connection, now] =
            ["handler", "cx", "bytes", "command", "connection", "now"].map(names::local);
        let arm = |variant: &Variant| {
            let (name, method) = (&variant.ident, names::method(&variant.ident));
            let answer = variant.reply.as_ref().map_or_else(|| name.span(), Spanned::span);
            quote_spanned!(answer=> {
                __p::serve(
                    move || #name::decode(#bytes),
                    move |#command| AnyHandler::#method(#handler, #cx, #command),
                    |#now| AnySide::answer_buffer(#cx, #now),
                )
                .await
            })
        };
        let parameters = quote! {
            #handler: &'command AnyHandler,
            #cx: &'command AnySide::Context,
            #bytes: &'command [__p::u8],
        };
        let bounds = quote!(AnySide: __p::PluginSide, AnyHandler: Handler<AnySide>);
        let variants = &self.model.variants;
        let by_tag = if variants.len() <= AWAITS {
            self.by_tag(&bytes, arm)
        } else {
            let parts = variants.chunks(AWAITS).map(|variants| {
                let arms =
                    variants.iter().map(|variant| (std::slice::from_ref(variant), arm(variant)));
                let part = self.by_tags(&bytes, arms);
                let part = quote!({
                    async fn __part<'command, AnySide, AnyHandler>(
                        #parameters
                    ) -> __p::Result<__p::Answer, AnySide::Error>
                    where
                        #bounds,
                    {
                        #part
                    }
                    __part::<AnySide, AnyHandler>(#handler, #cx, #bytes).await
                });
                (variants, part)
            });
            self.by_tags(&bytes, parts)
        };
        let serve = self.body(by_tag);
        quote! {
            impl<AnySide, AnyHandler> __p::Serve<AnySide, AnyHandler> for Protocol
            where
                #bounds,
            {
                fn open(#cx: &AnySide::OpenContext) -> __p::Result<AnyHandler, AnySide::Error> {
                    AnyHandler::open(#cx)
                }

                fn address(
                    #handler: &AnyHandler,
                ) -> __p::Result<__p::Vec<__p::u8>, AnySide::Error> {
                    AnyHandler::address(#handler)
                }

                fn progress(#handler: &AnyHandler) -> __p::bool {
                    AnyHandler::progress(#handler)
                }

                fn host_left(#handler: &AnyHandler, #connection: __p::ConnectionId) {
                    AnyHandler::host_left(#handler, #connection);
                }

                fn arm(#handler: &AnyHandler) -> __p::Armed<'_> {
                    AnyHandler::arm(#handler)
                }

                async fn serve<'command>(
                    #parameters
                ) -> __p::Result<__p::Answer, AnySide::Error> {
                    #serve
                }
            }
        }
    }
}
