//! What `-h` prints.

use std::fmt::Write;

use crate::model::Flag;

/// How far the descriptions are from the left; longer flags have them on the next line.
const COLUMN: usize = 36;

pub(crate) fn usage(program: &str, flags: &[Flag]) -> String {
    let mut text = format!("Usage: {program} [DOCA Flags] [Program Flags]\n");
    for (title, is_programs) in [("DOCA Flags:", false), ("Program Flags:", true)] {
        let of_section: Vec<&Flag> =
            flags.iter().filter(|flag| flag.is_programs() == is_programs).collect();
        if of_section.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{title}");
        for flag in of_section {
            line(&mut text, flag);
        }
    }
    text
}

fn line(text: &mut String, flag: &Flag) {
    let names = match (&flag.short, &flag.long) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        _ => flag.to_string(),
    };
    let arguments = flag.arguments.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let left = format!("  {names}{arguments}");
    let description = flag.description.as_deref().unwrap_or_default();
    let note = if flag.is_mandatory { " (required)" } else { "" };
    if left.chars().count() + 2 > COLUMN {
        let _ = writeln!(text, "{left}\n{:COLUMN$}{description}{note}", "");
    } else {
        let _ = writeln!(text, "{left:COLUMN$}{description}{note}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BOOLEAN, INT, STRING, built_in, tests::flag};

    #[test]
    fn both_sections_list_their_flags() {
        let mut flags = built_in();
        flags.push(Flag {
            arguments: Some("<name>".to_owned()),
            is_mandatory: true,
            ..flag("d", "device", STRING)
        });
        flags.push(flag("", "a-name-that-leaves-no-room-at-all", BOOLEAN));
        flags.push(flag("gid", "", INT));
        let text = usage("prog", &flags);
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
        assert!(!usage("prog", &built_in()).contains("Program Flags:"));
    }
}
