//! Waiting in tokio (feature `tokio`).
//!
//! A progress engine, its workers and their tasks belong to one thread. Two ways to use them:
//!
//! - [`drive`] is [`block_on`](crate::block_on) for tokio: it progresses the engines of its thread
//!   while a future waits. It runs where futures stay on their thread: in `#[tokio::main]` itself,
//!   with any flavor of the runtime, and in a [`LocalSet`](tokio::task::LocalSet).
//! - [`HostThread`] is a handle for tasks of any thread, such as the handlers of a server. It sends
//!   closures to a thread with its own workers and engine.
//!
//! A future of this crate awaited elsewhere in tokio progresses its own engine and is polled
//! continuously until it ends: it works, but keeps a processor busy.
//!
//! ```no_run
//! use urom_host::Service;
//! use urom_host::tokio::drive;
//!
//! #[tokio::main]
//! async fn main() -> urom_host::Result<()> {
//!     drive(async {
//!         let service = Service::connect().await?;
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
    /// Number of waits and drivers that progress this thread's engines.
    static DRIVING: Cell<u32> = const { Cell::new(0) };
}

#[inline]
pub(crate) fn begin_driving() {
    DRIVING.set(DRIVING.get() + 1);
}

#[inline]
pub(crate) fn end_driving() {
    DRIVING.set(DRIVING.get() - 1);
}

/// Polls a pending future again at once, if nothing else in tokio would progress its engine.
pub(crate) fn look_again(cx: &Context<'_>) {
    if DRIVING.get() == 0 && ::tokio::runtime::Handle::try_current().is_ok() {
        cx.waker().wake_by_ref();
    }
}
