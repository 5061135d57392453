//! `cargo xtask guide`: runs the start page's commands in a fresh directory, and builds the book.
//!
//! The output of its `console` blocks must match the page. See [`page`] for the syntax.

mod page;
mod terminal;
mod transcript;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::Workspace;
use crate::{setup, shell, tools};
use page::Instruction;
use terminal::Terminal;

const START: &str = "docs/src/start.md";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, None)?;
    start_page(workspace).with_context(|| format!("{START} does not do what it says"))?;
    shell::run(shell::cargo().args(["test", "--quiet", "-p", "guide", "--test", "pages"]))?;
    let mut book = Command::new(tools::MDBOOK.install(workspace)?);
    book.arg("build").arg(workspace.root.join("docs"));
    shell::run(book.arg("--dest-dir").arg(workspace.target_dir.join("guide/book")))?;
    println!("guide: ok");
    Ok(())
}

fn start_page(workspace: &Workspace) -> Result<()> {
    let steps = page::instructions(&fs::read_to_string(workspace.root.join(START))?)?;
    let mut terminal = Terminal::open(workspace)?;
    for step in steps {
        match step {
            Instruction::Command { line, command, output, stays } => {
                eprintln!("$ {command}{}", if stays { " &" } else { "" });
                let done = match stays {
                    true => terminal.start_beside(&command, &output),
                    false => terminal.run(&command, &output),
                };
                done.with_context(|| format!("line {line}: `{command}`"))?;
            }
            Instruction::File { line, path, beside, text } => {
                let path = terminal.directory.join(path);
                let old = || Ok(fs::read_to_string(&path)?);
                page::put(beside.as_ref(), old, &text)
                    .and_then(|text| Ok(fs::write(&path, text)?))
                    .with_context(|| format!("line {line}: {}", path.display()))?;
            }
        }
    }
    terminal.end()
}
