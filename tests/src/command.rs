//! Commands that must succeed, and their environment.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Removes the variables that select services, plugins and libraries, and the timeout for silent
/// peers.
pub fn without_service(command: &mut Command) -> &mut Command {
    for name in [
        "DOCA_UROM_SERVICE_FILE",
        "UROM_SERVICE_PORT",
        "UROM_DEVICE",
        "UROM_PLUGIN_PATH",
        "UROM_CPUS",
        "UROM_KEY_FILE",
        "UROM_PEER_TIMEOUT",
        "UROM_DOCA_LIBRARY",
    ] {
        command.env_remove(name);
    }
    command
}

pub fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| {
        format!("cannot start {command:?}: `cargo xtask setup` installs what tests need")
    })?;
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    if !output.status.success() {
        bail!("{command:?}: {}\n{out}{err}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} prints no UTF-8"))
}

/// Copies a program for a test with `cp`: with `fs::copy`, a process forked by another thread
/// inherits the descriptor, and `exec` of the copy fails with `ETXTBSY`.
pub fn copy_program(from: &Path, to: &Path) -> Result<()> {
    run(Command::new("cp").arg("--preserve=mode").args([from, to])).map(drop)
}
