//! Plugins in C, compiled as one for use would be.

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::c::{Source, prefix};

/// What the loopback plugin in C is called: it lies beside that in Rust.
const NAME: &str = "worker_graph_in_c";

/// The loopback plugin. It finds DOCA's log in the prefix, whoever loads it.
///
/// # Errors
/// When it does not compile.
pub(super) fn graph_plugin() -> Result<PathBuf> {
    let libraries = prefix()?.lib();
    Source::new("graph_plugin.c").flag("-O2").flag(format!("-Wl,-rpath,{}", libraries.display())).plugin(NAME)
}
