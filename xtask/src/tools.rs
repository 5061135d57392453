//! Programs from the registry that this project's checks run, each of one version, in the build
//! tree's `tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::shell;
use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The package and its program.
    name: &'static str,
    version: &'static str,
    /// What has it print its version.
    asks: &'static [&'static str],
    /// What is given to `cargo install` besides.
    options: &'static [&'static str],
}

/// Fuzzes; run for long, so it is built to be fast.
pub(crate) const FUZZ: Tool =
    Tool { name: "cargo-fuzz", version: "0.13.2", asks: &["fuzz", "--version"], options: &[] };

/// Makes workspaces of templates.
pub(crate) const GENERATE: Tool = Tool {
    name: "cargo-generate",
    version: "0.23.8",
    asks: &["generate", "--version"],
    options: &["--debug"],
};

/// Builds the guide. Its server, its watcher and its search are left out.
pub(crate) const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    asks: &["--version"],
    options: &["--debug", "--no-default-features"],
};

/// Looks at licences and sources of dependencies.
pub(crate) const DENY: Tool =
    Tool { name: "cargo-deny", version: "0.20.2", asks: &["--version"], options: &["--debug"] };

impl Tool {
    /// Its program, installed unless this version is there.
    ///
    /// Those that run for moments are built without optimisations. None needs line tables, and they
    /// share what they are built of.
    pub(crate) fn install(self, workspace: &Workspace) -> Result<PathBuf> {
        let tools = workspace.target_dir.join("tools");
        let program = tools.join("bin").join(self.name);
        let asked = Command::new(&program).args(self.asks).output();
        if asked.is_ok_and(|output| self.is_it(&output.stdout)) {
            return Ok(program);
        }
        let Tool { name, version, options, .. } = self;
        let mut install = shell::cargo();
        install.args(["install", name, "--locked", "--version", version]).args(options);
        install.arg("--root").arg(&tools).arg("--target-dir").arg(tools.join("build"));
        install.env("CARGO_PROFILE_DEV_DEBUG", "0");
        shell::step(&format!("installing {name} {version}"), &mut install)?;
        Ok(program)
    }

    /// Whether this is the version that is wanted, as a program prints it.
    fn is_it(self, printed: &[u8]) -> bool {
        let printed = String::from_utf8_lossy(printed);
        let version = printed.split_whitespace().next_back().unwrap_or_default();
        version.strip_prefix('v').unwrap_or(version) == self.version
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_not_taken_for_the_wanted_one() {
        for tool in [FUZZ, GENERATE, MDBOOK, DENY] {
            let Tool { name, version, .. } = tool;
            for printed in [format!("{name} {version}\n"), format!("{name} v{version}\n")] {
                assert!(tool.is_it(printed.as_bytes()), "{printed}");
            }
            for printed in
                [String::new(), format!("{name} v0.0.1\n"), format!("{name} {version}1\n")]
            {
                assert!(!tool.is_it(printed.as_bytes()), "{printed}");
            }
        }
    }
}
