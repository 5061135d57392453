//! Parses the instructions of a page: commands with their output, and files.
//!
//! - In a `console` block, `$ ` begins a command and `> ` continues it. Its output follows.
//! - `<!-- until Ctrl-C -->` before a block: its last command runs in the background until the end.
//! - `<!-- file: PATH -->` before a block: the block is the content of this file.
//! - `<!-- file: PATH, after: TEXT -->`: the block is inserted after the first line that contains
//!   the text, or with `before`, before that line.

use anyhow::{Context, Result, bail, ensure};

/// An instruction and its line on the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// A command that ends, or with `stays`, a command in the background.
    Command { line: usize, command: String, output: Vec<String>, stays: bool },
    /// A file to write or change, relative to the terminal's directory.
    File { line: usize, path: String, beside: Option<InsertionPoint>, text: String },
}

/// The first line of a file with this text, and the side of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InsertionPoint {
    mark: String,
    is_before: bool,
}

/// Returns the file's new content, given the content `old`.
pub(super) fn put(
    beside: Option<&InsertionPoint>,
    old: impl FnOnce() -> Result<String>,
    text: &str,
) -> Result<String> {
    let Some(InsertionPoint { mark, is_before }) = beside else { return Ok(text.to_owned()) };
    let old = old()?;
    let start = old.find(mark).with_context(|| format!("no line of it has `{mark}`"))?;
    let at = match is_before {
        true => old[..start].rfind('\n').map_or(0, |end| end + 1),
        false => old[start..].find('\n').map_or(old.len(), |end| start + end + 1),
    };
    Ok(format!("{}{text}{}", &old[..at], &old[at..]))
}

const UNTIL_STOPPED: &str = "<!-- until Ctrl-C -->";

pub(super) fn instructions(page: &str) -> Result<Vec<Instruction>> {
    let mut steps = Vec::new();
    let mut before = "";
    let mut lines = page.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        let Some(info) = text.strip_prefix("```") else {
            if !text.trim().is_empty() {
                before = text.trim();
            }
            continue;
        };
        let block: Vec<_> =
            lines.by_ref().take_while(|(text, _)| !text.starts_with("```")).collect();
        let file = before.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(file) = file {
            let beside = |separator, is_before| {
                let (path, mark) = file.split_once(separator)?;
                Some((path, Some(InsertionPoint { mark: mark.to_owned(), is_before })))
            };
            let (path, beside) = beside(", after: ", false)
                .or_else(|| beside(", before: ", true))
                .unwrap_or((file, None));
            let text = block.iter().filter(|(text, _)| !(info.starts_with("rust") && hidden(text)));
            let text = text.map(|(text, _)| format!("{text}\n")).collect();
            steps.push(Instruction::File { line, path: path.to_owned(), beside, text });
        } else if info == "console" {
            commands(&block, before == UNTIL_STOPPED, &mut steps)?;
        }
        before = "";
    }
    ensure!(!steps.is_empty(), "the page lacks commands");
    Ok(steps)
}

/// Whether rustdoc and mdBook hide a line of Rust.
fn hidden(line: &str) -> bool {
    line.trim() == "#" || line.trim_start().starts_with("# ")
}

fn commands(block: &[(&str, usize)], last_stays: bool, steps: &mut Vec<Instruction>) -> Result<()> {
    let first = steps.len();
    for &(text, line) in block {
        if let Some(command) = text.strip_prefix("$ ") {
            let (command, output) = (command.to_owned(), Vec::new());
            steps.push(Instruction::Command { line, command, output, stays: false });
            continue;
        }
        match steps.get_mut(first..).and_then(<[_]>::last_mut) {
            Some(Instruction::Command { command, output, .. }) => match text.strip_prefix("> ") {
                Some(more) if output.is_empty() => command.extend(["\n", more]),
                _ => output.push(text.to_owned()),
            },
            _ => bail!("line {line}: a block of `console` begins with a command, `$ ...`"),
        }
    }
    if let Some(Instruction::Command { stays, .. }) = steps.last_mut() {
        *stays = last_stays;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: usize, command: &str, output: &[&str]) -> Instruction {
        let output = output.iter().map(|line| (*line).to_owned()).collect();
        Instruction::Command { line, command: command.to_owned(), output, stays: false }
    }

    #[test]
    fn commands_come_with_what_is_printed_below_them() {
        let page = "Text.\n\n```console\n$ one\n$ two \\\n> more\nout\n\nput\n```\n```sh\nnot run\n```\n\
             ```console\n$ three\n```\n";
        let expected = [
            command(4, "one", &[]),
            command(5, "two \\\nmore", &["out", "", "put"]),
            command(15, "three", &[]),
        ];
        assert_eq!(instructions(page).expect("it is well-formed"), expected);
    }

    #[test]
    fn a_file_is_what_the_reader_sees_of_it() {
        let page = "<!-- file: a/b.rs -->\n\n```rust\n# hidden\n#[shown]\n#\nfn f() {}\n```\n";
        let text = "#[shown]\nfn f() {}\n".to_owned();
        let file = Instruction::File { line: 3, path: "a/b.rs".to_owned(), beside: None, text };
        assert_eq!(instructions(page).expect("it is well-formed"), [file]);
    }

    #[test]
    fn a_part_of_a_file_goes_beside_the_first_line_with_a_text() {
        let page = "<!-- file: f, after: b { -->\n```text\nnew\n```\n<!-- file: f, before: b { -->\n```text\nnew\n```\n";
        let steps = instructions(page).expect("it is well-formed");
        let results = steps.iter().map(|step| match step {
            Instruction::File { beside, text, .. } => {
                let put = |old: &str| put(beside.as_ref(), || Ok(old.to_owned()), text);
                assert!(put("c").is_err(), "there is no such line");
                put("a\nb {\nb {\n").expect("there is such a line")
            }
            other => panic!("{other:?} is not a file"),
        });
        assert_eq!(results.collect::<Vec<_>>(), ["a\nb {\nnew\nb {\n", "a\nnew\nb {\nb {\n"]);
    }

    #[test]
    fn the_last_command_of_a_marked_block_stays() {
        let page = "<!-- until Ctrl-C -->\n```console\n$ cd x\n$ serve\nlistening\n```\n```console\n$ ask\n```\n";
        let mut stays = command(4, "serve", &["listening"]);
        if let Instruction::Command { stays, .. } = &mut stays {
            *stays = true;
        }
        assert_eq!(
            instructions(page).expect("it is well-formed"),
            [command(3, "cd x", &[]), stays, command(8, "ask", &[])]
        );
    }

    #[test]
    fn a_page_without_commands_or_with_output_of_none_is_refused() {
        for page in ["nothing", "```console\n```\n", "```console\noutput\n$ command\n```\n"] {
            assert!(instructions(page).is_err(), "{page}");
        }
        let second = "```console\n$ command\n```\n```console\noutput\n$ command\n```\n";
        assert!(instructions(second).is_err(), "output belongs to a command of its own block");
    }
}
