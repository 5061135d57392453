//! Programs from the registry with fixed versions, installed to `tools` in the build tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;
use crate::workspace::Workspace;

pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
    /// Additional arguments of `cargo install`.
    options: &'static [&'static str],
}

/// Runs for long, so it is optimised.
pub(crate) const FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2", options: &[] };

pub(crate) const GENERATE: Tool =
    Tool { name: "cargo-generate", version: "0.23.8", options: &["--debug"] };

/// Builds the guide, without server, watcher and search.
pub(crate) const MDBOOK: Tool =
    Tool { name: "mdbook", version: "0.5.4", options: &["--debug", "--no-default-features"] };

/// Makes the Debian package. Compresses with the program xz.
pub(crate) const DEB: Tool =
    Tool { name: "cargo-deb", version: "3.8.0", options: &["--debug", "--no-default-features"] };

/// Checks licences and sources of dependencies.
const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", options: &["--debug"] };

impl Tool {
    /// Installs this version unless it is there, and returns the program. Short-running programs
    /// are built without optimisations. All omit line tables, and share dependencies.
    pub(crate) fn install(&self, workspace: &Workspace) -> Result<PathBuf> {
        let tools = workspace.target_dir.join("tools");
        let Tool { name, version, options } = self;
        let mut install = shell::cargo();
        install.args(["install", name, "--locked", "--version", version]).args(*options);
        install.arg("--root").arg(&tools).arg("--target-dir").arg(tools.join("build"));
        install.env("CARGO_PROFILE_DEV_DEBUG", "0");
        shell::step(&format!("installing {name} {version}"), &mut install).with_context(|| {
            format!(
                "{name} {version} comes from cargo's registry: run this again where cargo reaches \
                 it, once. The program then stays in {}",
                tools.display()
            )
        })?;
        Ok(tools.join("bin").join(name))
    }
}

/// Checks a workspace's dependencies. Omits advisories, which need a database from the network.
pub(crate) fn deny(workspace: &Workspace, manifest: &Path) -> Result<Command> {
    let mut deny = Command::new(DENY.install(workspace)?);
    deny.arg("--manifest-path").arg(manifest).arg("--config").arg(workspace.root.join("deny.toml"));
    deny.args(["check", "bans", "licenses", "sources"]);
    Ok(deny)
}
