//! What only C programs call in `libdoca_urom.so`, with the address sanitizer and without.

mod argp;
mod common;

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::PluginDirectory;
use urom_tests::c::{Service, Source};

fn programs(file: &str) -> Result<Vec<PathBuf>> {
    Source::new(file).each_way().iter().map(Source::program).collect()
}

/// Where programs run; they start no service unless they ask for it.
fn surroundings() -> Result<Service> {
    Service::embedded(PluginDirectory::with(&[])?)
}
