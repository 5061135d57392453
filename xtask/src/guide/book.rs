//! mdBook: brought when it is missing, and run.

use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{shell, tools};

/// Builds the book into `guide/book` of the build tree.
pub(super) fn build(workspace: &Workspace) -> Result<()> {
    let mdbook = tools::MDBOOK.install(workspace)?;
    let book = workspace.target_dir.join("guide/book");
    shell::run(
        Command::new(mdbook)
            .arg("build")
            .arg(workspace.root.join("docs"))
            .arg("--dest-dir")
            .arg(book),
    )
}
