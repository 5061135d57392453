//! UROM's own functions of the host table, and this project's extensions, as C symbols.
//!
//! They are documented in [`urom_abi::host`], and guarded where they are defined.

use std::ffi::{c_char, c_void};

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::{
    Api, Buf, CmdTask, CmdTaskCallback, CmdTaskEnd, Ctx, Dev, Domain, Extensions, GidTask,
    GidTaskCallback, OobColl, Pe, Service, Task, Worker, WorkerHealth,
};
use urom_abi::host_memory::{MemoryCallback, OfferedMemory};
use urom_abi::plugin::PluginInfo;

/// Constants, so that each export below calls the function itself and not through a table.
const TABLE: Api = libdoca_host::API;
const EXTENSIONS: Extensions = TABLE.extensions;

macro_rules! export {
    ($found:ident: $($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
                const FUNCTION: unsafe extern "C" fn($($arg: $ty),*) $(-> $ret)? = $found!($name);
                // SAFETY: the caller's promises are the same.
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

macro_rules! of_this_kit {
    ($name:ident) => {
        match EXTENSIONS.$name {
            Some(function) => function,
            None => panic!("this project's own table has its own extensions"),
        }
    };
}

macro_rules! functions {
    (urom { $($urom:tt)* } core { $($core:tt)* }) => { export!(of_doca: $($urom)*); };
}

macro_rules! extensions {
    ($($list:tt)*) => { export!(of_this_kit: $($list)*); };
}

urom_abi::host_functions!(functions);
urom_abi::host_extensions!(extensions);
