//! What `-h` and `doca_argp_usage` print.

use std::fmt::Write;

use crate::argp::command::Path;
use crate::argp::model::Flag;

/// How far the descriptions are from the left; longer flags have them on the next line.
const COLUMN: usize = 36;

/// The text for the last command of the path.
pub(crate) fn usage(program: &str, path: &Path<'_>, uses_dpdk: bool) -> String {
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

/// A title and what is under it; nothing without that.
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
    use crate::argp::command::Command;
    use crate::argp::model::{BOOLEAN, INT, STRING, tests::flag};

    #[test]
    fn both_sections_list_their_flags() {
        let mut program = Command::program();
        let flags = &mut program.flags;
        flags.push(Flag {
            arguments: Some("<name>".to_owned()),
            is_mandatory: true,
            ..flag("d", "device", STRING)
        });
        flags.push(flag("", "a-name-that-leaves-no-room-at-all", BOOLEAN));
        flags.push(flag("gid", "", INT));
        flags.push(Flag { is_hidden: true, ..flag("", "secret", INT) });
        let text = usage("prog", &Path::to(&program), false);
        let expected = "\
Program Flags:
  -d, --device <name>               Which device (required)
  --a-name-that-leaves-no-room-at-all
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

    #[test]
    fn a_program_without_flags_has_no_section_for_them() {
        let text = usage("prog", &Path::to(&Command::program()), false);
        assert!(!text.contains("Program Flags:") && !text.contains("Commands:"), "{text}");
    }

    #[test]
    fn a_program_with_dpdk_has_its_flags_in_front() {
        let text = usage("prog", &Path::to(&Command::program()), true);
        assert!(text.starts_with("Usage: prog [DPDK Flags] -- [DOCA Flags] [Program Flags]\n"));
    }

    #[test]
    fn commands_are_listed_and_have_a_text_of_their_own() {
        let command = |name: &str, is_hidden| Command {
            name: Some(name.to_owned()),
            description: Some(format!("About {name}")),
            is_hidden,
            ..Command::default()
        };
        let mut program = Command::program();
        program.flags.push(Flag { is_inherited: true, ..flag("d", "", STRING) });
        program.flags.push(flag("n", "", INT));
        let mut net = command("net", false);
        net.flags.push(flag("", "mtu", INT));
        net.commands = vec![command("add", false), command("drop", true)];
        program.commands = vec![net, command("debug", true)];
        let mut path = Path::to(&program);
        let text = usage("prog", &path, false);
        assert!(text.starts_with("Usage: prog [DOCA Flags] [Program Flags] <command>\n"), "{text}");
        let end = "\nCommands:\n  net                               About net\n";
        assert!(text.ends_with(end), "{text}");

        path.enter(b"net").unwrap().unwrap();
        let text = usage("prog", &path, false);
        assert!(text.starts_with("Usage: prog net [DOCA Flags] [Command Flags] <command>\n"));
        let end = "\
Command Flags:
  --mtu                             Which device
  -d                                Which device

Commands:
  add                               About add
";
        assert!(text.ends_with(end), "{text}");
        assert!(text.contains("-h, --help"), "{text}");
    }
}
