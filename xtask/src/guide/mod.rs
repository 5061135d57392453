//! `cargo xtask guide`: does what the start page says, in a fresh place, and builds the book.
//!
//! One shell runs the page's `console` blocks, and must print what the page shows. See [`page`] for
//! the marks that a block may have before it.

mod book;
mod page;
mod place;
mod terminal;
mod transcript;

use anyhow::{Context, Result};

use crate::setup;
use crate::shell;
use crate::workspace::Workspace;
use page::Step;
use place::Place;
use terminal::Terminal;

/// The page whose commands are run, from the root of the repository.
const START: &str = "docs/src/start.md";

/// Runs the start page, then the tests of the guide's pages, then mdBook.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, None)?;
    start_page(workspace).with_context(|| format!("{START} does not do what it says"))?;
    shell::run(shell::cargo().args(["test", "--quiet", "-p", "guide", "--test", "pages"]))?;
    book::build(workspace)?;
    println!("guide: ok");
    Ok(())
}

fn start_page(workspace: &Workspace) -> Result<()> {
    let text = std::fs::read_to_string(workspace.root.join(START))?;
    let steps = page::steps(&text)?;
    let place = Place::make(workspace)?;
    let mut terminal = Terminal::start(&place)?;
    for step in steps {
        match step {
            Step::Command { line, command, output } => {
                eprintln!("$ {command}");
                let printed = terminal.run(&command).with_context(|| at(line, &command))?;
                transcript::compare(&output, &printed).with_context(|| at(line, &command))?;
                place.keep_builds()?;
            }
            Step::UntilStopped { line, command, output } => {
                eprintln!("$ {command} &");
                terminal.start_beside(&command, output).with_context(|| at(line, &command))?;
            }
            Step::File { line, path, place: at, text } => {
                let path = terminal.directory()?.join(path);
                let old = || Ok(std::fs::read_to_string(&path)?);
                let put = at.put(old, &text).and_then(|text| Ok(std::fs::write(&path, text)?));
                put.with_context(|| format!("line {line}: {}", path.display()))?;
            }
        }
    }
    terminal.end()
}

fn at(line: usize, command: &str) -> String {
    format!("line {line}: `{command}`")
}
