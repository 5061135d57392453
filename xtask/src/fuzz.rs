//! `cargo xtask fuzz`: runs the fuzz targets, and merges their findings.

use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::directory::files_below;
use crate::workspace::Workspace;
use crate::{setup, shell, tools};

/// Longest input: slightly more than the default message size, or a program of some steps.
const MAX_LEN: usize = 4200;
const LONG_PROGRAM: usize = 1024;

const SOURCES: &str = "fuzz_targets";

pub(crate) enum FuzzTask {
    /// Runs each target, with the address sanitizer or, five times as fast, without.
    Run { inputs: u64, sanitized: bool },
    /// Adds new inputs that increase the coverage to the committed inputs.
    Merge,
}

/// Works on one target or on all; stops at the first failure.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>, task: &FuzzTask) -> Result<()> {
    let directory = workspace.root.join("fuzz");
    let targets = targets(&directory)?;
    let chosen: Vec<_> =
        targets.iter().filter(|name| only.is_none_or(|only| only == *name)).collect();
    if chosen.is_empty() {
        bail!("no fuzz target `{}`: there are {}", only.unwrap_or_default(), targets.join(", "));
    }
    // Some targets need UCX.
    setup::run(workspace, None)?;
    let program = tools::FUZZ.install(workspace)?;
    let path = shell::path_behind(program.parent().map(Path::to_owned))?;
    let build = workspace.target_dir.join("fuzz");
    for target in chosen {
        let committed = directory.join("corpus").join(target);
        let found = build.join("corpus").join(target);
        for made in [&committed, &found] {
            fs::create_dir_all(made)?;
        }
        let sanitizer =
            if matches!(task, FuzzTask::Run { sanitized: false, .. }) { "none" } else { "address" };
        let fuzz = |verb| {
            // Sanitizers and coverage are unstable features.
            let mut command = shell::cargo();
            command.env("PATH", &path).env("RUSTC_BOOTSTRAP", "1");
            command.args(["fuzz", verb, "--sanitizer", sanitizer, "--fuzz-dir"]).arg(&directory);
            command.arg("--target-dir").arg(&build).arg(target);
            command
        };
        // A separate build, so a failed run is a failed input.
        shell::run(&mut fuzz("build"))?;
        let mut command = fuzz("run");
        match task {
            // New inputs are written to the first directory.
            FuzzTask::Run { inputs, .. } => {
                command.args([&found, &committed]).arg("--").arg(format!("-runs={inputs}"))
            }
            FuzzTask::Merge => command.args([&committed, &found]).args(["--", "-merge=1"]),
        };
        let has_plugins = target == "worker_cmd";
        let longest = if has_plugins { LONG_PROGRAM } else { MAX_LEN };
        command.arg(format!("-max_len={longest}")).arg("-print_final_stats=1");
        if has_plugins {
            // Hides the log of plugins that fail on purpose. Other targets report failures there.
            command.arg("-close_fd_mask=2");
        }
        command.env("UROM_FUZZ_FAILURES", directory.join("artifacts").join(target));
        let source = directory.join(SOURCES).join(target).with_extension("rs");
        let test = match fs::read_to_string(source)?.contains("robustness::targets") {
            true => "-p robustness",
            false => "-p urom-wire -p urom-service -p libdoca-host --lib fuzzing",
        };
        shell::run(&mut command).with_context(|| {
            format!(
                "{target} failed. If it names an input, copy that into {} and run \
                 `cargo test {test}`, which says what does not hold",
                committed.display()
            )
        })?;
    }
    Ok(())
}

fn targets(directory: &Path) -> Result<Vec<String>> {
    let files = files_below(&directory.join(SOURCES))?.into_iter();
    Ok(files.filter_map(|file| file.file_stem()?.to_str().map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_does_not_exist_is_named_with_those_that_do() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        let error = run(&workspace, Some("nothing"), &FuzzTask::Merge).expect_err("no such target");
        let text = error.to_string();
        assert!(text.contains("nothing") && text.contains("worker_cmd"), "{text}");
    }
}
