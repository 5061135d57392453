//! Builds C programs and plugins against the installed prefix and runs them like a user.
//!
//! ```no_run
//! use urom_tests::PluginDirectory;
//! use urom_tests::c::{Host, Service, Source};
//!
//! # fn main() -> anyhow::Result<()> {
//! let mut plugins = PluginDirectory::with(&["worker_sandbox"])?;
//! plugins.add(&Source::new("graph_plugin.c").plugin("worker_graph")?)?;
//! let service = Service::daemon(plugins)?;
//! let host = Source::new("graph_host.c").asan().program()?;
//! let output = Host::new(host).arg("42").run(&service)?.success()?;
//! assert_eq!(output.stdout, "42\n");
//! # Ok(())
//! # }
//! ```

mod compiler;
mod host;
mod prefix;
mod service;
mod source;

pub use compiler::asan_library;
pub use host::{Host, Output, launched};
pub use prefix::{Prefix, prefix};
pub use service::{DEVICE, Service};
pub use source::Source;
