//! `cargo xtask test`: builds everything the tests start or load, then runs them.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::target::{self, BuildTarget};
use crate::workspace::{BuildProfile, Workspace};
use crate::{install, plugins, setup, shell, ucx};

/// Packages to omit when the target is emulated, unless `-p` names them.
const NOT_EMULATED: &[(&str, &str)] = &[
    ("bench-peer", "measures the emulator"),
    ("bench-peers", "see bench-peer"),
    ("bench-protocol", "see bench-peer"),
    ("bench-raw", "see bench-peer"),
    ("guide", "is about the same code on every machine"),
    ("multi-worker-bootstrap", "starts a service, whose workers are processes: see urom-tests"),
    ("ping-pong", "see multi-worker-bootstrap"),
    ("rdma", "see multi-worker-bootstrap"),
    ("ui-tests", "runs cargo, which is this machine's"),
    ("urom-bench", "see bench-peer"),
    ("urom-faults", "see urom-tests"),
    (
        "urom-tests",
        "starts uromd and workers: the kernel cannot start a foreign program without binfmt_misc",
    ),
    ("xtask", "runs on this machine only"),
];

/// The package with tests of `gather::Mpi`, and their feature, which needs MPI and libclang.
const WITH_MPI: (&str, &str) = ("urom-tests", "urom-tests/mpi");

const THREADS: &str = "RUST_TEST_THREADS";

pub(crate) fn run(
    workspace: &Workspace,
    target: Option<BuildTarget>,
    packages: &[String],
    mpi: bool,
    arguments: &[String],
) -> Result<()> {
    for package in packages {
        ensure!(workspace.has_package(package), "no package `{package}` in this workspace");
    }
    let mut test = target::cargo(target, "test")?;
    // Reports all failures in one run.
    test.args(prepare(workspace, target, packages, mpi)?).arg("--no-fail-fast");
    set_environment(workspace, target, &mut test)?;
    if !arguments.is_empty() {
        test.arg("--").args(arguments);
    }
    shell::run(&mut test)
}

/// Sets the variables of test programs.
pub(crate) fn set_environment(
    workspace: &Workspace,
    target: Option<BuildTarget>,
    test: &mut Command,
) -> Result<()> {
    test.envs(ucx::short_starts(&workspace.target_dir, target.map_or_else(BuildTarget::host, Ok)?));
    if std::env::var_os(THREADS).is_none() {
        // Most tests wait for other processes.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        test.env(THREADS, (2 * cores).to_string());
    }
    Ok(())
}

/// Sets up, builds programs and plugins for the tests, and returns the arguments of `cargo test`.
pub(crate) fn prepare(
    workspace: &Workspace,
    target: Option<BuildTarget>,
    packages: &[String],
    mpi: bool,
) -> Result<Vec<String>> {
    setup::for_tests(workspace, target, mpi)?;
    let host = BuildTarget::host()?;
    let emulated = target.is_some_and(|target| target != host);
    let plan = Plan::new(workspace, emulated, packages, mpi);
    for (package, reason) in &plan.left_out {
        eprintln!("left out: {package}: {reason}");
    }
    for words in &plan.build {
        shell::run(target::cargo(target, "build")?.args(words))?;
    }
    let profile_dir = workspace.profile_dir(target, BuildProfile::Dev);
    let mut built = workspace.plugins();
    built.retain(|plugin| runs(plugin.package, emulated));
    plugins::link(&profile_dir, &built)?;
    if !emulated {
        install::for_tests(workspace, target, BuildProfile::Dev)?;
    }
    Ok(plan.test)
}

fn runs(package: &str, emulated: bool) -> bool {
    !emulated || NOT_EMULATED.iter().all(|(excluded, _)| *excluded != package)
}

const TOOL: &str = "cargo-urom";

struct Plan {
    /// Consecutive builds. The last builds only the products of the tests: together with test
    /// programs they would get their features, such as `test-util`.
    build: Vec<Vec<String>>,
    test: Vec<String>,
    left_out: Vec<(&'static str, &'static str)>,
}

impl Plan {
    fn new(workspace: &Workspace, emulated: bool, packages: &[String], mpi: bool) -> Self {
        let name = |package: &str| ["-p".to_owned(), package.to_owned()];
        let is_tested = packages.is_empty() || packages.iter().any(|name| name == WITH_MPI.0);
        let features = (mpi && !emulated && is_tested).then_some(["--features", WITH_MPI.1]);
        let features = features.into_iter().flatten().map(str::to_owned);
        let started = install::PACKAGES.into_iter().chain([TOOL]).filter(|_| !emulated);
        let plugins = workspace.plugins().into_iter().map(|plugin| plugin.package);
        let plugins = plugins.filter(|package| runs(package, emulated));
        let products: Vec<_> = plugins.chain(started).flat_map(name).collect();
        if !packages.is_empty() {
            // One package's tests may need plugins, the service or C libraries of other packages.
            let mut test: Vec<_> = packages.iter().flat_map(|package| name(package)).collect();
            test.extend(features);
            return Self { build: vec![products], test, left_out: Vec::new() };
        }
        let left_out: Vec<_> = NOT_EMULATED.iter().copied().filter(|_| emulated).collect();
        let mut everything = vec!["--workspace".to_owned()];
        everything.extend(
            left_out
                .iter()
                .flat_map(|(package, _)| ["--exclude".to_owned(), (*package).to_owned()]),
        );
        everything.extend(features);
        // The same selection, so `cargo test` finds everything built.
        let mut all = everything.clone();
        all.push("--all-targets".to_owned());
        Self { build: vec![all, products], test: everything, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::tests::sample;

    #[test]
    fn under_emulation_what_cannot_run_there_is_left_out_of_both_steps() {
        let plan = Plan::new(&sample(), true, &[], true);
        for package in ["ui-tests", "xtask", "urom-bench", "urom-tests", "ping-pong"] {
            for words in [&plan.build[0], &plan.test] {
                assert!(
                    !words.iter().any(|word| word.contains("mpi")),
                    "MPI is of this machine only"
                );
                let excluded = words.windows(2).any(|pair| pair == ["--exclude", package]);
                assert!(excluded, "{package} is not excluded by {words:?}");
            }
        }
    }

    #[test]
    fn every_package_that_is_left_out_exists() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        for (package, _) in NOT_EMULATED {
            assert!(workspace.has_package(package), "{package} is not in the workspace");
        }
    }
}
