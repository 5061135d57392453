//! Function tables: a pointer to each function of a library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use super::{
    Buf, Cancelled, CmdTask, CmdTaskCallback, CmdTaskEnd, Ctx, CtxState, Data, Dev, DevInfo,
    Domain, GidTask, GidTaskCallback, OobColl, Pe, Service, StateChangedCallback, Task, Worker,
    WorkerHealth,
};
use crate::c_text::c_text;
use crate::cpu::CpuSet;
use crate::error::DocaStatus;
use crate::host_memory::{MemoryCallback, OfferedMemory};
use crate::plugin::PluginInfo;

macro_rules! api {
    (urom { $($urom:tt)* } core { $($core:tt)* }) => { table! { $($urom)* $($core)* } };
}

macro_rules! table {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        /// DOCA's host functions, each under its C name.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct Api {
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($arg: $ty),*) $(-> $ret)?,)*
            /// Functions that only this project's service has.
            pub extensions: Extensions,
        }

        impl Api {
            /// The C name of every function in the table, in order.
            pub const SYMBOLS: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Builds the table from the symbols of a library that `find` returns, with all
            /// [`extensions`](Self::extensions) that the library has.
            ///
            /// # Errors
            /// The names of the missing functions, in table order.
            ///
            /// # Safety
            /// The value of `find` for a name is DOCA's function of that name, and stays valid.
            pub unsafe fn from_symbols(
                mut find: impl FnMut(&'static CStr) -> Option<NonNull<c_void>>,
            ) -> Result<Api, Vec<&'static str>> {
                // SAFETY: the caller's promise about symbols includes extensions.
                let extensions = unsafe { Extensions::from_symbols(&mut find) };
                let mut missing = Vec::new();
                $(
                    let $name = find(const { c_text(concat!(stringify!($name), "\0")) });
                    if $name.is_none() {
                        missing.push(stringify!($name));
                    }
                )*
                let ($(Some($name),)*) = ($($name,)*) else { return Err(missing) };
                Ok(Api {
                    $(
                        // SAFETY: the caller promises that a symbol of this name is this function.
                        $name: unsafe {
                            std::mem::transmute::<
                                NonNull<c_void>,
                                unsafe extern "C" fn($($arg: $ty),*) $(-> $ret)?,
                            >($name)
                        },
                    )*
                    extensions,
                })
            }
        }
    };
}

macro_rules! extensions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        /// Functions of `urom_extensions.h`. Other releases may lack some, other libraries all.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct Extensions {
            $($(#[$doc])* pub $name: Option<unsafe extern "C" fn($($arg: $ty),*) $(-> $ret)?>,)*
        }

        impl Extensions {
            /// No extensions.
            pub const NONE: Extensions = Extensions { $($name: None),* };

            /// Returns whether all functions are missing.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$name.is_none())*
            }

            unsafe fn from_symbols(
                find: &mut impl FnMut(&'static CStr) -> Option<NonNull<c_void>>,
            ) -> Extensions {
                $(
                    let $name = find(const { c_text(concat!(stringify!($name), "\0")) });
                )*
                Extensions {
                    $(
                        // SAFETY: the caller promises that a symbol of this name is this function.
                        $name: $name.map(|found| unsafe {
                            std::mem::transmute::<
                                NonNull<c_void>,
                                unsafe extern "C" fn($($arg: $ty),*) $(-> $ret)?,
                            >(found)
                        }),
                    )*
                }
            }
        }
    };
}

crate::host_functions!(api);
crate::host_extensions!(extensions);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_lacks_functions_is_refused_with_their_names() {
        let known = NonNull::<u64>::dangling().cast();
        let find =
            |name: &'static CStr| (!name.to_bytes().starts_with(b"doca_pe_c")).then_some(known);
        // SAFETY: nothing in the table is called.
        let missing = unsafe { Api::from_symbols(find) }.map(|_| ()).unwrap_err();
        assert_eq!(
            missing,
            ["doca_pe_create", "doca_pe_connect_ctx", "doca_pe_clear_notification"]
        );
    }

    #[test]
    fn each_extension_is_there_if_the_library_has_it() {
        let known = NonNull::<u64>::dangling().cast();
        let mut asked = Vec::new();
        let all = |name: &'static CStr| {
            asked.push(name.to_str().unwrap());
            Some(known)
        };
        // SAFETY: nothing in the table is called.
        let table = unsafe { Api::from_symbols(all) }.unwrap();
        assert!(table.extensions.urom_ctx_get_failure.is_some());
        assert_eq!(asked[asked.len() - Api::SYMBOLS.len()..], *Api::SYMBOLS);
        let most = |name: &'static CStr| (name != c"urom_ctx_get_failure").then_some(known);
        // SAFETY: nothing in the table is called.
        let table = unsafe { Api::from_symbols(most) }.unwrap();
        assert!(table.extensions.urom_ctx_get_failure.is_none());
        assert!(table.extensions.urom_ctx_get_failure_code.is_some());
        let docas = |name: &'static CStr| name.to_bytes().starts_with(b"doca").then_some(known);
        // SAFETY: nothing in the table is called.
        let table = unsafe { Api::from_symbols(docas) }.unwrap();
        assert!(table.extensions.is_empty());
    }
}
