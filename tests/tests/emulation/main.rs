//! Exported memory without an RDMA device: `liburom_ucx_emulation.so`, preloaded into programs in C
//! that call UCX as NVIDIA's RDMO application and UCC's UROM client and plugin do.

mod handles;
mod memory;
mod programs;

use anyhow::{Result, ensure};
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Output, Service, Source, prefix};

const EMULATED: &str = "without an RDMA device, UCX's exported memory handles are emulated";

fn preloaded(source: &Source, arguments: &[&str]) -> Result<Host> {
    let host = Host::new(source.program()?).env("LD_PRELOAD", prefix()?.emulation());
    Ok(arguments.iter().fold(host, |host, argument| host.arg(argument)))
}

fn run(host: &Host) -> Result<Output> {
    host.run(&Service::embedded(PluginDirectory::with(&[])?)?)
}

fn well(host: &Host) -> Result<String> {
    let output = run(host)?.success()?;
    ensure!(output.stdout == "all is well\n", "{}{}", output.stdout, output.stderr);
    Ok(output.stderr)
}

fn count(log: &str, part: &str) -> usize {
    log.lines().filter(|line| line.contains(part)).count()
}
