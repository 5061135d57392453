//! Renders a validated model as code.

mod arbitrary;
mod codec;
mod command;
mod describe;
mod docs;
mod enums;
mod export;
mod exprs;
mod host;
mod layout;
mod message;
mod notification;
mod plugin;
mod read;
mod structs;
mod write;

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Attribute;

use crate::model::{Messages, Variant};
use crate::{names, tokens};
pub(crate) use export::export;

/// Whether to render arbitrary messages; never in snapshots, whatever features are enabled.
const ARBITRARY: bool = cfg!(all(feature = "test-util", not(test)));

pub(crate) struct Render<'a> {
    pub(crate) model: &'a Messages,
    pub(crate) inert: bool,
    in_types: HashSet<String>,
}

impl Render<'_> {
    pub(crate) fn new(model: &Messages, inert: bool) -> Render<'_> {
        let mut in_types = HashSet::new();
        for field in model.variants.iter().flat_map(|variant| &variant.fields) {
            tokens::identifiers(field.ty.to_token_stream(), &mut |name| {
                in_types.insert(names::text(name));
            });
        }
        Render { model, inert, in_types }
    }

    pub(crate) fn all(&self) -> TokenStream {
        let structs = self.structs();
        let (items, impls) = match &self.model.plugin {
            None if self.model.peers.is_some() => (TokenStream::new(), self.peer_messages()),
            None => (TokenStream::new(), self.notifications()),
            Some(plugin) => {
                let (protocol, requests) = self.protocol(plugin);
                let (client, tasks) = self.client(plugin);
                let (handler, serve) = (self.handler_trait(plugin), self.serve_impl());
                (quote!(#protocol #handler #client), quote!(#requests #serve #tasks))
            }
        };
        let layout = self.layout();
        let functions = if self.inert {
            TokenStream::new()
        } else {
            let (expressions, codecs) = (self.expressions(), self.codecs());
            let arbitrary = (ARBITRARY && self.model.peers.is_none()).then(|| self.arbitrary());
            quote!(#expressions #codecs #arbitrary)
        };
        let (description, limits) = (self.description(), self.limits());
        let allowed = self.allowed();
        quote! {
            #structs
            #items
            #allowed
            const _: () = { #layout #description #limits #functions #impls };
        }
    }

    /// Allows the lints that the user allows. Other lints need no exception, because names have a
    /// macro's span ([`names::made`](crate::names::made)).
    fn allowed(&self) -> Option<&Attribute> {
        self.model.allowed.as_ref()
    }

    fn body(&self, body: TokenStream) -> TokenStream {
        if self.inert { quote!(::core::unreachable!()) } else { body }
    }

    fn pairs(&self) -> impl Iterator<Item = (&Variant, &syn::Path)> {
        self.model.variants.iter().filter_map(|variant| Some((variant, variant.reply.as_ref()?)))
    }
}
