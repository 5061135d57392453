//! Types of both sides of a DOCA UROM offload: C structures, codes, and the encoding of messages.
//!
//! This crate does not use UCX and starts no threads. A crate that defines a protocol (with
//! `#[urom_command]` and `#[urom_notification]`) depends only on this crate. The plugin side
//! (`urom-pdk`), the host side (`urom-host`) and the service build on it.
//!
//! | module | contents | DOCA's counterpart |
//! | --- | --- | --- |
//! | [`error`] | [`DocaStatus`], [`DocaError`] | `doca_error_t` |
//! | [`plugin`] | the structures a worker and a plugin exchange | `doca_urom_plugin.h` |
//! | [`list`] | intrusive list links | `ucs_list_link_t` |
//! | [`log`] | log levels | `enum doca_log_level` |
//! | [`descriptor`] | owned descriptors on the C heap | `urom_worker_{cmd,notif}_desc` |
//! | [`payload`] | bytes after a message's fixed part | pointer and length members |
//! | [`wire`] | encoding and decoding errors, field types | `*_pack`, `*_unpack` |
//! | [`protocol`] | traits that the macros implement | the `urom_<plugin>.h` of each plugin |
//! | [`describe`] | protocols as constants, and their C headers | the same |
//! | [`memory`] | memory ranges and permissions | `doca_types.h` |
//! | [`sync_event`] | conditions for waiting on a counter | `doca_sync_event_wait_*` |
//! | [`host`] | the function table of a host library | `doca_{urom,ctx,pe,buf}.h` |
//! | [`cpu`], [`version`] | CPU sets, version words | `doca_cpu_set_t`, `DOCA_VERSION_EXACT` |
//!
//! Structures and byte order are little-endian LP64 on both ends of an offload.

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("DOCA UROM's structures are little-endian and 64-bit; this target is not");

// Lets the derives refer to this crate by name inside the crate itself.
extern crate self as urom_abi;

/// Asserts the size and every offset of a structure at compile time.
macro_rules! assert_layout {
    ($type:ty, $size:expr, align $align:literal, { $($field:ident @ $offset:expr),* $(,)? }) => {
        const _: () = {
            assert!(size_of::<$type>() == $size && align_of::<$type>() == $align);
            $(assert!(::std::mem::offset_of!($type, $field) == $offset);)*
        };
    };
}

#[doc(hidden)]
pub mod __private;
// For the kit's own crates: the frame around a plugin's address.
#[doc(hidden)]
pub mod address;
mod c_text;
#[doc(hidden)]
pub mod command_buffer;
mod connection;
mod copy;
mod count;
pub mod cpu;
pub mod describe;
pub mod descriptor;
#[doc(hidden)]
pub mod driver;
pub mod error;
// For this project's worker and plugins of the kit.
#[doc(hidden)]
pub mod extension;
mod hash;
pub mod host;
#[doc(hidden)]
pub mod host_memory;
pub mod list;
pub mod log;
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
#[doc(hidden)]
pub mod trace;
pub mod version;
pub mod wire;
mod worker_id;
#[doc(hidden)]
pub mod worker_log;

pub use bytemuck;
pub use connection::ConnectionId;
#[doc(hidden)]
pub use copy::copy;
#[doc(hidden)]
pub use count::Quantity;
pub use describe::Described;
pub use error::{DocaError, DocaStatus};
pub use payload::{Data, Elements, Payload, Received, Registered};
pub use urom_pdk_derive::{Described, urom_command, urom_notification};
pub use worker_id::WorkerId;
pub use zerocopy;

/// Default limit of a message between host and worker in bytes: the UROM header (24 bytes before a
/// command, 32 before a notification) and everything after it.
#[doc(hidden)]
pub const DEFAULT_MAX_MESSAGE: usize = 4096;

/// The worker id that asks the service to choose an id (`DOCA_UROM_WORKER_ID_ANY`).
pub const WORKER_ID_ANY: u64 = u64::MAX;

/// Maximum number of plugins in a worker: DOCA uses 62 bits of the 64-bit mask of plugin ids.
#[doc(hidden)]
pub const MAX_PLUGINS: usize = 62;

/// Expands to the test helpers of the macros, if the feature `test-util` is on.
#[cfg(feature = "test-util")]
#[doc(hidden)]
#[macro_export]
macro_rules! __arbitrary {
    ($($items:tt)*) => { $($items)* };
}

/// Expands to nothing, because the feature `test-util` is off.
#[cfg(not(feature = "test-util"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __arbitrary {
    ($($items:tt)*) => {};
}
