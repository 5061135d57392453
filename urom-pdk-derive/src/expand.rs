//! Runs the stages: parse, validate, render, or fall back.

use proc_macro2::TokenStream;
use quote::quote;

use crate::diagnostics::Errors;
use crate::parse::{self, Macro};
use crate::render::{self, Render};
use crate::{fallback, validate};

pub(crate) fn messages(which: Macro, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let parsed = parse::messages(which, args, item, &mut errors);
    let model = parsed.model.as_ref();
    let clashes = model.is_some_and(|model| validate::messages(model, &mut errors));
    let lacks_lifetime = model.is_some_and(validate::lacks_lifetimes);
    let item = parsed.item;
    // Errors that rustc reports are reported once.
    match (errors.into_compile_errors(), parsed.model) {
        (None, Some(model)) if !clashes && !lacks_lifetime => {
            let rendered = Render::new(&model, false).all();
            quote!(#item #rendered)
        }
        (errors, Some(model)) if !clashes => {
            let inert = fallback::messages(model);
            quote!(#errors #item #inert)
        }
        (errors, Some(model)) if validate::reply_is_enum(&model) => quote!(#errors),
        (errors, _) => quote!(#errors #item),
    }
}

pub(crate) fn plugin(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let parsed = parse::plugin::plugin(args, item, &mut errors);
    let item = parsed.item;
    match (errors.into_compile_errors(), parsed.handler) {
        (None, Some((handler, ty))) => {
            let exports = render::export(&parsed.export, &handler, &ty);
            quote!(#item #exports)
        }
        (errors, _) => quote!(#errors #item),
    }
}
