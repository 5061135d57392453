//! The two functions that a worker looks up in a plugin.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Path, Type};

use crate::diagnostics::messages;
use crate::model::Export;

/// What stands beside the user's impl: the exported functions, and the refusal of `panic = "abort"`.
pub(crate) fn export(export: &Export, handler: &Path, ty: &Type) -> TokenStream {
    let krate = &export.krate;
    let refusal = if export.abort {
        TokenStream::new()
    } else {
        let text = messages::panic_abort().to_string();
        quote! {
            #[cfg(panic = "abort")]
            ::core::compile_error! { #text }
        }
    };
    if !export.export {
        return refusal;
    }
    quote! {
        #refusal
        #[cfg(not(test))]
        const _: () = {
            use #krate::__private::{self as __private, DocaError, GetIfaceFn, GetVersionFn, PluginIface, Serve};

            const _: GetIfaceFn = urom_plugin_get_iface;
            const _: GetVersionFn = urom_plugin_get_version;

            #[unsafe(no_mangle)]
            unsafe extern "C" fn urom_plugin_get_iface(iface: *mut PluginIface) -> DocaError {
                // The handler's own trait knows its protocol.
                unsafe fn of<P: Serve<#krate::Side, #ty>>(_: fn() -> P, iface: *mut PluginIface) -> DocaError {
                    // SAFETY: what the caller promises of `iface` is what this asks for.
                    unsafe { __private::get_iface::<#ty, P>(iface) }
                }
                // SAFETY: as above.
                unsafe { of(<#ty as #handler>::__made_by_urom_command, iface) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn urom_plugin_get_version(version: *mut u64) -> DocaError {
                unsafe fn of<P: Serve<#krate::Side, #ty>>(_: fn() -> P, version: *mut u64) -> DocaError {
                    // SAFETY: what the caller promises of `version` is what this asks for.
                    unsafe { __private::get_version::<P>(version) }
                }
                // SAFETY: as above.
                unsafe { of(<#ty as #handler>::__made_by_urom_command, version) }
            }
        };
    }
}
