//! Helpers to test a plugin with its host program (feature `test-util`): they build the plugin's
//! `.so` and `uromd`, and run a service for the test.
//!
//! `cargo test` only builds what the tests link, not other packages' shared objects or programs. So
//! [`plugin`] and [`Uromd::start`] run `cargo build`, with the profile, target and target directory
//! of the running test. If everything is built, this takes a fraction of a second.
//!
//! ```no_run
//! use urom_host::test_util::{Uromd, plugin};
//! use urom_host::{Service, block_on};
//!
//! #[test]
//! fn a_loopback_comes_back() -> urom_host::Result<()> {
//!     let uromd = Uromd::start(plugin("graph-plugin")?)?;
//!     let service = Service::builder().address(uromd.address()).connect_blocking()?;
//!     let graph = service.plugin::<graph_protocol::Protocol>()?;
//!     block_on(async {
//!         let worker = service.worker().plugin(&graph).start().await?;
//!         assert_eq!(graph.task_loopback(&worker, 42).submit()?.await?.data, 42);
//!         worker.stop().await
//!     })
//! }
//! # fn main() {}
//! ```

mod cargo;
mod profile;
mod uromd;

pub use cargo::plugin;
pub use uromd::Uromd;
