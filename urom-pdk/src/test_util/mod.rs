//! Test a plugin without a service: in process, step by step, through the C methods that a worker
//! calls.
//!
//! The feature `test-util` has it. It belongs into `[dev-dependencies]`, where it becomes no part
//! of the plugin that is built:
//!
//! ```toml
//! [dev-dependencies]
//! urom-pdk = { version = "0.1", features = ["test-util"] }
//! ```
//!
//! Unit tests of the plugin's crate are the place for it. A `cdylib` cannot be linked into a test
//! under `tests/`, unless it is a `lib` too (`crate-type = ["cdylib", "lib"]`).
//!
//! # A first test
//!
//! ```standalone_crate
//! # mod protocol {
//! #     #[urom_abi::urom_command(plugin = "worker_sum", version = 1)]
//! #     pub enum Command { #[urom(reply = Sum)] Add { value: u64 } }
//! #     #[urom_abi::urom_notification]
//! #     #[derive(Debug, PartialEq)]
//! #     pub enum Notification { Sum { total: u64 } }
//! # }
//! # use protocol::{Add, Handler, Protocol, Sum};
//! # use urom_pdk::prelude::*;
//! # struct Summing { total: std::cell::Cell<u64> }
//! # #[urom_plugin]
//! # impl Handler for Summing {
//! #     fn open(_: &OpenContext) -> Result<Self> { Ok(Summing { total: 0.into() }) }
//! #     async fn add(&self, _: &Context, cmd: Add) -> Result<Sum> {
//! #         let total = self.total.get().checked_add(cmd.value);
//! #         self.total.set(total.ok_or(DocaError::TOO_BIG)?);
//! #         Ok(Sum { total: self.total.get() })
//! #     }
//! # }
//! // Of the plugin on the crate's front page: `#[test] fn sums_add_up()`.
//! use urom_pdk::test_util::Worker;
//!
//! # fn main() {
//! let worker = Worker::<Protocol>::open::<Summing>();
//! assert_eq!(worker.call(Add { value: 40 }), Ok(Sum { total: 40 }));
//! assert_eq!(worker.call(Add { value: 2 }), Ok(Sum { total: 42 }));
//! assert_eq!(worker.call(Add { value: u64::MAX }), Err(DocaError::TOO_BIG));
//! # }
//! ```
//!
//! When the worker goes out of scope, the plugin is closed and the account is looked at: the test
//! panics when a command got no notification, or two, or one that was addressed wrongly, or when
//! memory of a command or a notification was not given back. [`Worker::finish`] gives the same as a
//! [`Report`].
//!
//! # Step by step
//!
//! [`Worker::call`] sends a command and goes on until it was answered. Its parts are there as well,
//! because a plugin that does several things at once is tested by when it does them:
//! [`send`](Worker::send) hands a command over, [`progress`](Worker::progress) is one call of the
//! plugin's method of that name, and [`answer`](Worker::answer) looks for what came. Nothing else
//! moves the plugin.
//!
//! ```standalone_crate
//! # mod protocol {
//! #     #[urom_abi::urom_command(plugin = "worker_bed", version = 1)]
//! #     pub enum Command { #[urom(reply = Slept)] Sleep { seconds: u64 } }
//! #     #[urom_abi::urom_notification]
//! #     #[derive(Debug, PartialEq)]
//! #     pub enum Notification { Slept }
//! # }
//! # use protocol::*;
//! # use std::time::Duration;
//! # use urom_pdk::prelude::*;
//! # struct Bed;
//! # #[urom_plugin]
//! # impl Handler for Bed {
//! #     fn open(_: &OpenContext) -> Result<Self> { Ok(Bed) }
//! #     async fn sleep(&self, _: &Context, cmd: Sleep) -> Result<Slept> {
//! #         urom_pdk::time::sleep(Duration::from_secs(cmd.seconds)).await;
//! #         Ok(Slept)
//! #     }
//! # }
//! # use urom_pdk::test_util::Worker;
//! # fn main() {
//! let worker = Worker::<Protocol>::open::<Bed>();
//! let long = worker.send(Sleep { seconds: 60 });
//! let short = worker.send(Sleep { seconds: 5 });
//! assert_eq!(worker.progress(), 0); // no notification yet
//!
//! // Time stands still, and moves when the test says so.
//! worker.advance(Duration::from_secs(5));
//! assert_eq!(worker.progress(), 1);
//! assert_eq!(worker.answer(&short), Some(Ok(Slept)));
//! worker.advance(Duration::from_secs(55));
//! assert_eq!(worker.wait(long), Ok(Slept));
//! # }
//! ```
//!
//! The clock is that of [`urom_pdk::time`](crate::time); what reads another one does not follow.
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
//!
//! Every notification is packed twice, once with a byte of room too little, to see that the plugin
//! notices.
//!
//! # Plugins that are not this crate's
//!
//! [`Worker::from_iface`] drives a plugin that it knows by its table of methods alone, such as one
//! in C that is linked into the test, and [`Worker::load`] one that was built as a library. Both
//! speak a protocol that was stated in Rust.
//!
//! # Arbitrary messages
//!
//! Every command and notification can be made up: [`Seed`] makes messages of a fuzzer's bytes, and
//! [`seeds`] and [`messages`] are strategies for proptest. Lengths and conditions hold by
//! construction, so what comes is what a host might send; [`send_bytes`](Worker::send_bytes) is for
//! what none would.
//!
//! # Threads
//!
//! A worker belongs to the thread that opened it, as every test has one, and the clock to the
//! thread as well. Plugins may start threads of their own: look-ups and wakers work from there.

mod domain;
mod fault;
mod instance;
mod ledger;
mod library;
mod lookups;
mod members;
mod open;
mod pack;
mod seed;
mod sent;
mod worker;

pub use domain::Domain;
pub use fault::{Asked, Fault, Report};
pub use ledger::Notification;
pub use lookups::Lookup;
pub use members::Buffer;
pub use open::iface;
pub use seed::{Seed, messages, seeds};
pub use sent::{Bytes, Sent};
pub use worker::{CONNECTION, Worker};
