//! The call of cargo that builds the plugin.

use std::ffi::OsString;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{ArtifactDebuginfo, Message};

use super::package::PluginPackage;

#[derive(Debug)]
pub(super) struct BuiltPlugin {
    pub(super) file: PathBuf,
    pub(super) has_lines: bool,
}

pub(super) fn build(
    package: &PluginPackage,
    arguments: &[OsString],
    environment: Vec<(String, String)>,
) -> Result<BuiltPlugin> {
    // The cargo that runs this subcommand, or else the cargo on the PATH.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(cargo)
        .args(["build", "--lib", "--message-format", "json-render-diagnostics", "--package"])
        .arg(&package.id.repr)
        .args(arguments)
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo")?;
    let output = child.stdout.take().context("cargo's output is missing")?;
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
            made = file.map(|file| BuiltPlugin { file: file.into(), has_lines });
        }
    }
    let status = child.wait().context("waiting for cargo")?;
    let name = &package.name;
    if !status.success() {
        bail!("cargo did not build the package `{name}` ({status}); it says why above");
    }
    made.with_context(|| {
        format!(
            "cargo built the package `{name}` and made no .so: build for a target that has shared \
             objects, such as x86_64-unknown-linux-gnu"
        )
    })
}
