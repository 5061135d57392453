//! Plugins and hosts in C, of the tests and of these measurements, compiled as C is for use.

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::c::{Source, prefix};

/// The directory of UCX when this crate was built; empty when the loader finds it by itself.
pub(crate) const UCX_LIBRARIES: &str = env!("UCX_LIBRARIES");

/// The plugin's name for the service: it lies beside that in Rust.
pub(crate) fn name(plugin: &str) -> String {
    format!("worker_{plugin}_in_c")
}

/// A file of `tests/c`, or a path to another file that includes some of these. The plugin or
/// program finds DOCA's log wherever it lies.
pub(crate) fn source(file: &str) -> Result<Source> {
    let source = Source::new(file).flag("-O2");
    let source = source.flag(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../tests/c"));
    Ok(source.flag(format!("-Wl,-rpath,{}", prefix()?.lib().display())))
}

/// Compiles the plugin `graph` or `sandbox`. It finds UCX, too, wherever it is loaded.
pub(crate) fn plugin(plugin: &str) -> Result<PathBuf> {
    let mut source = source(&format!("{plugin}_plugin.c"))?;
    if plugin == "sandbox" {
        source = source.ucx();
        if !UCX_LIBRARIES.is_empty() {
            source = source.flag(format!("-Wl,-rpath,{UCX_LIBRARIES}"));
        }
    }
    source.plugin(&name(plugin))
}
