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
const PACKAGES: [&str; 4] = ["urom-abi", "urom-pdk", "test-protocols", "robustness"];

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
    test.arg(&build).args(packages());
    test.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    // Tests keep the log of plugins from standard error, and would keep this from it too.
    let report = reports.join("report");
    test.env(
        "ASAN_OPTIONS",
        format!("detect_leaks=1:detect_stack_use_after_return=1:log_path={}", report.display()),
    );
    test.env("UROM_SANITIZED", "1");
    let status = shell::status(&mut test)?;
    let found = print(&reports)?;
    if !status.success() || found > 0 {
        bail!("the tests failed under the address sanitizer ({status}, {found} reports)");
    }
    Ok(())
}

/// Prints what the sanitizers wrote, and gives the number of files.
fn print(reports: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in
        std::fs::read_dir(reports).with_context(|| format!("could not read {}", reports.display()))?
    {
        let file = entry?.path();
        let text = std::fs::read(&file).with_context(|| format!("could not read {}", file.display()))?;
        eprintln!("{}", String::from_utf8_lossy(&text));
        count += 1;
    }
    Ok(count)
}

fn under_miri(workspace: &Workspace) -> Result<()> {
    let mut test = shell::cargo_of("nightly");
    test.args(["miri", "test", "--quiet", "--lib", "--tests", "--target-dir"])
        .arg(workspace.target_dir.join("miri"));
    // Log lines carry the time, which Miri otherwise refuses to tell.
    shell::run(test.args(packages()).env("MIRIFLAGS", "-Zmiri-disable-isolation"))
}

fn packages() -> impl Iterator<Item = &'static str> {
    PACKAGES.into_iter().flat_map(|package| ["-p", package])
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
    fn every_report_is_counted() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(print(directory.path()).expect("it is readable"), 0);
        for name in ["report.1", "report.2"] {
            std::fs::write(directory.path().join(name), "a report of a sanitizer").expect("it is writable");
        }
        assert_eq!(print(directory.path()).expect("it is readable"), 2);
        assert!(print(&directory.path().join("nowhere")).is_err());
    }
}
