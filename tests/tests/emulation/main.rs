//! Exported memory without an RDMA device: `liburom_ucx_emulation.so`, preloaded into programs in C
//! that call UCX as NVIDIA's RDMO application and UCC's UROM client and plugin do.

mod handles;
mod memory;
mod programs;

use anyhow::{Result, ensure};
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Output, Service, Source, prefix};

/// What the library says in a program that has UCX.
const EMULATED: &str = "there is no RDMA device: UCX's exported memory handles are emulated";

/// One test of a program in C, with the library preloaded.
fn preloaded(source: &Source, arguments: &[&str]) -> Result<Host> {
    let host = Host::new(source.program()?).env("LD_PRELOAD", prefix()?.emulation());
    Ok(arguments.iter().fold(host, |host, argument| host.arg(argument)))
}

/// Runs a program that uses no service.
fn run(host: &Host) -> Result<Output> {
    host.run(&Service::embedded(PluginDirectory::with(&[])?)?)
}

/// The same of one that must find everything well.
fn well(host: &Host) -> Result<String> {
    let output = run(host)?.success()?;
    ensure!(output.stdout == "all is well\n", "{}{}", output.stdout, output.stderr);
    Ok(output.stderr)
}

/// How often a line says this.
fn count(log: &str, part: &str) -> usize {
    log.lines().filter(|line| line.contains(part)).count()
}
