//! `cargo xtask sanitize` and `cargo xtask miri`: tests under tools that find wrong accesses, leaks
//! and races.
//!
//! The sanitizers run with the project's own Rust; the thread sanitizer needs `rust-src`, which is
//! installed. Miri needs a nightly Rust; without one, `sanitize` skips it and says so. UCX itself
//! is not instrumented: see `tsan.suppressions`, and `lsan.suppressions` for what is kept on
//! purpose.

use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::place::remove_directory;
use crate::target::{self, Target};
use crate::workspace::Workspace;
use crate::{debian, setup, shell, test};

/// Everything that reads bytes of others without UCX. Under Miri the last takes minutes.
const PACKAGES: [&str; 7] = [
    "urom-os",
    "urom-abi",
    "urom-memory",
    "rdmo-protocol",
    "test-protocols",
    "urom-pdk",
    "robustness",
];

/// Packages with threads. The tests of urom-service run the inputs of its fuzz targets.
const THREADED: [&str; 5] = ["urom-wire", "urom-service", "libdoca-host", "urom-log", "urom-pdk"];

/// A sanitizer, and the runs of cargo under it.
struct Sanitizer {
    name: &'static str,
    /// Its build tree, inside that of the workspace.
    directory: &'static str,
    /// `@REPORTS@` is where it writes what it finds, `@XTASK@` where this file is.
    environment: &'static [(&'static str, &'static str)],
    /// The tests of packages.
    runs: &'static [(&'static str, &'static [&'static str])],
}

const ASAN: Sanitizer = Sanitizer {
    name: "address",
    directory: "sanitize",
    // Tests keep the log of plugins from standard error, and would keep reports from it too.
    environment: &[
        ("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1:log_path=@REPORTS@/report"),
        ("LSAN_OPTIONS", "print_suppressions=0:suppressions=@XTASK@/lsan.suppressions"),
    ],
    runs: &[
        ("--lib --tests", &PACKAGES),
        ("--lib", &["urom-wire", "urom-service", "libdoca-host", "urom-log"]),
    ],
};

const TSAN: Sanitizer = Sanitizer {
    name: "thread",
    directory: "sanitize-threads",
    environment: &[
        ("TSAN_OPTIONS", "suppressions=@XTASK@/tsan.suppressions:log_path=@REPORTS@/report"),
        ("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort,test"),
    ],
    runs: &[("--lib", &THREADED)],
};

/// The packages whose whole suites `--full` runs.
const SUITES: [&str; 5] = ["urom-wire", "urom-service", "libdoca-host", "urom-log", "urom-host"];

/// Tests of these suites that no sanitizer can run, and why.
const NOT_SANITIZED: [(&str, &str); 3] = [
    ("a_host_without_what_ucx_needs", "the sanitizer needs /proc, too"),
    ("however_few_threads_a_host_may_have", "the sanitizer's leak check starts a thread"),
    ("unread::", "the sanitizer keeps memory that was freed"),
];

/// The tests that start programs in C, of the package `urom-tests`. `--full` runs as well those of
/// programs that misbehave and log, which take minutes. `installed` is left out: it is about files
/// and the loader, and has programs that hang. So is `cross`, whose programs are another machine's.
const IN_C: [&str; 2] = ["c_library", "pairings"];
const MORE_IN_C: [&str; 2] = ["hostile", "logging"];

/// Tests among them that valgrind does without, and why; and those whose programs are in Rust,
/// which `--full` runs as well.
const NOT_FOLLOWED: [(&str, &str); 3] = [
    (
        "threads_of_the_library_leave_signals_to_the_program",
        "valgrind's threads block signals of their own accord",
    ),
    (
        "sanitized_host",
        "valgrind takes no program with a sanitizer in it, and without it is run as c_host",
    ),
    ("sanitized_plugin", "likewise"),
];
const RUST_HOSTS: (&str, &str) = ("rust_host", "no program in C");

/// Threads take turns: a host that spins would otherwise keep its embedded service from answering
/// in time.
const VALGRIND: &str = "valgrind --quiet --error-exitcode=97 --fair-sched=try";

/// Only what is surely lost counts as a leak: libraries keep memory until the process ends.
const VALGRIND_OPTIONS: &str =
    "--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The address and leak sanitizers.
    Asan,
    /// The thread sanitizer.
    Tsan,
    /// valgrind's memcheck, over the programs in C.
    Valgrind,
    /// Miri, over the code without foreign calls.
    Miri,
}

impl Check {
    const ALL: [(&str, Check); 4] = [
        ("asan", Check::Asan),
        ("tsan", Check::Tsan),
        ("valgrind", Check::Valgrind),
        ("miri", Check::Miri),
    ];
}

impl FromStr for Check {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Check::ALL.iter().find(|(known, _)| *known == name);
        let names = Check::ALL.map(|(name, _)| name).join(", ");
        known
            .map(|(_, check)| *check)
            .with_context(|| format!("no check is called `{name}`: name one of {names}"))
    }
}

/// Runs these checks, or all.
pub(crate) fn run(workspace: &Workspace, checks: &[Check], full: bool) -> Result<()> {
    let all = Check::ALL.map(|(_, check)| check);
    for check in if checks.is_empty() { &all } else { checks } {
        match check {
            Check::Asan => ASAN.run(workspace, full)?,
            Check::Tsan => {
                if let Some(rustup) = shell::on_path("rustup") {
                    shell::run(Command::new(rustup).args(["component", "add", "rust-src"]))?;
                }
                TSAN.run(workspace, full)?;
            }
            Check::Valgrind => valgrind(workspace, full)?,
            Check::Miri => match install_miri() {
                Ok(()) => under_miri(workspace, full)?,
                Err(error) if checks.is_empty() => eprintln!("left out: Miri: {error:#}"),
                Err(error) => return Err(error),
            },
        }
    }
    Ok(())
}

impl Sanitizer {
    fn run(&self, workspace: &Workspace, full: bool) -> Result<()> {
        eprintln!("{} sanitizer, with this Rust and RUSTC_BOOTSTRAP=1", self.name);
        setup::for_tests(workspace, None, false)?;
        let build = workspace.target_dir.join(self.directory);
        let reports = build.join("reports");
        let host = Some(Target::host()?);
        let mut runs = Vec::new();
        for (words, packages) in self.runs {
            // A target of its own keeps the flags from build scripts and macros.
            let mut test = target::cargo(host, "test")?;
            test.arg("--quiet")
                .args(shell::words(words))
                .args(target::selected(packages.iter().copied()));
            runs.push(test);
        }
        if full {
            // Plugins and `uromd`, which the suites load and start, are built in the same way.
            let mut suites = Command::new(std::env::current_exe().context("no file of xtask")?);
            suites
                .args(["test", "--target", Target::host()?.triple()])
                .args(target::selected(SUITES))
                .arg("--");
            for (test, why) in NOT_SANITIZED {
                eprintln!("left out: {test}: {why}");
                suites.args(["--skip", test]);
            }
            runs.push(suites);
        }
        remove_directory(&reports)?;
        fs::create_dir_all(&reports)?;
        // Everything is built with the sanitizer. Its library is part of each program, where
        // plugins find it. rustdoc too, or the examples of the documentation could not be linked.
        let flags = format!("-Zsanitizer={} -Clink-arg=-rdynamic", self.name);
        let xtask = workspace.root.join("xtask/src").display().to_string();
        let place = reports.display().to_string();
        for run in &mut runs {
            run.envs([("RUSTFLAGS", &flags), ("RUSTDOCFLAGS", &flags)]);
            run.env("CARGO_TARGET_DIR", &build);
            run.env("RUSTC_BOOTSTRAP", "1").env("UROM_SANITIZED", "1");
            run.envs(self.environment.iter().map(|(name, value)| {
                (name, value.replace("@REPORTS@", &place).replace("@XTASK@", &xtask))
            }));
            let (status, found) = (shell::status(run)?, print(&reports)?);
            ensure!(
                status.success() && found == 0,
                "the tests failed under the {} sanitizer ({status}, {found} reports)",
                self.name
            );
        }
        Ok(())
    }
}

fn valgrind(workspace: &Workspace, full: bool) -> Result<()> {
    debian::ensure(&[&debian::VALGRIND])?;
    eprintln!("valgrind, over the programs in C");
    // As for all tests, so that nothing is built again after these.
    let selected = test::prepare(workspace, None, &[], false)?;
    let mut tests = target::cargo(None, "test")?;
    tests.args(selected).arg("--no-fail-fast");
    let more = if full { &MORE_IN_C[..] } else { &[] };
    tests.args(IN_C.iter().chain(more).flat_map(|name| ["--test", name]));
    // One at a time: a host waits four seconds for its service, too short for two under valgrind.
    tests.args(["--", "--test-threads=1"]);
    for (test, why) in NOT_FOLLOWED.into_iter().chain((!full).then_some(RUST_HOSTS)) {
        eprintln!("left out: {test}: {why}");
        tests.args(["--skip", test]);
    }
    let suppressions = workspace.root.join("xtask/src/valgrind.suppressions");
    let launcher = format!("{VALGRIND} --suppressions={}", suppressions.display());
    shell::run(tests.env("UROM_C_LAUNCHER", launcher).env("VALGRIND_OPTS", VALGRIND_OPTIONS))
}

/// Prints the errors that the sanitizers reported, and gives their number. Other reports are
/// warnings of allocations that tests make too large on purpose.
fn print(reports: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(reports)? {
        let file = entry?.path();
        let text = fs::read(&file)?;
        let text = String::from_utf8_lossy(&text);
        if text.contains("ERROR: ") || text.contains("WARNING: ThreadSanitizer") {
            eprintln!("{text}");
            count += 1;
        }
    }
    Ok(count)
}

/// All at a time: Miri uses one core for each. Packages that take it minutes are for `--full`. Of
/// `urom-wire`, which calls UCX elsewhere, it runs the rings.
fn under_miri(workspace: &Workspace, full: bool) -> Result<()> {
    let mut running = Vec::new();
    let (abi, others) = PACKAGES.split_at(1);
    let others = if full { others } else { &others[..others.len() - 1] };
    let rings: [&str; 1] = ["urom-wire"];
    for (packages, filter) in [(abi, ""), (others, ""), (&rings, "ring::cells")] {
        let mut test = shell::cargo_of("nightly");
        test.args(shell::words("miri test --quiet --lib --tests --target-dir"));
        test.arg(workspace.target_dir.join("miri"))
            .args(target::selected(packages.iter().copied()))
            .args(["--", filter]);
        // Log lines carry the time, which Miri otherwise refuses to tell.
        test.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        // Tests that panic on purpose would take Miri seconds each to say where they are.
        test.env("RUST_BACKTRACE", "0");
        eprintln!("$ {}", shell::display(&test));
        running.push((test.spawn().context("could not start rustup")?, test));
    }
    // All are waited for, whatever becomes of the first.
    let ended = running.into_iter().map(|(mut child, test)| shell::good(&test, child.wait()?));
    ended.collect::<Vec<_>>().into_iter().collect()
}

fn install_miri() -> Result<()> {
    if shell::succeeds(shell::cargo_of("nightly").args(["miri", "--version"])) {
        return Ok(());
    }
    let mut install = Command::new("rustup");
    install.args(shell::words("toolchain install nightly --profile minimal --component"));
    shell::step("installing a nightly Rust with Miri", install.arg("miri,rust-src"))
        .context("no nightly Rust with Miri can be had")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_that_is_tested_exists() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        for package in PACKAGES.into_iter().chain(THREADED).chain(SUITES) {
            assert!(workspace.has_package(package), "{package} is not in the workspace");
        }
    }

    #[test]
    fn every_test_that_valgrind_does_without_exists() {
        let tests = Workspace::load().expect("cargo knows this workspace").root.join("tests/tests");
        let suites = IN_C.iter().chain(&MORE_IN_C);
        let files = suites.flat_map(|suite| fs::read_dir(tests.join(suite)).expect("it is there"));
        let sources: String = files
            .map(|file| fs::read_to_string(file.expect("it is listed").path()).expect("it is text"))
            .collect();
        for (test, _) in NOT_FOLLOWED.into_iter().chain([RUST_HOSTS]) {
            // The whole name of a test, or a part of those that a macro makes.
            assert!(
                sources.contains(&format!("fn {test}("))
                    || sources.contains(&format!("{test}_and_"))
                    || sources.contains(&format!("_and_{test}_")),
                "{test}"
            );
        }
    }

    #[test]
    fn errors_are_counted_and_warnings_are_not() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(print(directory.path()).expect("it is readable"), 0);
        for (name, text) in [
            ("report.1", "==7==ERROR: AddressSanitizer: heap-buffer-overflow"),
            (
                "report.2",
                "==8==WARNING: AddressSanitizer failed to allocate 0x8000000000000037 bytes",
            ),
            ("report.3", "==9==ERROR: LeakSanitizer: detected memory leaks"),
            ("report.4", "WARNING: ThreadSanitizer: data race (pid=10)"),
        ] {
            fs::write(directory.path().join(name), text).expect("it is writable");
        }
        assert_eq!(print(directory.path()).expect("it is readable"), 3);
        assert!(print(&directory.path().join("nowhere")).is_err());
    }
}
