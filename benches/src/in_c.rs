//! The tests' plugins in C, compiled as C is for use.

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::c::{Source, prefix};

/// The directory of UCX when this crate was built; empty when the loader finds it by itself.
pub(crate) const UCX_LIBRARIES: &str = env!("UCX_LIBRARIES");

/// The plugin's name for the service: it lies beside that in Rust.
pub(crate) fn name(plugin: &str) -> String {
    format!("worker_{plugin}_in_c")
}

/// Compiles the plugin `graph` or `sandbox`. It finds DOCA's log and UCX wherever it is loaded.
pub(crate) fn plugin(plugin: &str) -> Result<PathBuf> {
    let mut source = Source::new(format!("{plugin}_plugin.c")).flag("-O2");
    source = source.flag(format!("-Wl,-rpath,{}", prefix()?.lib().display()));
    if plugin == "sandbox" {
        source = source.ucx();
        if !UCX_LIBRARIES.is_empty() {
            source = source.flag(format!("-Wl,-rpath,{UCX_LIBRARIES}"));
        }
    }
    source.plugin(&name(plugin))
}
