//! Open MPI's launcher, and places where processes without one meet.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use anyhow::{Context, Result};

use crate::command::without_service;

/// `mpirun` of this many processes on this machine; the program follows. Each test gives a
/// `directory` of its own for Open MPI's files. In a common one, an `mpirun` that ends removes the
/// files of another that starts.
pub fn mpirun(processes: u32, directory: &Path) -> Command {
    let mut command = Command::new("mpirun");
    without_service(&mut command).env("OMPI_MCA_orte_tmpdir_base", directory);
    // The time limit ends a group that lacks a participant: MPI itself waits for ever.
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
    command.args(["--timeout", "300", "-np", &processes.to_string()]);
    command
}

/// An address that was free a moment ago. Its port is below the ports that the kernel hands out,
/// because UCX of other processes takes those all the time.
pub fn free_place() -> Result<String> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() as u16;
    let next = || first.wrapping_add(NEXT.fetch_add(1, Relaxed)) % 12_000;
    std::iter::repeat_with(|| format!("127.0.0.1:{}", 20_000 + next()))
        .take(100)
        .find(|place| TcpListener::bind(place).is_ok())
        .context("a hundred ports in a row are taken")
}
