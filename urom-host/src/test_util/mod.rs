//! For tests of a plugin together with its host program (feature `test-util`): the plugin's `.so`
//! and `uromd`, built, and a service of the test's own.
//!
//! `cargo test` builds what the tests link to. It builds no shared object of another package and no
//! program of another workspace, so a test that starts a real service has to: [`plugin`] and
//! [`Uromd::start`] run `cargo build`, in the profile, for the target and into the target directory
//! of the running test. When everything is built that takes a fraction of a second.
//!
//! ```no_run
//! use urom_host::test_util::{Uromd, plugin};
//! use urom_host::{Service, block_on};
//!
//! #[test]
//! fn a_loopback_comes_back() -> urom_host::Result<()> {
//!     let uromd = Uromd::start(plugin("graph-plugin")?)?;
//!     let service = Service::builder().address(uromd.address()).connect()?;
//!     let graph = service.plugin::<graph_protocol::Protocol>()?;
//!     block_on(async {
//!         let worker = service.worker().plugin(&graph).start().await?;
//!         assert_eq!(graph.task_loopback(&worker, 42).submit()?.await?.data, 42);
//!         worker.stop().await
//!     })
//! }
//! # fn main() {}
//! ```
//!
//! DOCA has nothing like it: there, tests take a DPU.

mod cargo;
mod profile;
mod uromd;

pub use cargo::plugin;
pub use uromd::Uromd;
