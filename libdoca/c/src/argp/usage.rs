//! The output of `-h` and `doca_argp_usage`.

use std::fmt::Write;

use crate::argp::command::CommandPath;
use crate::argp::model::Flag;

/// Column of the descriptions; longer flags have them on the next line.
const COLUMN: usize = 36;

pub(crate) fn usage(program: &str, path: &CommandPath<'_>, uses_dpdk: bool) -> String {
    let last = path.last();
    let names: String =
        path.commands()[1..].iter().map(|one| format!(" {}", one.shown())).collect();
    let (own, title) = match names.is_empty() {
        true => ("Program", "Program Flags:"),
        false => ("Command", "Command Flags:"),
    };
    let dpdk = if uses_dpdk { " [DPDK Flags] --" } else { "" };
    let command = match (last.commands.is_empty(), last.needs_command()) {
        (true, _) => "",
        (false, true) => " <command>",
        (false, false) => " [<command>]",
    };
    let mut text = format!("Usage: {program}{dpdk}{names} [DOCA Flags] [{own} Flags]{command}\n");
    for (title, is_programs) in [("DOCA Flags:", false), (title, true)] {
        let listed = |flag: &&Flag| flag.is_programs() == is_programs && !flag.is_hidden;
        section(&mut text, title, path.flags().filter(listed), line);
    }
    let listed = last.commands.iter().filter(|command| !command.is_hidden);
    section(&mut text, "Commands:", listed, |text, command| {
        entry(text, command.shown(), command.description.as_deref().unwrap_or_default());
    });
    text
}

fn section<T>(
    text: &mut String,
    title: &str,
    entries: impl Iterator<Item = T>,
    line: impl Fn(&mut String, T),
) {
    let mut entries = entries.peekable();
    if entries.peek().is_some() {
        let _ = writeln!(text, "\n{title}");
        entries.for_each(|entry| line(text, entry));
    }
}

fn line(text: &mut String, flag: &Flag) {
    let names = match (&flag.short, &flag.long) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        _ => flag.to_string(),
    };
    let arguments = flag.arguments.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let description = flag.description.as_deref().unwrap_or_default();
    let note = if flag.is_mandatory { " (required)" } else { "" };
    entry(text, &format!("{names}{arguments}"), &format!("{description}{note}"));
}

fn entry(text: &mut String, names: &str, description: &str) {
    let left = format!("  {names}");
    if left.chars().count() + 2 > COLUMN {
        let _ = writeln!(text, "{left}\n{:COLUMN$}{description}", "");
    } else {
        let _ = writeln!(text, "{left:COLUMN$}{description}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argp::command::ArgpCommand;
    use crate::argp::model::{BOOLEAN, INT, STRING, tests::flag};

    #[test]
    fn both_sections_list_their_flags() {
        let mut program = ArgpCommand::program();
        let flags = &mut program.flags;
        flags.push(Flag {
            arguments: Some("<name>".to_owned()),
            is_mandatory: true,
            ..flag("d", "device", STRING)
        });
        flags.push(flag("", "a-name-that-leaves-no-space-at-all", BOOLEAN));
        flags.push(flag("gid", "", INT));
        flags.push(Flag { is_hidden: true, ..flag("", "secret", INT) });
        let text = usage("prog", &CommandPath::to(&program), false);
        let expected = "\
Program Flags:
  -d, --device <name>               Which device (required)
  --a-name-that-leaves-no-space-at-all
                                    Which device
  -gid                              Which device
";
        assert!(
            text.starts_with(
                "Usage: prog [DOCA Flags] [Program Flags]\n\nDOCA Flags:\n  -h, --help  "
            ),
            "{text}"
        );
        assert!(text.ends_with(expected), "{text}");
        for name in [
            "-v, --version",
            "-l, --log-level <level>",
            "  --sdk-log-level <level>",
            "-j, --json <path>",
        ] {
            assert!(text.contains(name), "{name}\n{text}");
        }
    }
}
