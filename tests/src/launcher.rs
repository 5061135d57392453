//! Open MPI's launcher, and rendezvous addresses for processes without a launcher.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use anyhow::{Context, Result};

use crate::command::without_service;

/// `mpirun` of this many processes on this machine; the program follows. Each test needs its own
/// `directory`: a finishing `mpirun` removes files that another `mpirun` needs.
pub fn mpirun(processes: u32, directory: &Path) -> Command {
    let mut command = Command::new("mpirun");
    without_service(&mut command).env("OMPI_MCA_orte_tmpdir_base", directory);
    // The timeout ends a group that lacks a participant: MPI would wait forever.
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
    command.args(["--timeout", "300", "-np", &processes.to_string()]);
    command
}

/// Returns an address that was free. Its port is below the kernel's ephemeral ports, which UCX
/// uses.
pub fn free_address() -> Result<String> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() as u16;
    let next = || first.wrapping_add(NEXT.fetch_add(1, Relaxed)) % 12_000;
    std::iter::repeat_with(|| format!("127.0.0.1:{}", 20_000 + next()))
        .take(100)
        .find(|address| TcpListener::bind(address).is_ok())
        .context("a hundred ports in a row are taken")
}
