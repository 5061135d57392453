//! Plugins in C, compiled as one for use would be.

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::c::{Source, prefix};

/// What the plugins in C are called: they lie beside those in Rust.
pub(super) const GRAPH: &str = "worker_graph_in_c";
pub(super) const SANDBOX: &str = "worker_sandbox_in_c";

/// The loopback plugin. It finds DOCA's log in the prefix, whoever loads it.
///
/// # Errors
/// When it does not compile.
pub(super) fn graph_plugin() -> Result<PathBuf> {
    plugin(Source::new("graph_plugin.c"), GRAPH)
}

/// The sandbox plugin, which has UCX of its own: the worker's library.
///
/// # Errors
/// When it does not compile.
pub(super) fn sandbox_plugin() -> Result<PathBuf> {
    plugin(Source::new("sandbox_plugin.c").ucx(), SANDBOX)
}

fn plugin(source: Source, name: &str) -> Result<PathBuf> {
    let libraries = prefix()?.lib();
    source.flag("-O2").flag(format!("-Wl,-rpath,{}", libraries.display())).plugin(name)
}
