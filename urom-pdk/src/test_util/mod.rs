//! Test a plugin without a service: in process, step by step, through the C methods that a worker
//! calls.
//!
//! The feature `test-util` has it. In `[dev-dependencies]` it becomes no part of the plugin:
//!
//! ```toml
//! [dev-dependencies]
//! urom-pdk = { version = "0.1", features = ["test-util"] }
//! ```
//!
//! Unit tests of the plugin's crate are the place for it: a `cdylib` cannot be linked into a test
//! under `tests/`, unless it is a `lib` too (`crate-type = ["cdylib", "lib"]`).
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
//! When the worker goes out of scope, the plugin is closed and the account is looked at: the test
//! panics when a command got no notification, or two, or one that was addressed wrongly, or when
//! memory of a command or a notification was not given back, or a host's memory was left open.
//! [`Worker::finish`] gives the same as a
//! [`Report`].
//!
//! # Several workers
//!
//! Workers of a [`Domain`] find each other by the ids that the test gives them: their addresses,
//! which come from the handlers' `address`, and [buffers](Domain::add_buffer) of their host
//! programs, which the test makes up. Each worker has an instance of the plugin of its own. Plugins
//! that talk over UCX do so here, within the process: while one worker waits for an answer, all of
//! its domain make progress.
//!
//! # When things go wrong
//!
//! | what a plugin must stand | here |
//! | --- | --- |
//! | bytes that are no command | [`send_bytes`](Worker::send_bytes) |
//! | commands of several hosts | [`send_from`](Worker::send_from) |
//! | a look-up that fails | [`fail_lookup`](Worker::fail_lookup) |
//! | answers longer than a message | [`set_message_limit`](Worker::set_message_limit) |
//! | a C heap without room | [`fill_c_heap`](Worker::fill_c_heap) |
//! | a worker that ends in the middle | [`close`](Worker::close) |
//! | a host that waits no more, or is gone | [`cancel`](Worker::cancel), [`leave`](Worker::leave) |
//! | a host with a deadline | [`send_within`](Worker::send_within) |
//! | a host that reads why a command failed | [`failure`](Worker::failure) |
//! | a host's memory, on each path, slow or failing | [`share`](Worker::share), [`SharedMemory`] |
//! | NVIDIA's worker, which knows of neither | [`from_watched_iface`](Worker::from_watched_iface) |
//!
//! [`Seed`] makes arbitrary messages of a fuzzer's bytes, and [`seeds`] and [`messages`] are
//! strategies for proptest: their lengths and conditions hold, so they are what a host might send.
//!
//! # Threads
//!
//! A worker belongs to the thread that opened it, and the clock, that of
//! [`urom_pdk::time`](crate::time), to the thread as well. Plugins may start threads of their own:
//! look-ups and wakers work from there.

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
pub use seed::{Seed, messages, seeds};
pub use sent::{Bytes, Sent};
pub use shared::SharedMemory;
pub use worker::{CONNECTION, Worker};
