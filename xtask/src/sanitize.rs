//! `cargo xtask sanitize` and `cargo xtask miri`: the tests that read foreign bytes and own memory of C's, under what
//! sees every wrong access and every leak.
//!
//! The address and leak sanitizers run with the project's own Rust. Miri takes a nightly one, which is installed when
//! there is none; `sanitize` does without, and says so, when it cannot be had.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::shell;
use crate::target::Target;
use crate::workspace::Workspace;

/// What is tested: everything that reads what others wrote, without UCX.
const PACKAGES: [&str; 4] = ["urom-abi", "test-protocols", "urom-pdk", "robustness"];

/// Runs the tests under the address and leak sanitizers, then under Miri if that can be had.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    under_sanitizers(workspace)?;
    match install_miri() {
        Ok(()) => under_miri(workspace)?,
        Err(error) => eprintln!("left out: Miri: {error:#}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the tests under Miri only.
pub(crate) fn miri(workspace: &Workspace) -> Result<ExitCode> {
    install_miri()?;
    under_miri(workspace)?;
    Ok(ExitCode::SUCCESS)
}

fn under_sanitizers(workspace: &Workspace) -> Result<()> {
    let build = workspace.target_dir.join("sanitize");
    let reports = build.join("reports");
    if reports.is_dir() {
        std::fs::remove_dir_all(&reports)
            .with_context(|| format!("could not empty {}", reports.display()))?;
    }
    std::fs::create_dir_all(&reports).with_context(|| format!("could not make {}", reports.display()))?;
    eprintln!("address and leak sanitizers, with this Rust and RUSTC_BOOTSTRAP=1");
    let mut test = shell::cargo();
    // A target of its own keeps the flags from build scripts and macros.
    test.args(["test", "--quiet", "--lib", "--tests", "--target", Target::host()?.triple(), "--target-dir"]);
    test.arg(&build).args(named(&PACKAGES));
    test.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    // Tests keep the log of plugins from standard error, and would keep this from it too.
    let report = reports.join("report");
    test.env(
        "ASAN_OPTIONS",
        format!("detect_leaks=1:allocator_may_return_null=1:log_path={}", report.display()),
    );
    test.env("UROM_SANITIZED", "1");
    let status = shell::status(&mut test)?;
    let found = print(&reports)?;
    if !status.success() || found > 0 {
        bail!("the tests failed under the address sanitizer ({status}, {found} reports)");
    }
    Ok(())
}

/// Prints the errors that the sanitizers reported, and gives their number. Other reports are warnings of allocations that
/// tests make too large on purpose.
fn print(reports: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in
        std::fs::read_dir(reports).with_context(|| format!("could not read {}", reports.display()))?
    {
        let file = entry?.path();
        let text = std::fs::read(&file).with_context(|| format!("could not read {}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        if text.contains("ERROR: ") {
            eprintln!("{text}");
            count += 1;
        }
    }
    Ok(count)
}

/// Two at a time: Miri uses one core.
fn under_miri(workspace: &Workspace) -> Result<()> {
    let mut running = Vec::new();
    for packages in PACKAGES.chunks(PACKAGES.len() / 2) {
        let mut test = shell::cargo_of("nightly");
        test.args(["miri", "test", "--quiet", "--lib", "--tests", "--target-dir"]);
        test.arg(workspace.target_dir.join("miri")).args(named(packages));
        // Log lines carry the time, which Miri otherwise refuses to tell.
        test.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        running.push(shell::start(&mut test)?);
    }
    // All are waited for, whatever becomes of the first.
    let failed = running.into_iter().filter_map(|child| child.wait().err()).collect::<Vec<_>>();
    failed.into_iter().next().map_or(Ok(()), Err)
}

fn named(packages: &[&'static str]) -> impl Iterator<Item = &'static str> {
    packages.iter().flat_map(|package| ["-p", package])
}

fn install_miri() -> Result<()> {
    if shell::succeeds(shell::cargo_of("nightly").args(["miri", "--version"])) {
        return Ok(());
    }
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", "nightly", "--profile", "minimal", "--component", "miri,rust-src"]);
    shell::step("installing a nightly Rust with Miri", &mut install)
        .context("no nightly Rust with Miri can be had")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_that_is_tested_exists() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        for package in PACKAGES {
            assert!(workspace.has_package(package), "{package} is not in the workspace");
        }
    }

    #[test]
    fn errors_are_counted_and_warnings_are_not() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(print(directory.path()).expect("it is readable"), 0);
        for (name, text) in [
            ("report.1", "==7==ERROR: AddressSanitizer: heap-buffer-overflow"),
            ("report.2", "==8==WARNING: AddressSanitizer failed to allocate 0x8000000000000037 bytes"),
            ("report.3", "==9==ERROR: LeakSanitizer: detected memory leaks"),
        ] {
            std::fs::write(directory.path().join(name), text).expect("it is writable");
        }
        assert_eq!(print(directory.path()).expect("it is readable"), 2);
        assert!(print(&directory.path().join("nowhere")).is_err());
    }
}
