//! Whether a plugin is linked with UCX: whether `ucx-sys` is among the crates in it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The one crate that links with it.
const UCX_SYS: &str = "ucx-sys";

/// Whether a package, built by itself for a target with its default features, is linked with UCX.
///
/// # Errors
/// Cargo cannot tell; it has said why on standard error.
pub(super) fn is_linked(package: &str, manifest: Option<&Path>, triple: &str) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // `cargo metadata` would count the features that other packages of the workspace and their tests ask for.
    command.args(["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    command.args(["--package", package, "--target", triple]);
    if let Some(manifest) = manifest {
        command.args([OsString::from("--manifest-path"), manifest.into()]);
    }
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo does not tell what the package depends on; it says why above");
    }
    // Each line is a name, a version, and where it comes from.
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().any(|line| line.split(' ').next() == Some(UCX_SYS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a package of this workspace.
    fn of(package: &str) -> Result<bool> {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        is_linked(package, Some(Path::new(manifest)), "aarch64-unknown-linux-gnu")
    }

    #[test]
    fn plugins_that_use_ucx_are_told_from_those_that_do_not() -> Result<()> {
        assert!(of("sandbox-plugin")? && of("reader-plugin")?);
        // The first has tests with the kit for tests.
        assert!(!of("graph-plugin")? && !of("graph-protocol")?);
        Ok(())
    }

    #[test]
    fn a_package_that_nobody_knows_is_an_error() {
        assert!(of("no-such-package").is_err());
        assert!(
            is_linked("ucx", Some(Path::new("/nowhere/Cargo.toml")), "aarch64-unknown-linux-gnu")
                .is_err()
        );
    }
}
