//! The command line: from arguments to flags, values and commands.
//!
//! As in getopt: `--name value`, `--name=value`, `-n value`, `-nvalue`, combined short flags
//! (`-abc`, the last with its value), and `--` before positional arguments. Extensions: short names
//! of several letters (`-gid 3`), before combined flags; `-n=value`; values with a dash (`-n -5`).
//! Any other argument names a command, whose flags apply from there on.

use std::ffi::{CStr, CString, c_int};

use crate::argp::command::{ArgpCommand, CommandPath};
use crate::argp::model::{
    ArgpError, BOOLEAN, Flag, FlagAction, FlagValue, INT, LEVEL, LEVELS, ParsedFlag, refusal,
};

#[derive(Debug)]
pub(crate) struct CommandLine<'a> {
    pub(crate) path: CommandPath<'a>,
    /// In order. Help or version comes last.
    pub(crate) found: Vec<ParsedFlag<'a>>,
}

pub(crate) fn parse<'a>(
    program: &'a ArgpCommand,
    args: &[&CStr],
) -> Result<CommandLine<'a>, ArgpError> {
    let mut path = CommandPath::to(program);
    let mut found = Vec::new();
    let mut rest = args.iter().map(|arg| arg.to_bytes()).peekable();
    while let Some(arg) = rest.next() {
        if arg == b"--" {
            break;
        }
        if arg == b"-" || !arg.starts_with(b"-") {
            let unknown = || {
                refusal!(
                    INVALID_VALUE,
                    "{} belongs to no flag; -h lists the flags there are",
                    shown(arg)
                )
            };
            path.enter(arg).unwrap_or_else(|| Err(unknown()))?;
            continue;
        }
        for (flag, given) in split(&path, arg)? {
            let value = match (flag.kind, given) {
                (BOOLEAN, None) => FlagValue::Bool(true),
                (BOOLEAN, Some(text)) => {
                    return Err(refusal!(
                        INVALID_VALUE,
                        "flag {flag} does not take a value, and got {}",
                        shown(text)
                    ));
                }
                (_, Some(text)) => value(flag, text)?,
                (_, None) => value(flag, value_behind(&path, flag, rest.next())?)?,
            };
            found.push(ParsedFlag { flag, value });
            if matches!(flag.action, Some(FlagAction::Help | FlagAction::Version)) {
                return Ok(CommandLine { path, found });
            }
        }
    }
    Ok(CommandLine { path, found })
}

type Piece<'a, 't> = (&'a Flag, Option<&'t [u8]>);

/// Splits an argument that begins with a dash into flags.
fn split<'a, 't>(path: &CommandPath<'a>, arg: &'t [u8]) -> Result<Vec<Piece<'a, 't>>, ArgpError> {
    let unknown = |name: &[u8]| {
        refusal!(NOT_SUPPORTED, "unknown flag {}; -h lists the flags there are", shown(name))
    };
    if let Some(text) = arg.strip_prefix(b"--") {
        let (name, value) = at_equals_sign(text);
        let flag =
            find(path, name, |flag| &flag.long).ok_or_else(|| unknown(&arg[..2 + name.len()]))?;
        return Ok(vec![(flag, value)]);
    }
    let text = arg.strip_prefix(b"-").unwrap_or(arg);
    let (name, value) = at_equals_sign(text);
    if let Some(flag) = find(path, name, |flag| &flag.short) {
        return Ok(vec![(flag, value)]);
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while let [letter, behind @ ..] = rest {
        let letter = std::slice::from_ref(letter);
        let flag = find(path, letter, |flag| &flag.short).ok_or_else(|| unknown(arg))?;
        rest = behind;
        let value = if flag.kind == BOOLEAN {
            // The text after `=` is meant as a value, which the caller refuses.
            rest.strip_prefix(b"=")
        } else {
            Some(rest.strip_prefix(b"=").unwrap_or(rest)).filter(|_| !rest.is_empty())
        };
        if value.is_some() {
            rest = &[];
        }
        pieces.push((flag, value));
    }
    Ok(pieces)
}

fn at_equals_sign(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == b'=') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn find<'a>(
    path: &CommandPath<'a>,
    name: &[u8],
    of: impl Fn(&Flag) -> &Option<String>,
) -> Option<&'a Flag> {
    path.flags().find(|flag| of(flag).as_ref().is_some_and(|known| known.as_bytes() == name))
}

fn value_behind<'t>(
    path: &CommandPath<'_>,
    flag: &Flag,
    next: Option<&'t [u8]>,
) -> Result<&'t [u8], ArgpError> {
    let direct = flag.long.as_ref().map_or_else(|| format!("{flag}="), |long| format!("--{long}="));
    match next {
        None => Err(refusal!(INVALID_VALUE, "flag {flag} needs a value behind it")),
        Some(text)
            if text == b"--"
                || text != b"-" && text.starts_with(b"-") && split(path, text).is_ok() =>
        {
            Err(refusal!(
                INVALID_VALUE,
                "flag {flag} needs a value, and {} is a flag; if it is meant as the value, write {direct}{}",
                shown(text),
                String::from_utf8_lossy(text)
            ))
        }
        Some(text) => Ok(text),
    }
}

fn value(flag: &Flag, text: &[u8]) -> Result<FlagValue, ArgpError> {
    match flag.kind {
        INT | LEVEL => flag.int(int(flag, text)?),
        // C strings do not contain NUL.
        _ => CString::new(text).map(FlagValue::Text).map_err(|_| refusal!(INVALID_VALUE, "a NUL")),
    }
}

fn int(flag: &Flag, text: &[u8]) -> Result<c_int, ArgpError> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<c_int>().ok());
    number.ok_or_else(|| {
        let wanted = match flag.kind {
            LEVEL => format!("a level ({LEVELS})"),
            _ => format!("a whole number from {} to {}", c_int::MIN, c_int::MAX),
        };
        refusal!(INVALID_VALUE, "flag {flag} needs {wanted}, and was given {}", shown(text))
    })
}

fn shown(text: &[u8]) -> String {
    format!("`{}`", text.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use urom_abi::DocaError;

    use crate::argp::model::{STRING, tests::flag};

    /// Adds -d/--device TEXT, -n/--number INT, -a, -b, -gid INT, -g, -5, --long-only TEXT.
    fn program() -> ArgpCommand {
        let mut program = ArgpCommand::program();
        program.flags.extend([
            flag("d", "device", STRING),
            flag("n", "number", INT),
            flag("a", "all", BOOLEAN),
            flag("b", "", BOOLEAN),
            flag("gid", "gid-index", INT),
            flag("g", "", BOOLEAN),
            flag("5", "", BOOLEAN),
            flag("", "long-only", STRING),
        ]);
        program
    }

    fn parse_line<'a>(
        program: &'a ArgpCommand,
        line: &[&str],
    ) -> Result<CommandLine<'a>, ArgpError> {
        let owned: Vec<CString> = line.iter().map(|arg| CString::new(*arg).unwrap()).collect();
        let args: Vec<&CStr> = owned.iter().map(CString::as_c_str).collect();
        parse(program, &args)
    }

    fn found(line: &[&str]) -> Vec<String> {
        parse_line(&program(), line).unwrap().found.iter().map(ParsedFlag::to_string).collect()
    }

    fn refused(line: &[&str], code: DocaError, parts: &[&str]) {
        let program = program();
        let refusal = parse_line(&program, line).unwrap_err();
        assert_eq!(refusal.code, code, "{line:?}: {}", refusal.text);
        for part in parts {
            assert!(refusal.text.contains(part), "{line:?}: no {part:?} in {:?}", refusal.text);
        }
    }

    #[test]
    fn a_value_stands_behind_its_flag_or_in_the_same_argument() {
        for line in [
            &["-d", "mlx5_0"][..],
            &["-dmlx5_0"],
            &["-d=mlx5_0"],
            &["--device", "mlx5_0"],
            &["--device=mlx5_0"],
        ] {
            assert_eq!(found(line), ["-d/--device=mlx5_0"], "{line:?}");
        }
        assert_eq!(found(&["--long-only", "a=b"]), ["--long-only=a=b"]);
        assert_eq!(found(&["--device=a=b"]), ["-d/--device=a=b"]);
        assert_eq!(found(&["--device="]), ["-d/--device="]);
        assert_eq!(found(&["-d", ""]), ["-d/--device="]);
        assert_eq!(found(&[]), [""; 0]);
    }

    #[test]
    fn numbers_may_be_negative() {
        for line in
            [&["-n", "-7"][..], &["-n-7"], &["-n=-7"], &["--number", "-7"], &["--number=-7"]]
        {
            assert_eq!(found(line), ["-n/--number=-7"], "{line:?}");
        }
        assert_eq!(
            found(&["-n", "-2147483648", "-n", "+2147483647"]),
            ["-n/--number=-2147483648", "-n/--number=2147483647"]
        );
    }

    #[test]
    fn short_flags_stand_together_and_longer_names_win() {
        assert_eq!(found(&["-abg"]), ["-a/--all=true", "-b=true", "-g=true"]);
        assert_eq!(found(&["-abdmlx5_0"]), ["-a/--all=true", "-b=true", "-d/--device=mlx5_0"]);
        assert_eq!(found(&["-abd", "x"]), ["-a/--all=true", "-b=true", "-d/--device=x"]);
        assert_eq!(found(&["-gid", "3"]), ["-gid/--gid-index=3"]);
        assert_eq!(found(&["-gid=3", "-g"]), ["-gid/--gid-index=3", "-g=true"]);
        assert_eq!(found(&["-ga"]), ["-g=true", "-a/--all=true"]);
        assert_eq!(found(&["-device"]), ["-d/--device=evice"]);
    }

    #[test]
    fn nothing_is_read_behind_two_dashes() {
        assert_eq!(found(&["-a", "--", "-b", "--what", "x"]), ["-a/--all=true"]);
        assert_eq!(found(&["--"]), [""; 0]);
        refused(
            &["-d", "--", "x"],
            DocaError::INVALID_VALUE,
            &["-d/--device", "`--` is a flag", "--device=--"],
        );
        assert_eq!(found(&["--device=--", "-b"]), ["-d/--device=--", "-b=true"]);
    }

    #[test]
    fn help_and_version_end_the_parse() {
        for line in [&["-h"][..], &["--help"], &["-ah"], &["-a", "-h", "--what"]] {
            assert_eq!(found(line).last().unwrap(), "-h/--help=true", "{line:?}");
        }
        assert_eq!(found(&["-v", "-h"]), ["-v/--version=true"]);
        assert_eq!(found(&["--version"]), ["-v/--version=true"]);
        refused(&["--what", "-h"], DocaError::NOT_SUPPORTED, &["`--what`"]);
    }

    #[test]
    fn an_unknown_flag_is_named() {
        for (line, name) in [
            (&["--devices", "x"][..], "`--devices`"),
            (&["--dev=x"], "`--dev`"),
            (&["-x"], "`-x`"),
            (&["-axb"], "`-axb`"),
            (&["---"], "`---`"),
            (&["--=x"], "`--`"),
            (&["-=x"], "`-=x`"),
        ] {
            refused(line, DocaError::NOT_SUPPORTED, &["unknown flag", name, "-h"]);
        }
    }

    #[test]
    fn a_missing_value_is_reported() {
        for line in [&["-d"][..], &["--device"], &["-abd"], &["-n"], &["-a", "--json"]] {
            refused(line, DocaError::INVALID_VALUE, &["needs a value behind it"]);
        }
        refused(
            &["--device", "--all"],
            DocaError::INVALID_VALUE,
            &["`--all` is a flag", "--device=--all"],
        );
        refused(&["-n", "-5"], DocaError::INVALID_VALUE, &["`-5` is a flag", "--number=-5"]);
        assert_eq!(found(&["-d", "-x"]), ["-d/--device=-x"]);
        assert_eq!(found(&["-d", "-"]), ["-d/--device=-"]);
    }

    #[test]
    fn a_wrong_value_is_reported_with_the_valid_values() {
        for number in
            ["", "x", "1.5", "2147483648", "-2147483649", "0x10", "1 2", "99999999999999999999"]
        {
            let line = format!("--number={number}");
            refused(
                &[&line],
                DocaError::INVALID_VALUE,
                &["-n/--number", &format!("`{number}`"), "2147483647"],
            );
        }
        refused(
            &["-l", "debug"],
            DocaError::INVALID_VALUE,
            &["-l/--log-level", "60=DEBUG", "`debug`"],
        );
        for line in ["--all=true", "-a=1", "-ba="] {
            refused(&[line], DocaError::INVALID_VALUE, &["-a/--all", "does not take a value"]);
        }
    }

    #[test]
    fn an_argument_without_a_flag_is_reported() {
        for line in [&["x"][..], &["-a", "x"], &[""], &["-"], &["-a", "true"]] {
            refused(line, DocaError::INVALID_VALUE, &["belongs to no flag"]);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_values_and_shown_escaped() {
        let odd = c"\xff\xfe";
        let program = program();
        let line = parse(&program, &[c"-d", odd]).unwrap();
        assert_eq!(line.found[0].value, FlagValue::Text(odd.to_owned()));
        assert!(parse(&program, &[odd]).unwrap_err().text.contains(r"`\xff\xfe`"));
    }
}
