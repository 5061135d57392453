//! Write DOCA UROM worker plugins in Rust.
//!
//! A plugin is a type that implements the `Handler` of its protocol: one `async fn` for each
//! command, which returns its notification. [`macro@urom_plugin`] exports it for workers.
//!
//! ```standalone_crate
//! // The protocol, in a crate of its own that the host uses too.
//! mod protocol {
//!     use urom_abi::{urom_command, urom_notification};
//!
//!     #[urom_command(plugin = "worker_sum", version = 1)]
//!     pub enum Command {
//!         #[urom(reply = Sum)]
//!         Add { value: u64 },
//!     }
//!
//!     #[urom_notification]
//!     pub enum Notification {
//!         Sum { total: u64 },
//!     }
//! }
//!
//! // The plugin: a crate of type cdylib, named `worker_sum`.
//! use std::cell::Cell;
//!
//! use protocol::{Add, Handler, Sum};
//! use urom_pdk::prelude::*;
//!
//! struct Summing {
//!     total: Cell<u64>,
//! }
//!
//! #[urom_plugin]
//! impl Handler for Summing {
//!     fn open(_cx: &OpenContext) -> Result<Self> {
//!         Ok(Summing { total: Cell::new(0) })
//!     }
//!
//!     async fn add(&self, _cx: &Context, cmd: Add) -> Result<Sum> {
//!         let total = self.total.get().checked_add(cmd.value);
//!         let total = total.ok_or(Error::new(DocaError::TOO_BIG, "the sum exceeds 64 bits"))?;
//!         self.total.set(total);
//!         Ok(Sum { total })
//!     }
//! }
//! ```
//!
//! # The terms, and how to begin
//!
//! A *worker* is a process on the Arm cores of a BlueField DPU, or on a laptop. It loads *plugins*:
//! shared objects. A *host* program sends *commands* and receives *notifications*, in Rust (crate
//! `urom-host`) or C (generated header). `cargo urom new` creates a workspace with all three. By
//! hand, the plugin's `Cargo.toml` contains
//!
//! ```toml
//! [lib]
//! name = "worker_sum" # the plugin's name
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! urom-pdk = "0.1"
//! sum-protocol = { path = "../protocol" } # which depends on urom-abi only
//! ```
//!
//! # One command, one notification
//!
//! Every command that ends gets one notification, with its token, connection and echoed fields:
//!
//! | how the command ends | status | the rest of the notification |
//! | --- | --- | --- |
//! | the handler returns a value | `SUCCESS` | that value |
//! | the handler returns an [`Error`] | its code, or `UNEXPECTED` instead of `SUCCESS` | zeros |
//! | the handler panics | `UNEXPECTED` | zeros |
//! | the command is malformed: an unknown tag, a wrong length | `INVALID_VALUE` | zeros |
//! | the C heap is full | `NO_MEMORY`, once memory is free again | zeros |
//!
//! The worker answers commands that are pending when it closes the plugin. `close` drops the
//! futures, then the handler. Notifications leave in the order of the commands' ends.
//!
//! Error messages go to the plugin's log and, in this kit's worker, to the host; other workers send
//! only the code. Lines of the crates `log` and `tracing` go to the worker's log, DOCA's log, or
//! standard error. A plugin with its own logger or subscriber turns these features off.
//!
//! # Threads
//!
//! Calls come from one thread and never overlap. Handlers need neither `Send` nor `Sync`, and may
//! use cells. A handler that blocks stops its worker. A [`Waker`](std::task::Waker) works on any
//! thread, even after the plugin was closed, and ends the sleep of this kit's worker.
//!
//! # Domains
//!
//! [`Context::domains`] looks up other members of the worker's domains: the addresses of the same
//! plugin there (from `Handler::address`), and the keys of the host's registered buffers.
//! [`OpenContext::domains`] returns a handle that any thread can use at any time.
//!
//! # Memory that outlives a command
//!
//! A handler borrows the command's bytes. Operations that outlive the future, such as a UCX send,
//! need the bytes for longer: [`Context::hold`] keeps them without a copy.
//!
//! # When futures run
//!
//! A future is polled when its command arrives, and in the worker's next `progress` after each
//! wake. The handler's own `progress` runs before, a few times while it reports work. If it panics,
//! it is not called again: all pending and later commands fail with `UNEXPECTED`.
//!
//! Futures live in reused slots of the largest future's size; box large, rare futures. Once there
//! are enough slots, a command allocates only the interface's two C descriptors.
//!
//! # Time
//!
//! [`time`] has a clock, sleeps and timeouts, all driven by the worker's calls.
//!
//! # Testing
//!
//! With the feature `test-util`, `test_util` drives a plugin in process through its C methods, with
//! typed commands, a test clock and several workers. It checks every command and memory block.
//!
//! # Panics
//!
//! A panic does not cross into C: it becomes a code and one log line. `open` installs a panic hook
//! that is quiet about the plugin's panics and forwards others. `panic = "abort"` only compiles
//! with `#[urom_plugin(abort = "allowed")]`: a panic then ends the whole worker. Panics in
//! destructors are caught, except during unwinding.
pub mod memory;
#[cfg(feature = "ucx")]
pub mod peers;
#[cfg(feature = "test-util")]
pub mod test_util;
pub mod time;

mod bell;
mod cancel;
mod described;
mod domain;
mod error;
mod executor;
mod failures;
mod guard;
mod held;
mod iface;
mod limited;
mod lines;
mod log;
mod panic;
mod per_host;
mod pool;
#[cfg(feature = "ucx")]
mod region;
mod side;
mod slot;
mod sync;
mod tasks;
mod trace;
mod waker;
mod window;
mod woken;
mod worker_side;

pub use cancel::CancelReason;
pub use domain::{DomainHandle, Domains, Segment};
pub use error::{Error, OrCode, Result};
pub use held::Held;
pub use per_host::{HostLimits, PerHost};
#[cfg(feature = "ucx")]
pub use region::Region;
pub use side::{Context, OpenContext, Side};
pub use tasks::{Task, Tasks};
pub use trace::traceparent;
pub use urom_abi::protocol::Armed;
pub use urom_abi::{
    ConnectionId, Data, DocaError, DocaStatus, Elements, Payload, Received, Registered,
};
pub use urom_pdk_derive::{urom_message, urom_plugin};
pub use window::{Take, Window};

/// The usual imports of a plugin: `use urom_pdk::prelude::*;`.
pub mod prelude {
    pub use crate::{
        ConnectionId, Context, DocaError, Error, OpenContext, OrCode, Result, bail, ensure,
        limited, urom_plugin,
    };
}

/// Used by generated code only: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use urom_abi::DocaStatus;
    pub use urom_abi::describe::{self, section};
    pub use urom_abi::extension::PluginExtension;
    pub use urom_abi::plugin::{GetIfaceFn, GetVersionFn, PluginIface};
    pub use urom_abi::protocol::Serve;

    pub use crate::described::{build, keep, protocol};
    pub use crate::iface::{Exported, PluginParts, extension, get_iface, get_version, parts};
    pub use crate::limited::is_due;

    /// The items that `urom_message` uses. The crate's name would appear in rustc's errors.
    pub mod abi {
        pub use urom_abi::__private;
    }
}
