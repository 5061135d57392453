//! Tests a plugin without a service: in process, step by step, through its C methods.
//!
//! Enable the feature `test-util` in `[dev-dependencies]`, so it is not part of the plugin:
//!
//! ```toml
//! [dev-dependencies]
//! urom-pdk = { version = "0.1", features = ["test-util"] }
//! ```
//!
//! Use unit tests in the plugin's crate: tests under `tests/` cannot link a `cdylib`, unless it is
//! also a `lib` (`crate-type = ["cdylib", "lib"]`).
//!
//! ```standalone_crate
//! # mod protocol {
//! #     #[urom_abi::urom_command(plugin = "worker_bed", version = 1)]
//! #     pub enum Command { #[urom(reply = Slept)] Sleep { seconds: u64 } }
//! #     #[urom_abi::urom_notification]
//! #     #[derive(Debug, PartialEq)]
//! #     pub enum Notification { Slept { seconds: u64 } }
//! # }
//! # use protocol::*;
//! # use std::time::Duration;
//! # use urom_pdk::prelude::*;
//! # struct Bed;
//! # #[urom_plugin]
//! # impl Handler for Bed {
//! #     fn open(_: &OpenContext) -> Result<Self> { Ok(Bed) }
//! #     async fn sleep(&self, _: &Context, Sleep { seconds }: Sleep) -> Result<Slept> {
//! #         urom_pdk::time::sleep(Duration::from_secs(seconds)).await;
//! #         Ok(Slept { seconds })
//! #     }
//! # }
//! # use urom_pdk::test_util::Worker;
//! # fn main() {
//! let worker = Worker::<Protocol>::open::<Bed>();
//! // Sends a command, and goes on until it was answered.
//! assert_eq!(worker.call(Sleep { seconds: 0 }), Ok(Slept { seconds: 0 }));
//!
//! // Or step by step: nothing else moves the plugin.
//! let long = worker.send(Sleep { seconds: 60 });
//! let short = worker.send(Sleep { seconds: 5 });
//! assert_eq!(worker.progress(), 0); // no notification yet
//!
//! // Time stands still, and moves when the test says so.
//! worker.advance(Duration::from_secs(5));
//! assert_eq!(worker.progress(), 1);
//! assert_eq!(worker.answer(&short), Some(Ok(Slept { seconds: 5 })));
//! worker.advance(Duration::from_secs(55));
//! assert_eq!(worker.wait(long), Ok(Slept { seconds: 60 }));
//! # }
//! ```
//!
//! Dropping the worker closes the plugin and panics on faults: a command without a notification,
//! with two or with a wrongly addressed one, leaked memory of commands or notifications, or a
//! host's memory that is still open. [`Worker::finish`] returns them as a [`Report`].
//!
//! # Several workers
//!
//! Workers of a [`Domain`] find each other by the test's ids: the handlers' `address` and the
//! [buffers](Domain::add_buffer) of simulated hosts. Each worker has its own plugin instance. UCX
//! works within the process: a wait in one worker lets all workers of its domain make progress.
//!
//! # Failures
//!
//! | situation | method |
//! | --- | --- |
//! | a malformed command | [`send_bytes`](Worker::send_bytes) |
//! | commands of several hosts | [`send_from`](Worker::send_from) |
//! | a failing look-up | [`fail_lookup`](Worker::fail_lookup) |
//! | answers longer than a message | [`set_message_limit`](Worker::set_message_limit) |
//! | a full C heap | [`fill_c_heap`](Worker::fill_c_heap) |
//! | a worker that ends early | [`close`](Worker::close) |
//! | a host that cancels or leaves | [`cancel`](Worker::cancel), [`leave`](Worker::leave) |
//! | a host with a deadline | [`send_within`](Worker::send_within) |
//! | a host that reads an error's text | [`failure`](Worker::failure) |
//! | a host's memory, on each path, slow or failing | [`share`](Worker::share), [`SharedMemory`] |
//! | NVIDIA's worker, without the last four | [`from_watched_iface`](Worker::from_watched_iface) |
//!
//! [`Seed`] makes arbitrary messages from a fuzzer's bytes; [`seeds`] and [`messages`] are
//! strategies for proptest. The messages are valid: their lengths and conditions hold.
//!
//! # Recordings
//!
//! A [`Recording`] of a service is a test: it sends the recorded commands to the plugin, and compares
//! the answers.
//!
//! # Threads
//!
//! A worker and the clock of [`urom_pdk::time`](crate::time) belong to the thread that opened the
//! worker. Look-ups and wakers work from threads of plugins.

mod domain;
mod fault;
mod instance;
mod ledger;
mod library;
mod lookups;
mod members;
mod memory;
mod open;
mod pack;
mod player;
mod recording;
mod seed;
mod sent;
mod services;
mod shared;
mod worker;

pub use domain::Domain;
pub use fault::{Asked, Fault, Kept, Report};
pub use ledger::Notification;
pub use lookups::Lookup;
pub use members::Buffer;
pub use open::iface;
pub use recording::{Difference, Recording, Replay};
pub use seed::{Seed, messages, seeds};
pub use sent::{Bytes, Sent};
pub use shared::SharedMemory;
pub use urom_recording::ReadError;
pub use worker::{CONNECTION, Worker};
