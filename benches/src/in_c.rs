//! C plugins and hosts of the tests and of these measurements, compiled with optimisation.

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::c::{Source, prefix};

/// UCX's directory at build time; empty if the loader finds UCX by itself.
pub(crate) const UCX_LIBRARIES: &str = env!("UCX_LIBRARIES");

pub(crate) fn name(plugin: &str) -> String {
    format!("worker_{plugin}_in_c")
}

/// A file of `tests/c`, or a path to a file that includes some of these. The result finds DOCA's
/// log from any directory.
pub(crate) fn source(file: &str) -> Result<Source> {
    let source = Source::new(file).flag("-O2");
    let source = source.flag(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../tests/c"));
    Ok(source.flag(format!("-Wl,-rpath,{}", prefix()?.lib().display())))
}

/// Compiles the plugin `graph` or `sandbox`, which finds UCX from any directory.
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
