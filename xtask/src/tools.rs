//! Programs from the registry that this project's checks run, each of one version, in the build
//! tree's `tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::shell;
use crate::workspace::Workspace;

pub(crate) struct Tool {
    /// The package and its program.
    name: &'static str,
    version: &'static str,
    /// What is given to `cargo install` besides.
    options: &'static [&'static str],
}

/// Fuzzes; run for long, so it is built to be fast.
pub(crate) const FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2", options: &[] };

/// Makes workspaces of templates.
pub(crate) const GENERATE: Tool =
    Tool { name: "cargo-generate", version: "0.23.8", options: &["--debug"] };

/// Builds the guide. Its server, its watcher and its search are left out.
pub(crate) const MDBOOK: Tool =
    Tool { name: "mdbook", version: "0.5.4", options: &["--debug", "--no-default-features"] };

/// Looks at licences and sources of dependencies.
const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", options: &["--debug"] };

impl Tool {
    /// Its program; cargo installs it unless this version is there.
    ///
    /// Those that run for moments are built without optimisations. None needs line tables, and they
    /// share what they are built of.
    pub(crate) fn install(&self, workspace: &Workspace) -> Result<PathBuf> {
        let tools = workspace.target_dir.join("tools");
        let Tool { name, version, options } = self;
        let mut install = shell::cargo();
        install.args(["install", name, "--locked", "--version", version]).args(*options);
        install.arg("--root").arg(&tools).arg("--target-dir").arg(tools.join("build"));
        install.env("CARGO_PROFILE_DEV_DEBUG", "0");
        shell::step(&format!("installing {name} {version}"), &mut install)?;
        Ok(tools.join("bin").join(name))
    }
}

/// Holds what a workspace depends on to the rules of this repository. The check of advisories is
/// left out: it needs a database from the network at every run.
pub(crate) fn deny(workspace: &Workspace, manifest: &Path) -> Result<Command> {
    let mut deny = Command::new(DENY.install(workspace)?);
    deny.arg("--manifest-path").arg(manifest).arg("--config").arg(workspace.root.join("deny.toml"));
    deny.args(["check", "bans", "licenses", "sources"]);
    Ok(deny)
}
