//! mdBook: brought when it is missing, and run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell;
use crate::workspace::Workspace;

/// The version that is installed. Its server, its watcher and its search are left out.
const VERSION: &str = "0.5.4";

/// Builds the book into `guide/book` of the build tree.
pub(super) fn build(workspace: &Workspace) -> Result<()> {
    let mdbook = tool(workspace)?;
    let book = workspace.target_dir.join("guide/book");
    shell::run(Command::new(mdbook).arg("build").arg(workspace.root.join("docs")).arg("--dest-dir").arg(book))
}

/// mdBook in the build tree, installed unless this version is there.
fn tool(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.target_dir.join("tools");
    let mdbook = root.join("bin/mdbook");
    let version = Command::new(&mdbook).arg("--version").output();
    if version.is_ok_and(|output| is_wanted(&output.stdout)) {
        return Ok(mdbook);
    }
    let mut install = shell::cargo();
    install.args(["install", "mdbook", "--locked", "--no-default-features", "--version", VERSION, "--root"]);
    shell::step(&format!("installing mdBook {VERSION}"), install.arg(root))?;
    Ok(mdbook)
}

fn is_wanted(version: &[u8]) -> bool {
    String::from_utf8_lossy(version).trim().strip_prefix("mdbook v") == Some(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_not_taken_for_the_wanted_one() {
        assert!(is_wanted(format!("mdbook v{VERSION}\n").as_bytes()));
        for other in ["", "mdbook v0.4.40", &format!("mdbook v{VERSION}1")] {
            assert!(!is_wanted(other.as_bytes()), "{other}");
        }
    }
}
