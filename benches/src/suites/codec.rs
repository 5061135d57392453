//! Instructions of writing and reading each kind of command, against a pack by hand in C: what the program `codec` counts.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use urom_tests::profile_directory;

use super::Suite;
use crate::extent::Extent;
use crate::figure::Figure;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "instructions to write and read each kind of command, against C",
    run,
    child: None,
};

const NAME: &str = "codec";
/// Built beside this program.
const PROGRAM: &str = "codec";

/// Once: instructions do not differ from launch to launch.
fn run(_: &Extent) -> Result<Vec<Figure>> {
    let program = profile_directory()?.join(PROGRAM);
    let mut command = Command::new(&program);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| {
        format!("cannot start {}: `cargo xtask bench` builds it", program.display())
    })?;
    ensure!(output.status.success(), "{} ended with {}", program.display(), output.status);
    let figures: Vec<Figure> = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{} printed no figures", program.display()))?;
    ensure!(!figures.is_empty(), "{} measured nothing", program.display());
    Ok(figures)
}
