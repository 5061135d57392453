//! Commands in arguments or in a line of a file: `COMMAND FIELD=VALUE .. + WORKER:COMMAND ..`.

use std::io::{BufRead, Read};

use anyhow::{Context, Result, ensure};

use crate::exit::usage;
use urom_message::Assignment;

const AND: &str = "+";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandSpec {
    pub(super) worker: usize,
    pub(super) command: String,
    pub(super) fields: Vec<Assignment>,
}

pub(super) fn read<S: AsRef<str>>(words: &[S]) -> Result<Vec<CommandSpec>, String> {
    let words: Vec<&str> = words.iter().flat_map(|word| apart(word.as_ref())).collect();
    words.split(|word| *word == AND).map(one).collect()
}

fn apart(word: &str) -> Vec<&str> {
    match word.strip_prefix(AND) {
        Some(command) if !command.is_empty() => vec![AND, command],
        _ => vec![word],
    }
}

fn one(words: &[&str]) -> Result<CommandSpec, String> {
    let Some((name, fields)) = words.split_first() else {
        return Err(format!("a command is missing beside a `{AND}`"));
    };
    let (number, command) = name.split_once(':').unwrap_or(("0", name));
    let worker = number.parse().map_err(|_| {
        let (number, command) = (number.escape_debug(), command.escape_debug());
        format!("`{number}` is not a worker's number: write WORKER:COMMAND, such as 1:{command}")
    })?;
    let field = |(index, word): (usize, &&str)| {
        let (before, behind) = (&fields[..index], fields.get(index + 1));
        word.parse().map_err(|why: String| no_field(word, &why, before, behind))
    };
    let fields = fields.iter().enumerate().map(field).collect::<Result<_, _>>()?;
    Ok(CommandSpec { worker, command: command.to_owned(), fields })
}

fn no_field(word: &str, why: &str, before: &[&str], behind: Option<&&str>) -> String {
    let is_open = |word: &&&str| {
        let value = word.split_once('=').map_or("", |(_, value)| value);
        value.starts_with(['[', '{']) && !value.ends_with([']', '}'])
    };
    let is_spaced = before.last().is_some_and(|last| last.ends_with('='))
        || behind.is_some_and(|next| next.starts_with('='));
    let hint = match before.iter().find(is_open) {
        Some(first) => format!("; quote `{}` with all that belongs to it", first.escape_debug()),
        None if is_spaced => ", without spaces around the `=`".to_owned(),
        None => format!("; a further command stands behind a `{AND}` with spaces around it"),
    };
    format!("`{}`: {why}{hint}", word.escape_debug())
}

/// Returns the non-empty lines of a text, each with a location such as `line 3 of FILE: `. Words
/// may be quoted as in a shell, and `#` begins a comment. Only a read error ends the lines.
pub(super) fn lines(
    mut text: impl BufRead,
    of: &str,
) -> impl Iterator<Item = Result<(String, Vec<CommandSpec>)>> {
    let mut is_over = false;
    let lines = (1..).map_while(move |number| {
        if is_over {
            return None;
        }
        let location = format!("line {number} of {of}");
        let line = next(&mut text).with_context(|| format!("cannot read {location}"));
        is_over = line.is_err();
        line.transpose().map(|line| match commands(&line?) {
            Ok(commands) => Ok((location + ": ", commands)),
            Err(why) => Err(usage(format!("{location}: {why}"))),
        })
    });
    lines.filter(|line| !line.as_ref().is_ok_and(|(_, commands)| commands.is_empty()))
}

fn next(text: &mut impl BufRead) -> Result<Option<Vec<u8>>> {
    const MOST: u64 = 16 << 20;
    let mut line = Vec::new();
    let count = text.take(MOST).read_until(b'\n', &mut line)?;
    ensure!(count as u64 != MOST, "it has more than {MOST} bytes");
    Ok((count > 0).then_some(line))
}

fn commands(line: &[u8]) -> Result<Vec<CommandSpec>, String> {
    let line = str::from_utf8(line).map_err(|error| format!("it is not UTF-8 text: {error}"))?;
    let words = shlex::split(line.trim_end_matches(['\r', '\n']))
        .ok_or("a quotation mark is not closed")?;
    if words.is_empty() { Ok(Vec::new()) } else { read(&words) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn written(worker: usize, command: &str, fields: &[&str]) -> CommandSpec {
        let fields = fields.iter().map(|field| field.parse().expect("a field")).collect();
        CommandSpec { worker, command: command.to_owned(), fields }
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
            (&["+", "a"], "a command is missing beside"),
            (&["a", "+"], "a command is missing beside"),
            (&["a", "b=1+", "c"], "a `+` with spaces around it"),
            (&["a", "b", "=", "1"], "without spaces around the `=`"),
            (&["a", "b", "=1"], "without spaces around the `=`"),
            (&["a", "b=", "1"], "without spaces around the `=`"),
            (&["a", "b=[1,", "2"], "quote `b=[1,` with all"),
            (&["a", "b={c=1,", "d"], "quote `b={c=1,` with all"),
            (&["x:a"], "`x` is not a worker's number"),
            (&[":a"], "`` is not a worker's number"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(part), "{line:?}: {error}");
        }
    }

    #[test]
    fn a_plus_may_stand_at_the_next_command() {
        let expected = vec![written(0, "put", &["a=[1,2]"]), written(1, "stop", &[])];
        assert_eq!(read(&["put", "a=[1,2]", "+1:stop"]), Ok(expected));
    }

    #[test]
    fn a_text_has_lines_with_quotes_and_comments() {
        let text = b"# what follows\n\nloopback data=1  # one\r\n say 'text=a b' + 1:loopback \"data=2\"\nbad 'x\nworse x\nb\xffd\nlast";
        let lines: Vec<_> = lines(&text[..], "FILE").collect();
        let [first, second, wrong @ .., last] = &lines[..] else { panic!("{lines:?}") };
        let good = |location: &str, commands| (format!("{location}: "), commands);
        let expected = good("line 3 of FILE", vec![written(0, "loopback", &["data=1"])]);
        assert_eq!(first.as_ref().expect("good"), &expected);
        let expected = vec![written(0, "say", &["text=a b"]), written(1, "loopback", &["data=2"])];
        assert_eq!(second.as_ref().expect("good"), &good("line 4 of FILE", expected));
        assert_eq!(
            last.as_ref().expect("good"),
            &good("line 8 of FILE", vec![written(0, "last", &[])])
        );
        let wrong: Vec<_> =
            wrong.iter().map(|line| line.as_ref().expect_err("bad").to_string()).collect();
        let parts = [
            "line 5 of FILE: a quotation mark",
            "line 6 of FILE: `x`",
            "line 7 of FILE: it is not UTF-8 text",
        ];
        assert!(wrong.iter().zip(parts).all(|(error, part)| error.contains(part)), "{wrong:?}");
    }

    #[test]
    fn a_text_that_cannot_be_read_further_has_no_further_lines() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::IsADirectory.into())
            }
        }
        let lines: Vec<_> = lines(io::BufReader::new(Broken), "FILE").collect();
        let [Err(error)] = &lines[..] else { panic!("{lines:?}") };
        assert!(error.to_string().contains("cannot read line 1 of FILE"), "{error}");
        let endless = io::BufReader::new(io::repeat(b'x'));
        let lines: Vec<_> = super::lines(endless, "FILE").collect();
        let [Err(error)] = &lines[..] else { panic!("{lines:?}") };
        let error = format!("{error:#}");
        assert!(error.contains("cannot read line 1 of FILE: it has more than"), "{error}");
    }
}
