//! The examples of the help.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use urom_tests::profile_directory;

use crate::common::{daemon, in_c, run, rust, tool_says, with_doca};

/// A shell runs each example in a directory with the plugins that the examples name, beside a
/// service. What follows a `|` or a `>` is left out.
#[test]
fn the_examples_of_the_help_work() -> Result<()> {
    let place = tempfile::tempdir()?;
    let built = place.path().join("target/release/urom");
    fs::create_dir_all(&built)?;
    std::os::unix::fs::symlink(profile_directory()?, place.path().join("target/debug"))?;
    fs::copy(rust("worker_graph")?, built.join("worker_graph.so"))?;
    fs::copy(in_c("worker_graph")?, place.path().join("worker_graph.so"))?;
    let (daemon, _plugins) = daemon(&["worker_graph"])?;
    let program = profile_directory()?.join("cargo-urom");
    let program = format!("{} urom", program.to_str().context("a path in UTF-8")?);
    for (verb, count) in [("call", 8), ("check", 3), ("inspect", 3)] {
        let help = tool_says([verb, "--help"])?.good()?;
        let (_, examples) = help.split_once("Examples:\n").context("no examples")?;
        let examples: Vec<_> = examples.lines().map_while(|line| line.strip_prefix("  ")).collect();
        ensure!(examples.len() == count, "{examples:?}");
        for example in examples {
            let line = example.split(['|', '>']).next().unwrap_or_default();
            let line = line.replace("cargo urom", &program);
            let line = line.replace("127.0.0.1:18700", daemon.address());
            let mut shell = Command::new("bash");
            shell.args(["-c", &line]).current_dir(place.path()).stdin(Stdio::null());
            let said = run(with_doca(&mut shell)?)?;
            // A plugin of this machine does not fit a BlueField's image, unless both are AArch64.
            let fits = !example.contains("--image") || std::env::consts::ARCH == "aarch64";
            ensure!(said.code == Some(i32::from(!fits)), "{example}: {said:?}");
        }
    }
    Ok(())
}
