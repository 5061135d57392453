//! Write DOCA UROM worker plugins in Rust.
//!
//! A plugin is a type that implements the `Handler` of its protocol: one `async fn` for each
//! command, which ends with the notification that answers it. [`macro@urom_plugin`] turns it into
//! what a worker loads.
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
//! A *worker* is a process on the Arm cores of a BlueField DPU, or on a laptop. A *plugin* is a
//! shared object that it loads. A *host* program sends the plugin *commands* and gets
//! *notifications* back; it is written with the crate `urom-host`, against the same protocol crate,
//! or in C against a header made from it.
//!
//! `cargo urom new` (of the crate `cargo-urom`) makes a workspace of the three. By hand, the
//! plugin's `Cargo.toml` has
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
//! Every command that ends gets exactly one notification, with the command's token, connection and
//! echoed fields:
//!
//! | how the command ends | status | the rest of the notification |
//! | --- | --- | --- |
//! | the handler gives a value | `SUCCESS` | that value |
//! | the handler gives an [`Error`] | its code; `UNEXPECTED` in place of `SUCCESS` | zeros |
//! | the handler panics | `UNEXPECTED` | zeros |
//! | its bytes are no command: an unknown tag, a wrong length | `INVALID_VALUE` | zeros |
//! | the C heap has no room for its notification | `NO_MEMORY`, once there is room again | zeros |
//!
//! A command that is pending when the worker closes the plugin gets none from here, because `close`
//! has no list to put one into: its future is dropped, then its memory is freed, then the handler
//! is dropped. The worker answers for it. Notifications leave in the order in which their commands
//! ended, which need not be the order in which they came.
//!
//! What an error says goes to the plugin's log and, in this kit's worker, to the host; other
//! workers pass on the code alone. A plugin's own lines, written with the crate `log` or `tracing`,
//! go to the log as well: to the worker's, through DOCA's, or to standard error. A plugin that sets
//! up a logger or a subscriber of its own turns the features of these names off.
//!
//! # Threads
//!
//! A worker calls a plugin from one thread, and calls never overlap. So a handler need be neither
//! `Send` nor `Sync`, cells do for its state, and a handler that blocks holds up its whole worker.
//! A [`Waker`](std::task::Waker) may be cloned, sent to any thread, woken there and kept for as
//! long as anyone likes, even beyond the plugin's close. In this kit's worker it ends the worker's
//! sleep.
//!
//! # Domains
//!
//! [`Context::domains`] looks up the other members of the worker's domains: the addresses that the
//! same plugin has there (what their handlers' `address` gave), and the keys of the buffers that
//! the host program registered. [`OpenContext::domains`] gives a handle for later and for other
//! threads.
//!
//! # Memory that outlives a command
//!
//! A command's bytes are borrowed while its handler runs. What goes on when the future is dropped,
//! such as a send that UCX has begun, needs them for longer: [`Context::hold`] keeps them without a
//! copy.
//!
//! # When futures run
//!
//! A future is polled as soon as its command arrives. One that is pending then is polled again from
//! the worker's next `progress` after it was woken; one that is never woken costs nothing. The
//! handler's own `progress` runs before, and again while it reports that it moved something, a few
//! times at most. A handler whose `progress` panics is not called again: everything pending, and
//! everything that comes later, fails with `UNEXPECTED`.
//!
//! Futures live in slots that are used again and again: once as many slots exist as commands were
//! ever pending together, a command allocates nothing but the two C descriptors that the interface
//! demands. A future that needs more room than its fellows makes every slot larger; box what is
//! large and rare.
//!
//! # Time
//!
//! [`time`] has a clock, sleeping, and limits on how long something may take, all driven by the
//! worker's calls.
//!
//! # Testing
//!
//! With the feature `test-util`, `test_util` drives a plugin in process, through its C methods:
//! typed commands and answers, time that the test moves, several workers in a domain, and an
//! account of every command and every block of memory at the end.
//!
//! # Panics
//!
//! No panic crosses into C: it becomes a code, and one log line says where it happened and what it
//! said. For that `open` puts a panic hook before the one that is there; it keeps quiet about
//! panics inside the plugin's methods and passes on all others. All this takes unwinding, so
//! `panic = "abort"` does not compile unless `#[urom_plugin(abort = "allowed")]` says that taking
//! the whole worker down is meant. Panics in the destructors of futures, handlers and errors are
//! caught as well; one that happens while another panic unwinds aborts the process, as everywhere
//! in Rust.
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
pub use urom_abi::protocol::Armed;
pub use urom_abi::{Data, DocaError, Elements, Payload, Received, Registered};
pub use urom_pdk_derive::{urom_message, urom_plugin};
pub use window::{Take, Window};

/// What nearly every plugin uses: `use urom_pdk::prelude::*;`.
pub mod prelude {
    pub use crate::{Context, DocaError, Error, OpenContext, OrCode, Result, limited, urom_plugin};
}

/// What generated code calls. Not for anyone else: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use urom_abi::DocaError;
    pub use urom_abi::describe::{self, section};
    pub use urom_abi::extension::PluginExtension;
    pub use urom_abi::plugin::{GetIfaceFn, GetVersionFn, PluginIface};
    pub use urom_abi::protocol::Serve;

    pub use crate::described::{build, keep, protocol};
    pub use crate::iface::{extension, get_iface, get_version};
    pub use crate::limited::is_due;

    /// What `urom_message` finds in `urom-abi`. The crate itself would appear in errors of rustc.
    pub mod abi {
        pub use urom_abi::__private;
    }
}
