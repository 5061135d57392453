//! Calls of cargo: to build the plugin, and to learn whether UCX is linked into it.

use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{ArtifactDebuginfo, Message};

use super::package::PluginPackage;

#[derive(Debug)]
pub(super) struct Made {
    pub(super) file: PathBuf,
    /// Whether the profile puts line tables into it.
    pub(super) has_lines: bool,
}

const CANNOT_RUN: &str = "cannot run cargo";

/// The cargo that this program is a subcommand of, else the one on the PATH.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds a plugin's library; cargo and the compiler say what they do on standard error.
pub(super) fn build(
    package: &PluginPackage,
    arguments: &[OsString],
    environment: Vec<(String, String)>,
) -> Result<Made> {
    let mut child = cargo()
        .args(["build", "--lib", "--message-format", "json-render-diagnostics", "--package"])
        .arg(&package.id.repr)
        .args(arguments)
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context(CANNOT_RUN)?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut made = None;
    for message in Message::parse_stream(BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message.context("reading what cargo says")?
            && artifact.package_id == package.id
            && artifact.target.is_cdylib()
        {
            let without = [ArtifactDebuginfo::None, ArtifactDebuginfo::LineDirectivesOnly];
            let has_lines = !without.contains(&artifact.profile.debuginfo);
            let mut files = artifact.filenames.into_iter();
            let file = files.find(|file| file.extension() == Some("so"));
            made = file.map(|file| Made { file: file.into(), has_lines });
        }
    }
    let status = child.wait().context("waiting for cargo")?;
    let name = &package.name;
    if !status.success() {
        bail!("cargo did not build the package `{name}` ({status}); it says why above");
    }
    made.with_context(|| {
        format!("cargo built the package `{name}` and made no .so: is the target one of Linux?")
    })
}

/// The one crate that links with UCX.
const UCX_SYS: &str = "ucx-sys";

/// Whether a package, built by itself for a target with its default features, is linked with UCX.
pub(super) fn uses_ucx(package: &str, manifest: Option<&Path>, triple: &str) -> Result<bool> {
    let mut command = cargo();
    // `cargo metadata` would count the features that other packages of the workspace and their
    // tests ask for.
    command.args(["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    command.args(["--package", package, "--target", triple]);
    if let Some(manifest) = manifest {
        command.args([OsString::from("--manifest-path"), manifest.into()]);
    }
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context(CANNOT_RUN)?;
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
        uses_ucx(package, Some(Path::new(manifest)), "aarch64-unknown-linux-gnu")
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
            uses_ucx("ucx", Some(Path::new("/nowhere/Cargo.toml")), "aarch64-unknown-linux-gnu")
                .is_err()
        );
    }
}
