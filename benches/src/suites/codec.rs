//! Instructions of messages and plugins, against the same in C: the figures of the program `codec`.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use urom_tests::built;

use super::{Part, Suite};
use crate::figure::Figure;
use crate::launch::Launch;

pub(crate) const SUITE: Suite = Suite {
    name: "codec",
    about: "instructions of each kind of command, and of whole plugins, against C",
    // Instructions do not differ from launch to launch.
    parts: &[Part::once(measure)],
    process: None,
};

fn measure(_: &Launch) -> Result<Vec<Figure>> {
    let mut command = Command::new(built("codec")?);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "codec ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("codec printed no figures")
}
