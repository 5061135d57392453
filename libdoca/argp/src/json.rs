//! JSON files: flags by their long names, in the objects `doca_general_flags` and
//! `doca_program_flags`.
//!
//! As DOCA's own files have them, comments (`//` and `/* */`) and a comma behind the last entry are
//! let through.

use std::ffi::{CStr, CString, OsStr, c_int};
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value as Json};
use urom_abi::named_file;

use crate::model::{BOOLEAN, Flag, Found, INT, LEVEL, Refusal, Value, refusal};

/// JSON with comments and last commas, and no other extension.
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

/// The most bytes that a file may have.
const MOST: usize = 1 << 20;

/// What the built-in flags are under.
const GENERAL: &str = "doca_general_flags";
/// What the program's flags are under.
const PROGRAM: &str = "doca_program_flags";

/// The flags of a file, in the order in which they were registered.
pub(crate) fn read(flags: &[Flag], path: &CStr) -> Result<Vec<Found>, Refusal> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let shown = path.display();
    let text = named_file::read_text(path, MOST)
        .map_err(|error| refusal!(IO_FAILED, "the JSON file {shown} cannot be read: {error}"))?;
    parse(flags, &text)
        .map_err(|refusal| refusal!(code = refusal.code, "the JSON file {shown}: {}", refusal.text))
}

fn parse(flags: &[Flag], text: &str) -> Result<Vec<Found>, Refusal> {
    let not_json = |why: &dyn Display| refusal!(IO_FAILED, "not JSON: {why}; correct the file");
    let root: Json =
        jsonc_parser::parse_to_serde_value(text, &SYNTAX).map_err(|error| not_json(&error))?;
    // A file without any value reads as `null`.
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
    let mut found = Vec::new();
    for section in [GENERAL, PROGRAM] {
        let is_wanted =
            |flag: &Flag| if section == GENERAL { flag.kind == LEVEL } else { flag.is_programs() };
        let Some(entries) = root.get(section) else { continue };
        let entries = object(entries, section)?;
        let of_section: Vec<(usize, &Flag)> =
            flags.iter().enumerate().filter(|(_, flag)| is_wanted(flag)).collect();
        let is_known =
            |name: &String| of_section.iter().any(|(_, flag)| flag.long.as_ref() == Some(name));
        if let Some(name) = entries.keys().find(|name| !is_known(name)) {
            return Err(unknown(section, name, &of_section));
        }
        for (at, flag) in of_section {
            if let Some(given) = flag.long.as_ref().and_then(|name| entries.get(name)) {
                found.push(Found { flag: at, value: value(flag, given)? });
            }
        }
    }
    Ok(found)
}

fn unknown(section: &str, name: &str, flags: &[(usize, &Flag)]) -> Refusal {
    let names: Vec<&str> = flags.iter().filter_map(|(_, flag)| flag.long.as_deref()).collect();
    let there = if names.is_empty() { "no flags".to_owned() } else { names.join(", ") };
    refusal!(
        NOT_SUPPORTED,
        "unknown flag `{}` in {section}; there are {there}",
        name.escape_debug()
    )
}

fn object<'a>(value: &'a Json, name: &str) -> Result<&'a Map<String, Json>, Refusal> {
    value.as_object().ok_or_else(|| {
        refusal!(
            INVALID_VALUE,
            "{name} is not an object: write {{\"{GENERAL}\": {{...}}, \"{PROGRAM}\": {{...}}}}"
        )
    })
}

fn value(flag: &Flag, given: &Json) -> Result<Value, Refusal> {
    let (value, wanted) = match flag.kind {
        BOOLEAN => (given.as_bool().map(Value::Bool), "true or false".to_owned()),
        INT | LEVEL => {
            let number = given.as_i64().and_then(|number| c_int::try_from(number).ok());
            let wanted = format!("a whole number from {} to {}", c_int::MIN, c_int::MAX);
            (number.map(Value::Int), wanted)
        }
        _ => {
            let text = given.as_str().and_then(|text| CString::new(text).ok());
            (text.map(Value::Text), "a string without a NUL".to_owned())
        }
    };
    match value {
        Some(Value::Int(number)) => flag.int(number),
        Some(value) => Ok(value),
        None => Err(refusal!(INVALID_VALUE, "flag {flag} needs {wanted}, and is {given}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use urom_abi::DocaError;

    use crate::model::{STRING, built_in, tests::flag};

    /// Behind the built-in ones (-l is the third): --device TEXT, --number INT, --all BOOLEAN, -x
    /// without a long name.
    fn flags() -> Vec<Flag> {
        let mut flags = built_in();
        flags.extend([
            flag("d", "device", STRING),
            flag("n", "number", INT),
            flag("a", "all", BOOLEAN),
            flag("x", "", BOOLEAN),
        ]);
        flags
    }

    fn found(flag: usize, value: Value) -> Found {
        Found { flag, value }
    }

    fn refused(text: &str, code: DocaError, parts: &[&str]) {
        let refusal = parse(&flags(), text).unwrap_err();
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
        let expected = [
            found(2, Value::Int(60)),
            found(3, Value::Int(40)),
            found(5, Value::Text(c"mlx5_0".to_owned())),
            found(6, Value::Int(-3)),
            found(7, Value::Bool(false)),
        ];
        assert_eq!(parse(&flags(), text).unwrap(), expected);
        assert_eq!(parse(&flags(), "{}").unwrap(), []);
        assert_eq!(parse(&flags(), r#"{"doca_program_flags": {}}"#).unwrap(), []);
    }

    #[test]
    fn comments_and_a_last_comma_are_let_through() {
        let text = "{ // one: \"{\n /* two\n , */ \"doca_program_flags\" /**/ : {\n\"device\": \"a//b/*c*/,}\\\"//\",\n },\n}";
        let expected = [found(5, Value::Text(c"a//b/*c*/,}\"//".to_owned()))];
        assert_eq!(parse(&flags(), text).unwrap(), expected);
    }

    #[test]
    fn lines_are_counted_with_their_comments() {
        let text = "{ // é\n/* two\n */ \"doca_program_flags\": {,,} }";
        refused(text, DocaError::IO_FAILED, &["line 3"]);
    }

    #[test]
    fn what_is_not_json_is_told() {
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
    fn what_is_not_an_object_is_told() {
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
    fn unknown_names_are_told_with_those_there_are() {
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
        let refusal = parse(&built_in(), r#"{"doca_program_flags": {"a": 1}}"#).unwrap_err();
        assert!(refusal.text.contains("there are no flags"), "{}", refusal.text);
    }

    #[test]
    fn a_value_of_another_type_is_told_with_the_flag() {
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
            let refusal = read(&flags(), path).unwrap_err();
            assert_eq!(refusal.code, DocaError::IO_FAILED);
            assert!(refusal.text.contains(path.to_str().unwrap()), "{}", refusal.text);
        }
    }
}
