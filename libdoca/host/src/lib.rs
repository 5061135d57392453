//! The host library: DOCA's C interface over this project's service.
//!
//! [`api`] gives the table of functions that `urom-host` calls, and that `libdoca_urom.so` exports.
//! The `devinfo_*` are not in it: only C programs call them.
//!
//! Three parts that share as little as they can:
//!
//! - a **progress engine** (`pe`) with its contexts and tasks belongs to one thread at a time and
//!   holds no lock. Its UCX worker (`transport`) carries the frames of all worker contexts
//!   connected to it, told apart by channel.
//! - one **control thread** (`control_thread`) for the process carries the streams to daemons and
//!   workers and their heartbeats, so that nothing depends on a host that progresses.
//! - a **mailbox** per progress engine is all that the two share: events go in on one side and come
//!   out in `doca_pe_progress`.
//!
//! What the host's calls mean is written at [`urom_abi::host::Api`]; where DOCA leaves a choice,
//! this is taken:
//!
//! - `doca_pe_progress` inside a callback does nothing and returns 0.
//! - A worker's `doca_ctx_stop` is always asynchronous; a service's is synchronous unless group
//!   queries are allocated, and `IN_USE` while a worker of it is not idle. Stopping what is idle
//!   succeeds.
//! - A lost peer takes its context from RUNNING to STOPPING at once; tasks in flight complete with
//!   `CONNECTION_RESET` (killed) or `TIME_OUT` (silent), then, once every task is released, it is
//!   IDLE. Flushing by `doca_ctx_stop` gives `SHUTDOWN`.
//! - `doca_urom_worker_set_max_inflight_tasks` takes any number from 1 to 65536, not only powers of
//!   two; 32 unless set.
//! - A worker without an id asks for any. Its id can be read once it runs, one that was set at any
//!   time.
//! - `doca_buf_set_data` outside of the buffer is `INVALID_VALUE`; for hosts that do not look,
//!   submit then says `TOO_BIG` (or `INVALID_VALUE`).
//! - A domain's out-of-band functions are called by progress only, and `req_free` by a stop as
//!   well. A call that fails takes the domain to IDLE with the function's code. Its stop waits, for
//!   a second at most, until its workers' plugins find nothing of it any more. A worker that goes
//!   while a domain runs leaves the domain running.

mod address;
mod bell;
mod buf;
mod channels;
mod control_thread;
mod daemon_link;
mod device;
mod event;
mod exchange;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod handle;
mod health;
mod list;
mod memory;
mod order;
mod outbox;
mod pe;
mod running;
mod service_file;
mod shell;
mod stream;
mod table;
mod worker_link;

pub use table::{API, api, devinfo_get_iface_name, devinfo_is_equal_pci_addr};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;
