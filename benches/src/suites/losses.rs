//! The time until everybody knows that a peer was killed, stopped or cut off: measured by the fault
//! suites of `cargo xtask faults`, in their short form.

use std::fs::read_to_string;
use std::io::stderr;
use std::os::fd::AsFd;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use urom_tests::built;

use super::{Part, Suite};
use crate::figure::Figure;
use crate::launch::Launch;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "how soon the loss of a peer is noticed",
    // Each figure is one loss, most of which take seconds.
    parts: &[Part::once(measure)],
    process: None,
};

const NAME: &str = "losses";
/// The suites that lose peers, of a program that is built beside this one.
const PROGRAM: &str = "urom-faults";
const SUITES: [&str; 2] = ["chaos", "network"];
/// The program's exit code when everything was measured and a loss was noticed too late.
const LATE: i32 = 3;
/// The rounds until every process was broken in every way.
const ALL_WAYS: &str = "15";

fn measure(_: &Launch) -> Result<Vec<Figure>> {
    let program = built(PROGRAM)?;
    let directory = TempDir::new()?;
    let start = |suite| {
        let mut command = Command::new(&program);
        command.args(["--short", "--rounds", ALL_WAYS, suite, "--json"]);
        command.arg(directory.path().join(suite));
        // Standard output is for figures.
        Ok(command.stdout(stderr().as_fd().try_clone_to_owned()?).spawn()?)
    };
    // Both at the same time: they mostly wait.
    let running = SUITES.map(start).into_iter().collect::<Result<Vec<_>>>()?;
    // All end before the first error counts.
    let ended: Vec<_> = running.into_iter().map(|mut process| process.wait()).collect();
    let mut figures: Vec<Figure> = Vec::new();
    for (suite, status) in SUITES.into_iter().zip(ended) {
        let status = status?;
        ensure!(
            status.success() || status.code() == Some(LATE),
            "`{PROGRAM} {suite}` found a fault, printed above: {status}"
        );
        let text =
            read_to_string(directory.path().join(suite)).context("no figures were written")?;
        let measured: Vec<Figure> = serde_json::from_str(&text).context("malformed figures")?;
        figures.extend(measured.into_iter().filter(|figure| figure.name.starts_with(NAME)));
    }
    Ok(figures)
}
