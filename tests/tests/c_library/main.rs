//! Calls into `libdoca_urom.so` that only C programs make, with and without the address sanitizer.

mod argp;
mod common;

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::PluginDirectory;
use urom_tests::c::{Service, Source};

fn programs(file: &str) -> Result<Vec<PathBuf>> {
    Source::new(file).each_way().iter().map(Source::program).collect()
}

fn surroundings() -> Result<Service> {
    Service::embedded(PluginDirectory::with(&[])?)
}
