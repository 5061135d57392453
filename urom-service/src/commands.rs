//! The texts of `uromd` and of its operators' commands. Help, parsers and manual pages use them.

use lexopt::Arg;

/// The help text of `uromd` and each command, without `uromd`'s own options.
pub(crate) const COMMANDS: &str = include_str!("commands.txt");

/// Returns the help text of an operator's command.
pub(crate) fn help_of(command: &str) -> Option<&'static str> {
    let is_of = |text: &&str| text.split_whitespace().nth(1) == Some(command);
    COMMANDS.split("\n\n").skip(1).find(is_of)
}

/// Whether an operator's command has this option.
pub(crate) fn has_option(command: &str, option: &Arg<'_>) -> bool {
    let names = help_of(command).into_iter().flat_map(str::lines);
    let mut names =
        names.filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next());
    matches!(option, Arg::Long(option) if names.any(|name| name == *option))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::operator::Operation;
    use crate::top::Top;

    #[test]
    fn each_described_option_is_read() {
        let values = [
            ("COLUMN", "p99"),
            ("FILE", "/c"),
            ("BYTES", "4096"),
            ("HOST[:PORT]", "dpu"),
            ("NAME", "worker_graph"),
            ("SECONDS", "2"),
            ("TEXT", "a"),
        ];
        let mut count = 0;
        for command in ["status", "top", "drain", "reload", "record"] {
            let help = help_of(command).expect(command);
            for line in help.lines().filter_map(|line| line.strip_prefix("  --")) {
                let (name, value) = line.split_once(' ').unwrap_or((line, ""));
                let value = values.iter().find(|(kind, _)| *kind == value);
                let mut words = vec![OsString::from(command), format!("--{name}").into()];
                words.extend(value.map(|(_, value)| value.into()));
                words.extend((command == "top").then(|| "--once".into()));
                if command == "record" && name != "stop" {
                    words.insert(1, if name == "control" { "--stop" } else { "/tmp" }.into());
                }
                let read = Operation::read(&words).map(|read| read.map(drop));
                let read = read.or_else(|| Top::read(&words).map(|read| read.map(drop)));
                assert_eq!(read, Some(Ok(())), "{words:?}");
                count += 1;
            }
        }
        assert_eq!(count, 2 + 6 + 2 + 1 + 5);
    }

    #[test]
    fn only_the_described_options_of_a_command_are_its_own() {
        assert!(has_option("status", &Arg::Long("json")));
        for (command, option) in [
            ("reload", Arg::Long("json")),
            ("status", Arg::Long("jso")),
            ("status", Arg::Short('j')),
            ("uromd", Arg::Long("control")),
            ("stop", Arg::Long("control")),
        ] {
            assert!(!has_option(command, &option), "{command} {option:?}");
        }
        assert!(help_of("[OPTIONS]").is_none() && help_of("").is_none());
    }
}
