//! `#[urom_plugin]`: its keys and its `impl`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{ImplItem, Item, ItemImpl, LitBool, LitStr, Path, PathArguments, Type, parse_quote};

use super::describe;
use crate::attrs::Keys;
use crate::diagnostics::{Errors, messages};
use crate::model::ExportKeys;
use crate::names;

pub(crate) struct ParsedPlugin {
    pub(crate) item: TokenStream,
    pub(crate) export: ExportKeys,
    pub(crate) handler: Option<(Path, Type)>,
}

pub(crate) fn plugin(args: TokenStream, item: TokenStream, errors: &mut Errors) -> ParsedPlugin {
    let export = keys(args, errors);
    let (item, handler) = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Impl(mut item)) if item.trait_.is_some() => {
            let handler = handler(&mut item, &export, errors);
            (item.into_token_stream(), handler)
        }
        Ok(other) => {
            let (found, name) = describe(&other);
            errors.on(name, messages::not_a_handler_impl(found));
            (item, None)
        }
        Err(error) => {
            errors.syntax(error);
            (item, None)
        }
    };
    ParsedPlugin { item, export, handler }
}

fn keys(args: TokenStream, errors: &mut Errors) -> ExportKeys {
    let mut keys = Keys::parse(args, errors);
    let krate = keys.krate("urom_pdk", errors);
    let export = keys.value::<LitBool>("export", "export = false", errors);
    let abort = keys.value_with("abort", "abort = \"allowed\"", errors, |tokens| {
        syn::parse2::<LitStr>(tokens).ok().filter(|text| text.value() == "allowed")
    });
    let peers = keys.value::<Ident>("peers", "peers = field", errors);
    keys.finish(errors);
    ExportKeys { krate, export: export.is_none_or(|key| key.value), abort: abort.is_some(), peers }
}

/// Fills in the side: `impl Handler for T` becomes `impl Handler<Side> for T`.
fn handler(item: &mut ItemImpl, export: &ExportKeys, errors: &mut Errors) -> Option<(Path, Type)> {
    for parameter in &item.generics.params {
        errors.on(parameter, messages::generic_plugin(names::written(parameter)));
    }
    let krate = &export.krate;
    if let Some(field) = &export.peers {
        item.items.extend(peer_methods(field, krate));
    }
    let (path, _) = item.trait_.as_mut()?;
    let last = path.segments.last_mut()?;
    match &last.arguments {
        PathArguments::None => {
            last.arguments = PathArguments::AngleBracketed(parse_quote!(<#krate::Side>));
            Some((path.clone(), (*item.self_ty).clone()))
        }
        given => {
            errors.on(given, messages::handler_with_arguments(&last.ident));
            None
        }
    }
}

/// Returns the methods that forward to the handler's `PeerWorker` field.
fn peer_methods(field: &Ident, krate: &Path) -> [ImplItem; 3] {
    let this = Ident::new("self", Span::mixed_site());
    let method = |tokens: TokenStream| parse_quote!(#tokens);
    [
        method(quote_spanned!(field.span()=>
            fn address(&#this) -> #krate::Result<::std::vec::Vec<::core::primitive::u8>> {
                #krate::peers::PeerWorker::address(&#this.#field)
            }
        )),
        method(quote_spanned!(field.span()=>
            fn progress(&#this) -> ::core::primitive::bool {
                #krate::peers::PeerWorker::progress(&#this.#field)
            }
        )),
        method(quote_spanned!(field.span()=>
            fn arm(&#this) -> #krate::Armed<'_> {
                #krate::peers::PeerWorker::arm(&#this.#field)
            }
        )),
    ]
}
