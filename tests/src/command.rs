//! Commands that must succeed, and what they find in the environment.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Removes the variables that name services, plugins and libraries, and that say how long a peer
/// may be silent.
pub fn without_service(command: &mut Command) -> &mut Command {
    for name in [
        "DOCA_UROM_SERVICE_FILE",
        "UROM_SERVICE_PORT",
        "UROM_DEVICE",
        "UROM_PLUGIN_PATH",
        "UROM_CPUS",
        "UROM_KEY_FILE",
        "UROM_PATIENCE",
        "UROM_DOCA_LIBRARY",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs a command that must succeed, and returns its standard output.
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

/// Copies a program that a test runs. `cp` writes it: with `fs::copy`, a process that another
/// thread forks meanwhile inherits the descriptor, and `exec` of the copy fails with `ETXTBSY`.
pub fn copy_program(from: &Path, to: &Path) -> Result<()> {
    run(Command::new("cp").arg("--preserve=mode").args([from, to])).map(drop)
}
