//! How soon everybody notices that a peer was killed, stopped or cut off: what the fault suites of `cargo xtask faults` measure, in
//! their short form.

use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use urom_tests::profile_directory;

use super::Suite;
use crate::extent::Extent;
use crate::figure::Figure;

pub(crate) const SUITE: Suite =
    Suite { name: NAME, about: "how soon a peer that is gone is noticed", run, child: None };

const NAME: &str = "losses";
/// Built beside this program.
const PROGRAM: &str = "urom-faults";
/// Its exit code when it has measured everything, and something was noticed too late: the rows say what.
const LATE: i32 = 3;
/// Its suites that lose somebody.
const SUITES: [&str; 2] = ["chaos", "network"];
/// How many rounds it takes until everybody was broken in every way.
const ALL_WAYS: usize = 15;

/// Once: each of these figures is one loss, most of which take seconds. The budgets are about the longest of them.
fn run(_: &Extent) -> Result<Vec<Figure>> {
    let program = profile_directory()?.join(PROGRAM);
    let directory = TempDir::new()?;
    // All at the same time: nearly all of it is waiting.
    let mut running = Vec::new();
    for suite in SUITES {
        let file = directory.path().join(suite);
        let mut command = Command::new(&program);
        command
            .args(["--short", "--rounds", &ALL_WAYS.to_string(), "--json"])
            .arg(&file)
            .arg(suite);
        // Standard output is for the table of budgets.
        command.stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?));
        let process = command.spawn().with_context(|| {
            format!("cannot start {}: `cargo xtask bench` builds it", program.display())
        })?;
        running.push((suite, file, process));
    }
    // Nobody is left to run when one of them fails.
    let ended: Vec<_> = running
        .into_iter()
        .map(|(suite, file, mut process)| (suite, file, process.wait()))
        .collect();
    let mut figures: Vec<Figure> = Vec::new();
    for (suite, file, status) in ended {
        let status = status?;
        ensure!(
            status.success() || status.code() == Some(LATE),
            "`{PROGRAM} {suite}` found a fault, which it has told above: {status}"
        );
        let text = std::fs::read_to_string(&file).context("no figures were written")?;
        let measured: Vec<Figure> = serde_json::from_str(&text).context("these are no figures")?;
        figures.extend(measured.into_iter().filter(|figure| figure.name.starts_with(NAME)));
    }
    Ok(figures)
}
