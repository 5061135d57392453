//! `cargo xtask sanitize` and `cargo xtask miri`: tests under sanitizers, valgrind and Miri.
//!
//! The sanitizers use the project's Rust; the thread sanitizer also needs `rust-src`, which is
//! installed. Miri needs a nightly Rust; otherwise `sanitize` skips it with a message. UCX is not
//! instrumented: see `tsan.suppressions`, and `lsan.suppressions` for intentional leaks.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::directory::remove_directory;
use crate::target::{self, BuildTarget};
use crate::workspace::Workspace;
use crate::{debian, setup, shell, test};

/// Packages that read foreign bytes without UCX. The last takes Miri minutes.
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

struct Sanitizer {
    name: &'static str,
    /// Build tree inside the workspace's.
    directory: &'static str,
    /// `@REPORTS@` is the directory of reports, `@XTASK@` the directory of this file.
    environment: &'static [(&'static str, &'static str)],
    /// Arguments and packages of each test run.
    runs: &'static [(&'static str, &'static [&'static str])],
}

const ASAN: Sanitizer = Sanitizer {
    name: "address",
    directory: "sanitize",
    // Not to standard error, which tests capture.
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

const SUITES: [&str; 5] = ["urom-wire", "urom-service", "libdoca-host", "urom-log", "urom-host"];

/// Tests that sanitizers cannot run, with the reason.
const NOT_SANITIZED: [(&str, &str); 3] = [
    ("a_host_without_what_ucx_needs", "the sanitizer needs /proc, too"),
    ("however_few_threads_a_host_may_have", "the sanitizer's leak check starts a thread"),
    ("unread::", "the sanitizer keeps memory that was freed"),
];

/// Tests of `urom-tests` with C programs. `--full` adds tests of faulty programs and logging, which
/// take minutes. Without `installed`, which tests the loader and hangs on purpose, and `cross`,
/// whose programs are for another machine.
const IN_C: [&str; 2] = ["c_library", "pairings"];
const MORE_IN_C: [&str; 2] = ["hostile", "logging"];

/// Tests that valgrind skips, with the reason. Only `--full` runs [`RUST_HOSTS`].
const NOT_FOLLOWED: [(&str, &str); 3] = [
    (
        "threads_of_the_library_leave_signals_to_the_program",
        "valgrind's threads block signals of their own accord",
    ),
    (
        "sanitized_host",
        "valgrind takes no program with a sanitizer in it, and runs as c_host without it",
    ),
    ("sanitized_plugin", "likewise"),
];
const RUST_HOSTS: (&str, &str) = ("rust_host", "no program in C");

/// Fair scheduling: a spinning host would otherwise delay its embedded service.
const VALGRIND: &str = "valgrind --quiet --error-exitcode=97 --fair-sched=try";

/// Only definite losses are leaks: libraries keep memory until the process ends.
const VALGRIND_OPTIONS: &str =
    "--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    Asan,
    Tsan,
    /// valgrind's memcheck, for the C programs.
    Valgrind,
    /// Miri, for code without foreign calls.
    Miri,
}

impl Check {
    const ALL: [(&str, Check); 4] = [
        ("asan", Check::Asan),
        ("tsan", Check::Tsan),
        ("valgrind", Check::Valgrind),
        ("miri", Check::Miri),
    ];

    pub(crate) fn named(name: &str) -> Result<Self> {
        let known = Check::ALL.iter().find(|(known, _)| *known == name);
        let names = Check::ALL.map(|(name, _)| name).join(", ");
        known
            .map(|(_, check)| *check)
            .with_context(|| format!("no check is called `{name}`: name one of {names}"))
    }
}

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
        let host = Some(BuildTarget::host()?);
        let mut runs = Vec::new();
        for (words, packages) in self.runs {
            // With `--target`, the flags do not apply to build scripts and macros.
            let mut test = target::cargo(host, "test")?;
            test.arg("--quiet")
                .args(shell::words(words))
                .args(target::selected(packages.iter().copied()));
            runs.push(test);
        }
        if full {
            // Also builds plugins and `uromd` with the sanitizer.
            let mut suites = Command::new(std::env::current_exe().context("no file of xtask")?);
            suites
                .args(["test", "--target", BuildTarget::host()?.triple()])
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
        // Programs contain the sanitizer's library for plugins. rustdoc also needs the flags.
        let flags = format!("-Zsanitizer={} -Clink-arg=-rdynamic", self.name);
        let xtask = workspace.root.join("xtask/src").display().to_string();
        let report_path = reports.display().to_string();
        for run in &mut runs {
            run.envs([("RUSTFLAGS", &flags), ("RUSTDOCFLAGS", &flags)]);
            run.env("CARGO_TARGET_DIR", &build);
            run.env("RUSTC_BOOTSTRAP", "1").env("UROM_SANITIZED", "1");
            run.envs(self.environment.iter().map(|(name, value)| {
                (name, value.replace("@REPORTS@", &report_path).replace("@XTASK@", &xtask))
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
    // With the features of all tests, to avoid rebuilds.
    let selected = test::prepare(workspace, None, &[], false)?;
    let mut tests = target::cargo(None, "test")?;
    tests.args(selected).arg("--no-fail-fast");
    let more = if full { &MORE_IN_C[..] } else { &[] };
    tests.args(IN_C.iter().chain(more).flat_map(|name| ["--test", name]));
    // One at a time: a host waits four seconds for its service, not enough for two under valgrind.
    tests.args(["--", "--test-threads=1"]);
    for (test, why) in NOT_FOLLOWED.into_iter().chain((!full).then_some(RUST_HOSTS)) {
        eprintln!("left out: {test}: {why}");
        tests.args(["--skip", test]);
    }
    let suppressions = workspace.root.join("xtask/src/valgrind.suppressions");
    let launcher = format!("{VALGRIND} --suppressions={}", suppressions.display());
    shell::run(tests.env("UROM_C_LAUNCHER", launcher).env("VALGRIND_OPTS", VALGRIND_OPTIONS))
}

/// Prints the sanitizers' errors, and returns their number. Other reports are harmless warnings.
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

/// Runs in parallel, because Miri uses one core. Slow packages need `--full`. Of `urom-wire`, only
/// the rings run without UCX.
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
        // Log lines contain the time, which Miri's isolation prevents.
        test.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        // Backtraces of intentional panics would take seconds each.
        test.env("RUST_BACKTRACE", "0");
        eprintln!("$ {}", shell::display(&test));
        running.push((test.spawn().context("could not start rustup")?, test));
    }
    // Waits for all, even after a failure.
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
            // The whole name, or a part of a macro's name.
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
