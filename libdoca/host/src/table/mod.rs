//! The table: one small `extern "C"` function per DOCA function, which checks pointers.

/// Defines functions of the table: `fn NAME[OBJECT: POINTER, ..](ARGUMENTS) BODY`. The pointers are
/// the first arguments, and each `OBJECT` is bound to a pointer's object
/// ([`Opaque`](crate::handle::Opaque)). Panics are caught. The form determines the result:
///
/// - `BODY`: the code of its `Result`; `INVALID_VALUE` without an object.
/// - `=> TARGET BODY`: likewise, and stores the body's value at that argument.
/// - `=> (TARGET, TARGET) BODY`: likewise with two values.
/// - `-> ANSWER BODY`: the body's value, or the type's default without an object.
/// - `set fn`: the code of configuring an idle context, which stores a failure.
macro_rules! functions {
    () => {};
    (set fn $name:ident[$found:ident: $object:ty $(, $more:ident: $of:ty)*](
        $($argument:ident: $type:ty),* $(,)?
    ) $body:block $($rest:tt)*) => {
        functions! {
            fn $name[$found: $object $(, $more: $of)*]($($argument: $type),*) {
                $found.ctx.configure(|| $body)
            }
            $($rest)*
        }
    };
    (fn $name:ident $(<$($generic:ident $(: $bound:ident)?),+>)? [$($found:ident: $object:ty),*](
        $($argument:ident: $type:ty),* $(,)?
    ) => $target:ident $body:block $($rest:tt)*) => {
        functions! {
            fn $name $(<$($generic $(: $bound)?),+>)? [$($found: $object),*](
                $($argument: $type),*
            ) {
                present($target)?;
                let value = $body;
                // SAFETY: NULL, or the host's pointer for the result.
                unsafe { put($target, value) }
            }
            $($rest)*
        }
    };
    (fn $name:ident[$($found:ident: $object:ty),*]($($argument:ident: $type:ty),* $(,)?)
        => ($first:ident, $second:ident) $body:block $($rest:tt)*) => {
        functions! {
            fn $name[$($found: $object),*]($($argument: $type),*) => $first {
                present($second)?;
                let (first, second) = $body;
                // SAFETY: NULL, or the host's pointer for the result.
                unsafe { put($second, second) }?;
                first
            }
            $($rest)*
        }
    };
    (fn $name:ident $(<$($generic:ident $(: $bound:ident)?),+>)? [$($found:ident: $object:ty),*](
        $($argument:ident: $type:ty),* $(,)?
    ) $body:block $($rest:tt)*) => {
        pub(super) unsafe extern "C" fn $name $(<$($generic $(: $bound)?),+>)? (
            $($found: $object,)* $($argument: $type),*
        ) -> urom_abi::DocaStatus {
            guard(|| {
                $(
                    // SAFETY: NULL, or an object that the host keeps alive in this call.
                    let $found = unsafe { crate::handle::Opaque::find($found) }?;
                )*
                $body
            })
        }
        functions! { $($rest)* }
    };
    (fn $name:ident $(<$($generic:ident $(: $bound:ident)?),+>)? [$found:ident: $object:ty](
        $($argument:ident: $type:ty),* $(,)?
    ) -> $answer:ty $body:block $($rest:tt)*) => {
        #[allow(clippy::unused_unit, reason = "some answer nothing")]
        pub(super) unsafe extern "C" fn $name $(<$($generic $(: $bound)?),+>)? (
            $found: $object, $($argument: $type),*
        ) -> $answer {
            let answer = || {
                // SAFETY: NULL, or an object that the host keeps alive in this call.
                let $found = unsafe { crate::handle::Opaque::find($found) }.ok()?;
                Some($body)
            };
            guard_or(None, answer).unwrap_or_default()
        }
        functions! { $($rest)* }
    };
}

mod advise;
mod buf;
mod core;
mod device;
mod domain;
mod graph;
mod inventory;
mod map;
mod own;
mod service;
mod sync_event;
mod sync_task;
mod worker;

use urom_abi::host::memory::MemoryApi;
use urom_abi::host::{Api, Extensions};

use self::advise::*;
use self::buf::*;
use self::core::*;
use self::device::*;
use self::domain::*;
use self::graph::*;
use self::inventory::*;
use self::map::*;
use self::service::*;
use self::sync_event::*;
use self::sync_task::*;
use self::worker::*;

pub use self::core::task_release;

/// Returns the complete table with all extensions.
///
/// Any thread may call the functions. Each object belongs to one thread at a time, but workers of
/// other threads may use a service.
pub fn api() -> &'static Api {
    &API
}

macro_rules! extensions {
    ($($(#[$doc:meta])* fn $name:ident($($argument:tt)*) $(-> $answer:ty)?;)*) => {
        const EXTENSIONS: Extensions = Extensions { $($name: Some($name)),* };
    };
}

macro_rules! table {
    (urom { $($urom:tt)* } core { $($core:tt)* }) => { table! { $($urom)* $($core)* } };
    ($($(#[$doc:meta])* fn $name:ident($($argument:tt)*) $(-> $answer:ty)?;)*) => {
        /// The same as a constant, for direct calls.
        pub const API: Api = Api { $($name,)* extensions: EXTENSIONS };
    };
}

macro_rules! memory {
    ($(fn $name:ident($($argument:tt)*) $(-> $answer:ty)?;)*) => {
        /// Devices, memory maps, buffers, inventories, pools, sync events and graphs, for C only.
        pub const MEMORY: MemoryApi = MemoryApi { $($name),* };
    };
}

urom_abi::host_memory!(memory);
urom_abi::host_extensions!(extensions);
urom_abi::host_functions!(table);
