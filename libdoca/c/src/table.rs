//! C symbols of the host table, this project's extensions and the memory functions.
//! [`urom_abi::host`] documents them; their definitions guard against panics.

use std::ffi::{c_char, c_int, c_void};

use urom_abi::DocaStatus;
use urom_abi::cpu::CpuSet;
use urom_abi::host::memory::MemoryApi;
use urom_abi::host::*;
use urom_abi::host_memory::{MemoryCallback, OfferedMemory};
use urom_abi::plugin::PluginInfo;

/// Constants, so that each export calls its function directly.
const TABLE: Api = libdoca_host::API;
const MEMORY: MemoryApi = libdoca_host::MEMORY;
const EXTENSIONS: Extensions = TABLE.extensions;

macro_rules! export {
    ($found:ident: $($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
                const FUNCTION: unsafe extern "C" fn($($arg: $ty),*) $(-> $ret)? = $found!($name);
                // SAFETY: the function has the same contract as this one.
                unsafe { FUNCTION($($arg),*) }
            }
        )*
    };
}

macro_rules! of_doca {
    ($name:ident) => {
        TABLE.$name
    };
}

macro_rules! of_memory {
    ($name:ident) => {
        MEMORY.$name
    };
}

macro_rules! of_this_kit {
    ($name:ident) => {
        match EXTENSIONS.$name {
            Some(function) => function,
            None => panic!("this project's own table has its own extensions"),
        }
    };
}

macro_rules! functions {
    (urom { $($urom:tt)* } core { $($core:tt)* }) => { export!(of_doca: $($urom)* $($core)*); };
}

macro_rules! extensions {
    ($($list:tt)*) => { export!(of_this_kit: $($list)*); };
}

macro_rules! memory {
    ($($list:tt)*) => { export!(of_memory: $($list)*); };
}

urom_abi::host_functions!(functions);
urom_abi::host_extensions!(extensions);
urom_abi::host_memory!(memory);
