//! Figures of `cargo xtask faults`: the time until all peers notice a killed, stopped or cut-off
//! process, and the maximum numbers of workers and plugins.

use std::fs::read_to_string;
use std::io::stderr;
use std::os::fd::AsFd;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use urom_tests::built;

use crate::figure::Figure;
use crate::launch::Launch;

const PROGRAM: &str = "urom-faults";
/// The program's exit code if all was measured and a loss was noticed too late.
const LATE: i32 = 3;
/// The short form, with enough rounds to break every process in every way.
const SHORT: &[&str] = &["--short", "--rounds", "15"];

pub(super) fn losses(_: &Launch) -> Result<Vec<Figure>> {
    figures("losses", &["chaos", "network"], SHORT)
}

pub(super) fn scale(launch: &Launch) -> Result<Vec<Figure>> {
    // The short form has other numbers, and the full form takes more than a minute.
    if launch.quick { Ok(Vec::new()) } else { figures("scale", &["scale"], &[]) }
}

/// Runs fault suites in parallel, because they mostly wait, and takes the figures of `name`.
fn figures(name: &str, suites: &[&str], arguments: &[&str]) -> Result<Vec<Figure>> {
    let program = built(PROGRAM)?;
    let directory = TempDir::new()?;
    let start = |suite: &&str| {
        let mut command = Command::new(&program);
        command.args(arguments).args([*suite, "--json"]).arg(directory.path().join(suite));
        Ok(command.stdout(stderr().as_fd().try_clone_to_owned()?).spawn()?)
    };
    let running = suites.iter().map(start).collect::<Result<Vec<_>>>()?;
    // All suites end before the first error returns.
    let ended: Vec<_> = running.into_iter().map(|mut process| process.wait()).collect();
    let mut figures: Vec<Figure> = Vec::new();
    for (suite, status) in suites.iter().zip(ended) {
        let status = status?;
        ensure!(
            status.success() || status.code() == Some(LATE),
            "`{PROGRAM} {suite}` found a fault, printed above: {status}"
        );
        let text =
            read_to_string(directory.path().join(suite)).context("no figures were written")?;
        let measured: Vec<Figure> = serde_json::from_str(&text).context("malformed figures")?;
        figures.extend(measured.into_iter().filter(|figure| figure.name.starts_with(name)));
    }
    Ok(figures)
}
