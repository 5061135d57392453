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
//! A future of this crate that is awaited elsewhere in tokio, with nothing to progress its engine,
//! ends with the error `BAD_STATE` after two to four seconds.
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
mod undriven;

pub use drive::drive;
pub use host_thread::HostThread;
pub(crate) use undriven::{begin_driving, end_driving, is_undriven, look_again, note_progress};
