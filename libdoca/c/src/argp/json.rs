//! JSON files: flags by long name, in the objects `doca_general_flags` and `doca_program_flags`. A
//! command's flags are in an object with its name, inside the program's or outer command's object.
//! Comments (`//` and `/* */`) and trailing commas are allowed, because DOCA's own files have them.

use std::ffi::{CStr, CString, OsStr, c_int};
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value as Json};
use urom_os::named_file;

use crate::argp::command::{ArgpCommand, CommandPath};
use crate::argp::model::{ArgpError, BOOLEAN, Flag, FlagValue, INT, LEVEL, ParsedFlag, refusal};

const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const MOST: usize = 1 << 20;

const GENERAL: &str = "doca_general_flags";
const PROGRAM: &str = "doca_program_flags";

/// Validates a file. Returns its flags for the program and each command in use.
pub(crate) fn read<'a>(
    path: &CommandPath<'a>,
    file: &CStr,
) -> Result<Vec<ParsedFlag<'a>>, ArgpError> {
    let file = std::path::Path::new(OsStr::from_bytes(file.to_bytes()));
    let shown = file.display();
    let text = named_file::read_text(file, MOST)
        .map_err(|error| refusal!(IO_FAILED, "the JSON file {shown} cannot be read: {error}"))?;
    parse(path, &text)
        .map_err(|refusal| refusal!(code = refusal.code, "the JSON file {shown}: {}", refusal.text))
}

fn parse<'a>(path: &CommandPath<'a>, text: &str) -> Result<Vec<ParsedFlag<'a>>, ArgpError> {
    let not_json = |why: &dyn Display| refusal!(IO_FAILED, "not JSON: {why}; correct the file");
    let root: Json =
        jsonc_parser::parse_to_serde_value(text, &SYNTAX).map_err(|error| not_json(&error))?;
    if root.is_null() && matches!(jsonc_parser::parse_to_value(text, &SYNTAX), Ok(None)) {
        return Err(not_json(&"there is nothing in it"));
    }
    let root = object(&root, "the file")?;
    if let Some(name) = root.keys().find(|name| *name != GENERAL && *name != PROGRAM) {
        return Err(refusal!(
            NOT_SUPPORTED,
            "unknown section `{}`; there are {GENERAL} and {PROGRAM}",
            name.escape_debug()
        ));
    }
    let (program, chosen) = path.commands().split_first().expect("the program is the first");
    let mut found = Vec::new();
    if let Some(entries) = root.get(GENERAL) {
        let of_doca = program.flags.iter().filter(|flag| flag.kind == LEVEL);
        let section = Section { name: GENERAL, flags: of_doca.collect(), commands: &[] };
        section.read(object(entries, GENERAL)?, Some(&[]), &mut found)?;
    }
    if let Some(entries) = root.get(PROGRAM) {
        Section::of(program, PROGRAM).read(object(entries, PROGRAM)?, Some(chosen), &mut found)?;
    }
    Ok(found)
}

struct Section<'a, 'n> {
    name: &'n str,
    flags: Vec<&'a Flag>,
    commands: &'a [ArgpCommand],
}

impl<'a, 'n> Section<'a, 'n> {
    fn of(command: &'a ArgpCommand, name: &'n str) -> Section<'a, 'n> {
        let flags = command.flags.iter().filter(|flag| flag.is_programs()).collect();
        Section { name, flags, commands: &command.commands }
    }

    /// Adds the flags found. `chosen` are the subcommands in use; others are only validated.
    fn read(
        &self,
        entries: &Map<String, Json>,
        chosen: Option<&[&'a ArgpCommand]>,
        found: &mut Vec<ParsedFlag<'a>>,
    ) -> Result<(), ArgpError> {
        let of_command = |name: &str, given: &Json| {
            // Flag values are never objects.
            given.is_object() && self.commands.iter().any(|command| command.shown() == name)
        };
        let of_flag = |name: &str| self.flags.iter().any(|flag| flag.long.as_deref() == Some(name));
        let is_known = |name: &str, given| of_flag(name) || of_command(name, given);
        if let Some((name, _)) = entries.iter().find(|(name, given)| !is_known(name, given)) {
            return Err(unknown(self.name, name, &self.flags));
        }
        for flag in &self.flags {
            let entry = flag.long.as_ref().and_then(|name| entries.get_key_value(name));
            let Some((_, given)) = entry.filter(|(name, given)| !of_command(name, given)) else {
                continue;
            };
            if flag.is_cli_only {
                return Err(refusal!(
                    NOT_SUPPORTED,
                    "flag {flag} belongs on the command line: take it out of the file"
                ));
            }
            let several = given.as_array().filter(|_| flag.is_multiple);
            for given in several.map_or(std::slice::from_ref(given), Vec::as_slice) {
                let value = value(flag, given)?;
                if chosen.is_some() {
                    found.push(ParsedFlag { flag, value });
                }
            }
        }
        for command in self.commands {
            let Some(entries) = entries.get(command.shown()).and_then(Json::as_object) else {
                continue;
            };
            let next = chosen.and_then(<[_]>::split_first);
            let within = next.filter(|(first, _)| std::ptr::eq(**first, command));
            let name = format!("{}.{}", self.name, command.shown());
            let within = within.map(|(_, rest)| rest);
            Section::of(command, &name).read(entries, within, found)?;
        }
        Ok(())
    }
}

fn unknown(section: &str, name: &str, flags: &[&Flag]) -> ArgpError {
    let names: Vec<&str> = flags.iter().filter_map(|flag| flag.long.as_deref()).collect();
    let there = if names.is_empty() { "no flags".to_owned() } else { names.join(", ") };
    refusal!(
        NOT_SUPPORTED,
        "unknown flag `{}` in {section}; there are {there}",
        name.escape_debug()
    )
}

fn object<'a>(value: &'a Json, name: &str) -> Result<&'a Map<String, Json>, ArgpError> {
    value.as_object().ok_or_else(|| {
        refusal!(
            INVALID_VALUE,
            "{name} is not an object: write {{\"{GENERAL}\": {{...}}, \"{PROGRAM}\": {{...}}}}"
        )
    })
}

fn value(flag: &Flag, given: &Json) -> Result<FlagValue, ArgpError> {
    let (value, wanted) = match flag.kind {
        BOOLEAN => (given.as_bool().map(FlagValue::Bool), "true or false".to_owned()),
        INT | LEVEL => {
            let number = given.as_i64().and_then(|number| c_int::try_from(number).ok());
            let wanted = format!("a whole number from {} to {}", c_int::MIN, c_int::MAX);
            (number.map(FlagValue::Int), wanted)
        }
        _ => {
            let text = given.as_str().and_then(|text| CString::new(text).ok());
            (text.map(FlagValue::Text), "a string without a NUL".to_owned())
        }
    };
    match value {
        Some(FlagValue::Int(number)) => flag.int(number),
        Some(value) => Ok(value),
        None => Err(refusal!(INVALID_VALUE, "flag {flag} needs {wanted}, and is {given}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use urom_abi::DocaError;

    use crate::argp::model::{STRING, tests::flag};

    /// The built-in flags and --device TEXT, --number INT, --all BOOLEAN, -x (without long name).
    fn program() -> ArgpCommand {
        let mut program = ArgpCommand::program();
        program.flags.extend([
            flag("d", "device", STRING),
            flag("n", "number", INT),
            flag("a", "all", BOOLEAN),
            flag("x", "", BOOLEAN),
        ]);
        program
    }

    fn found(path: &CommandPath<'_>, text: &str) -> Vec<String> {
        parse(path, text).unwrap().iter().map(ParsedFlag::to_string).collect()
    }

    fn refused(text: &str, code: DocaError, parts: &[&str]) {
        refused_by(&program(), text, code, parts);
    }

    fn refused_by(program: &ArgpCommand, text: &str, code: DocaError, parts: &[&str]) {
        let refusal = parse(&CommandPath::to(program), text).unwrap_err();
        assert_eq!(refusal.code, code, "{text}: {}", refusal.text);
        for part in parts {
            assert!(refusal.text.contains(part), "{text}: no {part:?} in {:?}", refusal.text);
        }
    }

    #[test]
    fn both_sections_are_read_in_the_order_of_registration() {
        let text = r#"{
            "doca_program_flags": { "all": false, "number": -3, "device": "mlx5_0" },
            "doca_general_flags": { "sdk-log-level": 40, "log-level": 60 }
        }"#;
        let program = program();
        let path = CommandPath::to(&program);
        let expected = [
            "-l/--log-level=60",
            "--sdk-log-level=40",
            "-d/--device=mlx5_0",
            "-n/--number=-3",
            "-a/--all=false",
        ];
        assert_eq!(found(&path, text), expected);
        assert_eq!(found(&path, "{}"), [""; 0]);
        assert_eq!(found(&path, r#"{"doca_program_flags": {}}"#), [""; 0]);
    }

    #[test]
    fn comments_and_a_last_comma_are_let_through() {
        let text = "{ // one: \"{\n /* two\n , */ \"doca_program_flags\" /**/ : {\n\"device\": \"a//b/*c*/,}\\\"//\",\n },\n}";
        let expected = ["-d/--device=a//b/*c*/,}\"//"];
        assert_eq!(found(&CommandPath::to(&program()), text), expected);
    }

    #[test]
    fn lines_are_counted_with_their_comments() {
        let text = "{ // é\n/* two\n */ \"doca_program_flags\": {,,} }";
        refused(text, DocaError::IO_FAILED, &["line 3"]);
    }

    #[test]
    fn invalid_json_is_reported() {
        for text in [
            "",
            "// x",
            "{",
            "{]",
            "{\"a\" 1}",
            "/* x",
            "{\"a",
            "{\"a\\",
            "{} {}",
            "{'a': 1}",
            "[1,,]",
            "\"\\",
        ] {
            refused(text, DocaError::IO_FAILED, &["not JSON"]);
        }
    }

    #[test]
    fn a_value_other_than_an_object_is_reported() {
        for text in ["null", "[]"] {
            refused(text, DocaError::INVALID_VALUE, &["the file is not an object"]);
        }
        refused(
            r#"{"doca_general_flags": 1}"#,
            DocaError::INVALID_VALUE,
            &["doca_general_flags is not an object"],
        );
    }

    #[test]
    fn unknown_names_are_reported_with_the_known_names() {
        refused(r#"{"flags": {}}"#, DocaError::NOT_SUPPORTED, &["`flags`", "doca_program_flags"]);
        for (section, name, there) in [
            ("doca_program_flags", "devices", "device, number, all"),
            ("doca_program_flags", "log-level", "device"),
            ("doca_program_flags", "x", "device"),
            ("doca_general_flags", "device", "log-level, sdk-log-level"),
            ("doca_general_flags", "json", "log-level"),
            ("doca_general_flags", "help", "log-level"),
        ] {
            let text = format!(r#"{{"{section}": {{"{name}": 1}}}}"#);
            refused(&text, DocaError::NOT_SUPPORTED, &[section, &format!("`{name}`"), there]);
        }
        refused_by(
            &ArgpCommand::program(),
            r#"{"doca_program_flags": {"a": 1}}"#,
            DocaError::NOT_SUPPORTED,
            &["there are no flags"],
        );
    }

    #[test]
    fn a_value_of_another_type_is_reported_with_the_flag() {
        for (name, value, wanted) in [
            ("number", "\"1\"", "a whole number"),
            ("number", "1.5", "a whole number"),
            ("number", "2147483648", "a whole number"),
            ("number", "null", "a whole number"),
            ("all", "1", "true or false"),
            ("all", "\"true\"", "true or false"),
            ("device", "7", "a string"),
            ("device", "{}", "a string"),
            ("device", "\"a\\u0000b\"", "without a NUL"),
        ] {
            let text = format!(r#"{{"doca_program_flags": {{"{name}": {value}}}}}"#);
            refused(&text, DocaError::INVALID_VALUE, &[&format!("--{name}"), wanted]);
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        for path in [c"/nonexistent/flags.json", c"/", c"", c"/dev/zero"] {
            let refusal = read(&CommandPath::to(&program()), path).unwrap_err();
            assert_eq!(refusal.code, DocaError::IO_FAILED);
            assert!(refusal.text.contains(path.to_str().unwrap()), "{}", refusal.text);
        }
    }
    /// `net` has the command `add` with -n/--name TEXT. `all` is also a flag.
    fn with_commands() -> ArgpCommand {
        let command = |name: &str, flags: Vec<Flag>, commands: Vec<ArgpCommand>| ArgpCommand {
            name: Some(name.to_owned()),
            flags,
            commands,
            ..ArgpCommand::default()
        };
        let mut program = program();
        let add = command("add", vec![flag("n", "name", STRING)], vec![]);
        let net = command("net", vec![flag("", "mtu", INT)], vec![add]);
        program.commands = vec![net, command("all", vec![flag("", "deep", BOOLEAN)], vec![])];
        program
    }

    #[test]
    fn a_command_that_is_named_gets_the_flags_under_its_name() {
        let program = with_commands();
        let text = r#"{"doca_program_flags": {
            "all": {"deep": true}, "net": {"add": {"name": "x"}, "mtu": 9000}, "number": 1
        }}"#;
        for (names, expected) in [
            (&[][..], &["-n/--number=1"][..]),
            (&["all"], &["-n/--number=1", "--deep=true"]),
            (&["net"], &["-n/--number=1", "--mtu=9000"]),
            (&["net", "add"], &["-n/--number=1", "--mtu=9000", "-n/--name=x"]),
        ] {
            let mut path = CommandPath::to(&program);
            for name in names {
                path.enter(str::as_bytes(name)).unwrap().unwrap();
            }
            assert_eq!(found(&path, text), expected, "{names:?}");
        }
        let text = r#"{"doca_program_flags": {"all": true}}"#;
        assert_eq!(found(&CommandPath::to(&program), text), ["-a/--all=true"]);
    }

    #[test]
    fn a_list_is_for_a_flag_that_may_be_given_more_than_once() {
        let mut program = program();
        program.flags.push(Flag { is_multiple: true, ..flag("", "peer", INT) });
        let path = CommandPath::to(&program);
        let text = |value: &str| format!(r#"{{"doca_program_flags": {{"peer": {value}}}}}"#);
        assert_eq!(found(&path, &text("[1, 2]")), ["--peer=1", "--peer=2"]);
        assert_eq!(found(&path, &text("3")), ["--peer=3"]);
        assert_eq!(found(&path, &text("[]")), [""; 0]);
        for wrong in ["[1, \"x\"]", "[[1]]", "{}"] {
            refused_by(&program, &text(wrong), DocaError::INVALID_VALUE, &["--peer"]);
        }
        let text = r#"{"doca_program_flags": {"number": [1]}}"#;
        refused_by(&program, text, DocaError::INVALID_VALUE, &["-n/--number", "[1]"]);
    }
}
