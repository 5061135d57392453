//! The exports of a plugin: two functions and a table for the worker, the description, and an impl
//! for the test kit.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Path, Type};

use crate::diagnostics::messages;
use crate::model::ExportKeys;
use crate::names;

pub(crate) fn export(export: &ExportKeys, handler: &Path, ty: &Type) -> TokenStream {
    let krate = &export.krate;
    let private = quote!(#krate::__private);
    let refusal = if export.abort {
        TokenStream::new()
    } else {
        let text = messages::panic_abort().to_string();
        quote! {
            #[cfg(panic = "abort")]
            ::core::compile_error! { #text }
        }
    };
    // The trait's hidden function returns the protocol, so its type identifies the protocol.
    let made = quote!(<#ty as #handler>::__made_by_urom_command);
    let exported = quote! {
        impl #private::Exported for #ty {
            const PARTS: #private::PluginParts = #private::parts::<#ty, _>(#made);
        }
    };
    if !export.export {
        return quote!(#refusal #exported);
    }
    let [iface, version] = ["iface", "version"].map(names::local);
    // Builds of the crate's own tests check and use the functions, and export nothing.
    quote! {
        #refusal
        #exported
        const _: () = {
            const _: #private::GetIfaceFn = urom_plugin_get_iface;
            const _: #private::GetVersionFn = urom_plugin_get_version;

            const _: &#private::PluginExtension = &UROM_PLUGIN_EXTENSION;

            #[cfg_attr(not(test), unsafe(export_name = "urom_plugin_extension"))]
            static UROM_PLUGIN_EXTENSION: #private::PluginExtension =
                #private::extension::<#ty, _>(#made);

            const __PROTOCOL: &#private::describe::Protocol =
                #private::protocol(#made);
            const __BUILD: &#private::section::Build = &#private::build(::core::cfg!(panic = "abort"));
            const __LEN: ::core::primitive::usize = #private::section::len(__PROTOCOL, __BUILD);
            #[cfg_attr(not(test), unsafe(link_section = ".urom.description"))]
            static __DESCRIPTION: [::core::primitive::u8; __LEN] = #private::section::array(__PROTOCOL, __BUILD);

            #[cfg_attr(not(test), unsafe(no_mangle))]
            unsafe extern "C" fn urom_plugin_get_iface(#iface: *mut #private::PluginIface) -> #private::DocaStatus {
                #private::keep(&__DESCRIPTION);
                // SAFETY: this function has the same requirements for the table.
                unsafe { #private::get_iface::<#ty, _>(#made, #iface) }
            }

            #[cfg_attr(not(test), unsafe(no_mangle))]
            unsafe extern "C" fn urom_plugin_get_version(#version: *mut ::core::primitive::u64) -> #private::DocaStatus {
                // SAFETY: this function has the same requirements for the number.
                unsafe { #private::get_version(#made, #version) }
            }
        };
    }
}
