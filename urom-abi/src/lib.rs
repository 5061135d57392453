//! What both sides of a DOCA UROM offload share: DOCA's C structures and codes, and the encoding of
//! commands and notifications.
//!
//! Nothing here talks to UCX or starts a thread. A crate that states a protocol (with
//! `#[urom_command]` and `#[urom_notification]`) depends on this crate and on neither side's
//! runtime; the plugin side (`urom-pdk`) and the host side (`urom-host`) both stand on it, as does
//! the service.
//!
//! | module | holds | DOCA's counterpart |
//! | --- | --- | --- |
//! | [`error`] | [`DocaError`] | `doca_error_t` |
//! | [`plugin`] | the structures a worker and a plugin exchange | `doca_urom_plugin.h` |
//! | [`list`] | the links those structures hang in | `ucs_list_link_t` |
//! | [`log`] | the levels of log lines | `enum doca_log_level` |
//! | [`descriptor`] | owned descriptors on the C heap | `urom_worker_{cmd,notif}_desc` |
//! | [`payload`] | what travels behind a message's fixed part | pointer and length members |
//! | [`wire`] | errors of encoding and decoding, what a field can be | `*_pack`, `*_unpack` |
//! | [`protocol`] | what the macros implement | the `urom_<plugin>.h` of each plugin |
//! | [`describe`] | protocols as constants, and their C headers | the same |
//! | [`memory`] | ranges and permissions of memory | `doca_types.h` |
//! | [`sync_event`] | what a wait for a counter waits for | `doca_sync_event_wait_*` |
//! | [`host`] | the function table of a host library | `doca_{urom,ctx,pe,buf}.h` |
//! | [`cpu`], [`version`] | CPU sets, version words | `doca_cpu_set_t`, `DOCA_VERSION_EXACT` |
//!
//! Byte order everywhere is the machine's own, and structures are those of a 64-bit C compiler:
//! both ends of a UROM offload are little-endian LP64.

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("DOCA UROM's structures are little-endian and 64-bit; this target is not");

// Derives of this crate name it as those of other crates do.
extern crate self as urom_abi;

/// States the size and every offset of a structure, so that a change of either cannot compile.
macro_rules! assert_layout {
    ($type:ty, $size:expr, align $align:literal, { $($field:ident @ $offset:expr),* $(,)? }) => {
        const _: () = {
            assert!(size_of::<$type>() == $size && align_of::<$type>() == $align);
            $(assert!(::std::mem::offset_of!($type, $field) == $offset);)*
        };
    };
}

// For generated code.
#[doc(hidden)]
pub mod __private;
// Between the kit's own crates: the frame around a plugin's address.
#[doc(hidden)]
pub mod address;
mod c_text;
// For the worker.
#[doc(hidden)]
pub mod command_room;
mod copy;
mod count;
pub mod cpu;
pub mod describe;
pub mod descriptor;
#[doc(hidden)]
pub mod driver;
pub mod error;
// Between this project's worker and plugins of the kit.
#[doc(hidden)]
pub mod extension;
mod hash;
pub mod host;
#[doc(hidden)]
pub mod host_memory;
pub mod list;
pub mod log;
// Between the kit's own crates.
#[doc(hidden)]
pub mod log_line;
pub mod memory;
pub mod payload;
pub mod plugin;
pub mod protocol;
#[doc(hidden)]
pub mod shared;
pub mod sync_event;
pub mod test_util;
pub mod version;
pub mod wire;
mod worker_id;
// Between this project's worker and plugins of the kit.
#[doc(hidden)]
pub mod worker_log;

pub use bytemuck;
// For the plugin kit.
#[doc(hidden)]
pub use copy::copy;
// Between the kit's own crates.
#[doc(hidden)]
pub use count::Quantity;
pub use describe::Described;
pub use error::DocaError;
pub use payload::{Data, Elements, Payload, Received, Registered};
pub use urom_pdk_derive::{Described, urom_command, urom_notification};
pub use worker_id::WorkerId;
pub use zerocopy;

/// The largest message, in bytes, that host and worker exchange unless both are told otherwise: the
/// UROM header (24 bytes before a command, 32 before a notification) and everything behind it.
#[doc(hidden)]
pub const DEFAULT_MAX_MESSAGE: usize = 4096;

/// The worker id that asks the service for a new worker with an id of its choosing
/// (`DOCA_UROM_WORKER_ID_ANY`).
pub const WORKER_ID_ANY: u64 = u64::MAX;

/// The most plugins one worker can carry: plugin ids are bits of a 64-bit mask, of which DOCA uses
/// 62.
#[doc(hidden)]
pub const MAX_PLUGINS: usize = 62;

/// What the macros make for tests: nothing, unless the feature `test-util` is on.
#[cfg(feature = "test-util")]
#[doc(hidden)]
#[macro_export]
macro_rules! __arbitrary {
    ($($items:tt)*) => { $($items)* };
}

/// What the macros make for tests: nothing, unless the feature `test-util` is on.
#[cfg(not(feature = "test-util"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __arbitrary {
    ($($items:tt)*) => {};
}
