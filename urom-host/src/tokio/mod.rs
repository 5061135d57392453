//! Waiting in tokio (feature `tokio`).
//!
//! A progress engine, its workers and their tasks belong to one thread. There are two ways to use
//! them in tokio:
//!
//! - [`drive`] does for a future of tokio's what [`block_on`](crate::block_on) does without: it
//!   progresses the engines of its thread while the future waits. It runs where futures stay on
//!   their thread: in `#[tokio::main]` itself, whatever the runtime's flavor, and in a
//!   [`LocalSet`](tokio::task::LocalSet).
//! - [`HostThread`] is a handle that any task of any thread may use, such as the handlers of a
//!   server. It sends closures to a thread that has workers and an engine of its own.
//!
//! A future of this crate that is awaited elsewhere in tokio progresses its own engine, and has
//! itself polled without a pause until it ends: it works, and uses a processor meanwhile.
//!
//! ```no_run
//! use urom_host::Service;
//! use urom_host::tokio::drive;
//!
//! #[tokio::main]
//! async fn main() -> urom_host::Result<()> {
//!     drive(async {
//!         let service = Service::connect()?;
//!         let graph = service.plugin::<graph_protocol::Protocol>()?;
//!         let worker = service.worker().plugin(&graph).start().await?;
//!         assert_eq!(graph.task_loopback(&worker, 42).submit()?.await?.data, 42);
//!         worker.stop().await
//!     })
//!     .await
//! }
//! ```

mod drive;
mod host_thread;

pub use drive::drive;
pub use host_thread::HostThread;

use std::cell::Cell;
use std::task::Context;

thread_local! {
    /// How many waits and drivers progress this thread's engines.
    static DRIVING: Cell<u32> = const { Cell::new(0) };
}

/// Notes that a wait or a driver progresses this thread's engines until [`end_driving`].
#[inline]
pub(crate) fn begin_driving() {
    DRIVING.set(DRIVING.get() + 1);
}

#[inline]
pub(crate) fn end_driving() {
    DRIVING.set(DRIVING.get() - 1);
}

/// Has a pending future polled again at once, if nothing else in tokio would progress its engine.
pub(crate) fn look_again(cx: &Context<'_>) {
    if DRIVING.get() == 0 && ::tokio::runtime::Handle::try_current().is_ok() {
        cx.waker().wake_by_ref();
    }
}
