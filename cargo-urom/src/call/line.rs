//! Commands as they are written, in arguments or in a line of a file: `COMMAND FIELD=VALUE .. + WORKER:COMMAND ..`.

use std::io::BufRead;

use anyhow::{Context, Result, anyhow};

use crate::message::Assignment;

/// What stands between two commands of a line.
const AND: &str = "+";

/// A command as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The number of the worker that gets it.
    pub(super) worker: usize,
    pub(super) command: String,
    pub(super) fields: Vec<Assignment>,
}

/// The commands of one line, which are in flight together.
///
/// # Errors
/// A sentence on the word that is none of a command's.
pub(super) fn read<S: AsRef<str>>(words: &[S]) -> Result<Vec<Written>, String> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    words.split(|word| *word == AND).map(one).collect()
}

fn one(words: &[&str]) -> Result<Written, String> {
    let Some((name, fields)) = words.split_first() else {
        return Err(format!("there is no command beside a `{AND}`"));
    };
    let (worker, command) = match name.split_once(':') {
        Some((number, command)) => {
            let worker = number.parse().map_err(|_| {
                format!(
                    "`{}` is no worker's number: write WORKER:COMMAND, such as 1:{command}",
                    number.escape_debug()
                )
            })?;
            (worker, command)
        }
        None => (0, *name),
    };
    let field = |word: &&str| {
        word.parse::<Assignment>().map_err(|why| {
            format!("`{}`: {why}; a further command stands behind a `{AND}`", word.escape_debug())
        })
    };
    let fields = fields.iter().map(field).collect::<Result<_, _>>()?;
    Ok(Written { worker, command: command.to_owned(), fields })
}

/// The lines of a text that have commands, as they are asked for. Words may be quoted as in a shell, and `#` begins a comment.
pub(super) fn lines(text: impl BufRead) -> impl Iterator<Item = Result<Vec<Written>>> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.filter_map(|(number, line)| {
        let commands = || {
            let line = line.context("reading commands")?;
            let words = shell_words::split(&line)
                .map_err(|_| anyhow!("line {number}: a quotation mark has no end"))?;
            if words.is_empty() {
                return Ok(None);
            }
            read(&words).map(Some).map_err(|why| anyhow!("line {number}: {why}"))
        };
        commands().transpose()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(worker: usize, command: &str, fields: &[&str]) -> Written {
        let fields = fields.iter().map(|field| field.parse().expect("a field")).collect();
        Written { worker, command: command.to_owned(), fields }
    }

    #[test]
    fn a_line_has_commands_with_their_fields_for_workers() {
        assert_eq!(read(&["loopback", "data=1"]), Ok(vec![written(0, "loopback", &["data=1"])]));
        let line = ["0:tag_recv", "tag=7", "+", "1:tag_send", "dest=0", "data=a+b", "+", "stop"];
        let expected = vec![
            written(0, "tag_recv", &["tag=7"]),
            written(1, "tag_send", &["dest=0", "data=a+b"]),
            written(0, "stop", &[]),
        ];
        assert_eq!(read(&line), Ok(expected));
        for (line, part) in [
            (&["loopback", "data"][..], "`data`: expected field=value"),
            (&["a", "b=1", "c"], "behind a `+`"),
            (&["+", "a"], "no command beside"),
            (&["a", "+"], "no command beside"),
            (&["x:a"], "`x` is no worker's number"),
            (&[":a"], "`` is no worker's number"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(part), "{line:?}: {error}");
        }
    }

    #[test]
    fn a_text_has_lines_with_quotes_and_comments() {
        let text = "# what follows\n\nloopback data=1  # one\n say 'text=a b' + 1:loopback \"data=2\"\nbad 'x\nworse x\n";
        let lines: Vec<_> = lines(text.as_bytes()).collect();
        let [first, second, third, fourth] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(first.as_ref().expect("good"), &[written(0, "loopback", &["data=1"])]);
        let expected = [written(0, "say", &["text=a b"]), written(1, "loopback", &["data=2"])];
        assert_eq!(second.as_ref().expect("good"), &expected);
        for (line, part) in [(third, "line 5: a quotation mark"), (fourth, "line 6: `x`")] {
            let error = line.as_ref().expect_err("bad").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
