//! Values as text: numbers, lists, structures and bytes, into the bytes of their type.
//!
//! | type | text |
//! | --- | --- |
//! | integer | `7`, `-7`, `0x1f`, `1_000` |
//! | float | `0.5`, `1e-3`, `inf` |
//! | array | `[1,2,3]`; an array of `u8` also as bytes |
//! | structure | `{a=1,b=[2,3]}`; what is not named is zero |
//! | `bool` | `true`, `false`, `1`, `0` |
//! | `char` | `x`, `'x'`, or its number: `0x1f600` |
//! | enum | the name of a value, or its number |
//! | text | any text; `text:@not-a-file` |
//! | bytes | any text; `hex:0a0b` or `0x0a0b`; `@file`; `text:@not-a-file` |
//! | any type | `hex:` or `@file`, with exactly its bytes |

use std::fs::File;
use std::io::Read;
use std::num::IntErrorKind;

use urom_abi::Count;
use urom_abi::describe::{Enum, Type};
use urom_service::daemon::config::MAX_MAX_MESSAGE;

use super::names;

/// How many bytes a message can have.
const MOST: usize = MAX_MAX_MESSAGE;

/// The bytes that a text stands for: itself, `text:` and a text, `hex:` or `0x` and digits, or `@` and a file's path.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    match raw(text) {
        Some(bytes) => bytes,
        None => match text.strip_prefix("0x") {
            Some(digits) => hex(digits),
            None => Ok(text.strip_prefix("text:").unwrap_or(text).as_bytes().to_vec()),
        },
    }
}

/// The bytes of `hex:..` and `@file`, which stand for themselves in every type.
fn raw(text: &str) -> Option<Result<Vec<u8>, String>> {
    if let Some(digits) = text.strip_prefix("hex:") {
        return Some(hex(digits));
    }
    let file = text.strip_prefix('@')?;
    Some(contents(file).map_err(|why| {
        let file = file.escape_debug();
        format!("the file `{file}` cannot be read: {why}; write `text:@..` for a text that begins with `@`")
    }))
}

/// All of a file, which may be a pipe, and is not read further than a message is long.
fn contents(file: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| error.to_string())?;
    opened.take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() > MOST {
        true => Err(format!("it has more than {MOST} bytes, which no message can have")),
        false => Ok(bytes),
    }
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let wrong =
        || format!("`{}` is no row of bytes: write two hexadecimal digits for each", digits.escape_debug());
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    };
    digits.chunks(2).map(|pair| byte(pair).ok_or_else(wrong)).collect()
}

/// Whether a type is one byte of many, so that a row of it is bytes and not numbers.
pub(super) fn is_byte(ty: &Type) -> bool {
    matches!(ty, Type::Int { bytes: 1, signed: false })
}

/// The elements of a payload. Bytes are [`bytes`] or a list of numbers, others a list or, without brackets, just one.
pub(super) fn elements(ty: &Type, text: &str) -> Result<Vec<u8>, String> {
    if is_byte(ty) && !text.starts_with('[') {
        return bytes(text);
    }
    if *ty == Type::Utf8 {
        return raw(text).unwrap_or_else(|| Ok(text.strip_prefix("text:").unwrap_or(text).into()));
    }
    let size = ty.size();
    if let Some(given) = raw(text) {
        let given = given?;
        return match size {
            0 => Err(format!("{} has no bytes, and {} are given", ty, given.len())),
            size if given.len() % size == 0 => Ok(given),
            size => {
                Err(format!("a {ty} takes {size} bytes, and {} are given: no multiple of that", given.len()))
            }
        };
    }
    let items = match (list(text), ty) {
        (Some(items), _) => items?,
        (None, Type::Array { .. }) => {
            return Err(format!("expected a list of {}: `[[..],[..]]`", ty));
        }
        (None, _) => vec![text],
    };
    let mut all = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let mut element = vec![0; size];
        write(ty, item, &mut element).map_err(|why| format!("element {index}: {why}"))?;
        all.extend(element);
    }
    Ok(all)
}

/// Writes the value that `text` stands for into `out`, which is as long as the type.
pub(super) fn write(ty: &Type, text: &str, out: &mut [u8]) -> Result<(), String> {
    let text = text.trim();
    if let Some(given) = raw(text) {
        return exactly(ty, &given?, out);
    }
    match *ty {
        Type::Int { bytes, signed } => {
            let value = integer(text, bytes, signed)?;
            copy(&value.to_le_bytes(), out);
            Ok(())
        }
        Type::Bool => {
            let value = match text {
                "true" | "1" => 1,
                "false" | "0" => 0,
                _ => return Err(format!("`{}` is no bool: write true or false", text.escape_debug())),
            };
            copy(&[value], out);
            Ok(())
        }
        Type::Char => {
            copy(&u32::from(character(text)?).to_le_bytes(), out);
            Ok(())
        }
        Type::Utf8 => {
            copy(text.as_bytes(), out);
            Ok(())
        }
        Type::Enum(of) => {
            copy(&enumerated(of, text)?.to_le_bytes(), out);
            Ok(())
        }
        Type::Float { bytes } => {
            let value: f64 = text
                .parse()
                .map_err(|_| format!("`{}` is no number for an f{}", text.escape_debug(), 8 * bytes))?;
            match bytes {
                4 => copy(&(value as f32).to_le_bytes(), out),
                _ => copy(&value.to_le_bytes(), out),
            }
            Ok(())
        }
        Type::Array { of, len } if is_byte(of) && !text.starts_with('[') => filled(len, &bytes(text)?, out),
        Type::Array { of, len } => match list(text) {
            Some(items) => array(of, len, &items?, out),
            None => Err(format!("expected {} for a {ty}: `[..,..]`", Count(len, "value"))),
        },
        Type::Struct(of) => {
            let inner =
                text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).ok_or_else(|| {
                    if text.starts_with('{') {
                        return format!("`{}` has no `}}` at its end", text.escape_debug());
                    }
                    let names: Vec<_> = of.fields.iter().map(|field| format!("{}=..", field.name)).collect();
                    format!(
                        "expected the fields of {}: `{{{}}}`, or `hex:` and {}",
                        of.name,
                        names.join(","),
                        Count(of.size, "byte")
                    )
                })?;
            for item in parts(inner)? {
                let (name, value) = item
                    .split_once('=')
                    .ok_or_else(|| format!("`{}` in {{..}} is no `field=value`", item.escape_debug()))?;
                let name = name.trim();
                let field = of.fields.iter().find(|field| field.name == name).ok_or_else(|| {
                    let names = of.fields.iter().map(|field| field.name);
                    names::unknown(&format!("{} has no field", of.name), name, names)
                })?;
                let end = field.offset.saturating_add(field.ty.size());
                let place = out.get_mut(field.offset..end).unwrap_or_default();
                write(&field.ty, value, place).map_err(|why| format!("{name}: {why}"))?;
            }
            Ok(())
        }
        Type::Opaque { name, size, .. } => Err(format!(
            "what a {name} holds is not described: give its {} as `hex:..` or `@file`, or derive \
             `urom_abi::Described` for it",
            Count(size, "byte")
        )),
    }
}

fn array(of: &Type, len: usize, items: &[&str], out: &mut [u8]) -> Result<(), String> {
    if items.len() != len {
        return Err(format!("it is given {}, and the array has {len}", Count(items.len(), "value")));
    }
    // A type without bytes has nothing to be written.
    for (index, (item, place)) in items.iter().zip(out.chunks_mut(of.size().max(1))).enumerate() {
        write(of, item, place).map_err(|why| format!("element {index}: {why}"))?;
    }
    Ok(())
}

/// A text in an array of bytes, with zeros behind it as C has them.
fn filled(len: usize, given: &[u8], out: &mut [u8]) -> Result<(), String> {
    let place = out
        .get_mut(..given.len())
        .ok_or_else(|| format!("it is given {}, and {len} fit", Count(given.len(), "byte")))?;
    place.copy_from_slice(given);
    Ok(())
}

fn exactly(ty: &Type, given: &[u8], out: &mut [u8]) -> Result<(), String> {
    if given.len() != out.len() {
        return Err(format!("it is given {}, and a {ty} takes {}", Count(given.len(), "byte"), out.len()));
    }
    out.copy_from_slice(given);
    Ok(())
}

/// As many of the bytes as there is room for.
fn copy(bytes: &[u8], out: &mut [u8]) {
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
}

/// A character as it is, between quotes, or by its number.
fn character(text: &str) -> Result<char, String> {
    let only = |text: &str| {
        let mut all = text.chars();
        all.next().filter(|_| all.next().is_none())
    };
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).and_then(only);
    let by_number =
        || integer(text, 4, false).ok().and_then(|code| char::from_u32(u32::try_from(code).ok()?));
    only(text).or(quoted).or_else(by_number).ok_or_else(|| {
        format!("`{}` is no char: write one character, or its number like 0x1f600", text.escape_debug())
    })
}

/// A value of an enum, by its name or its number.
fn enumerated(of: &Enum, text: &str) -> Result<i128, String> {
    if let Some(value) = of.values.iter().find(|value| names::plain(value.name) == names::plain(text)) {
        return Ok(value.value);
    }
    match integer(text, of.bytes, of.signed) {
        Ok(number) if of.values.iter().any(|value| value.value == number) => Ok(number),
        _ => {
            let names = of.values.iter().map(|value| value.name);
            Err(names::unknown(&format!("{} has no value", of.name), text, names))
        }
    }
}

/// An integer of so many bytes, in decimal or hexadecimal.
fn integer(text: &str, bytes: usize, signed: bool) -> Result<i128, String> {
    let ty = Type::Int { bytes, signed };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (radix, digits) = digits.strip_prefix("0x").map_or((10, digits), |digits| (16, digits));
    let digits = digits.replace('_', "");
    // A sign of its own is no digit.
    let number = Some(&digits).filter(|digits| !digits.starts_with(['+', '-']));
    let number = number.and_then(|digits| match i128::from_str_radix(digits, radix) {
        Ok(number) => Some(number),
        // More than any integer here can be, whichever.
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(i128::MAX),
        Err(_) => None,
    });
    let number = number.ok_or_else(|| {
        let hint = match text {
            "true" => ": write 1",
            "false" => ": write 0",
            _ if text.contains('+') => "; a `+` in front of a further command has spaces around it",
            _ => "",
        };
        format!("`{}` is no integer for a {ty}{hint}", text.escape_debug())
    })?;
    let value = if negative { -number } else { number };
    let bits = 8 * bytes.min(8) as u32;
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    if !(least..=most).contains(&value) {
        return Err(format!("`{}` does not fit a {ty}, which holds {least} to {most}", text.escape_debug()));
    }
    Ok(value)
}

/// The items of `[..]`; `None` for another text.
fn list(text: &str) -> Option<Result<Vec<&str>, String>> {
    let text = text.trim();
    let shown = || text.escape_debug();
    match (text.strip_prefix('['), text.ends_with(']')) {
        (Some(inner), true) => Some(parts(inner.strip_suffix(']')?)),
        (Some(_), false) => Some(Err(format!(
            "`{}` has no `]` at its end; a shell wants quotes around a list with spaces",
            shown()
        ))),
        (None, true) => Some(Err(format!("`{}` has no `[` in front", shown()))),
        (None, false) if text.contains(',') && !text.starts_with('{') => {
            Some(Err(format!("several values are a list: write `[{}]`", shown())))
        }
        (None, false) => None,
    }
}

/// The innermost bracket of a list or a structure that lacks its end.
pub(crate) fn is_open(text: &str) -> Option<char> {
    let mut open = Vec::new();
    for c in text.chars().filter(|_| text.starts_with(['[', '{'])) {
        match (c, open.last()) {
            ('[' | '{', _) => open.push(c),
            (']', Some('[')) | ('}', Some('{')) => _ = open.pop(),
            (']' | '}', _) => return None,
            _ => {}
        }
    }
    open.pop()
}

/// What stands between the commas that are in no brackets.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut open, mut start) = (Vec::new(), 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' if open.pop() != Some(c) => {
                return Err(format!("`{text}` has a `{c}` without its opening bracket"));
            }
            ',' if open.is_empty() => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    if let Some(missing) = open.pop() {
        return Err(format!("`{text}` lacks a `{missing}`: it opens more brackets than it closes"));
    }
    let last = text.get(start..).unwrap_or_default();
    if !last.trim().is_empty() {
        parts.push(last);
    }
    match parts.iter().position(|part| part.trim().is_empty()) {
        Some(index) => Err(format!("`{text}` has nothing in front of its comma number {}", index + 1)),
        None => Ok(parts.into_iter().map(str::trim).collect()),
    }
}

#[cfg(test)]
mod tests {
    use urom_abi::describe::{EnumValue, Struct, StructField};

    use super::*;

    const U8: Type = Type::Int { bytes: 1, signed: false };
    const I16: Type = Type::Int { bytes: 2, signed: true };
    const U64: Type = Type::Int { bytes: 8, signed: false };
    const TILE: Struct = Struct {
        name: "Tile",
        docs: "",
        size: 8,
        align: 4,
        fields: &[
            StructField { name: "at", docs: "", offset: 0, ty: Type::Array { of: &I16, len: 2 } },
            StructField { name: "weight", docs: "", offset: 4, ty: Type::Float { bytes: 4 } },
        ],
    };

    fn written(ty: &Type, text: &str) -> Result<Vec<u8>, String> {
        let mut out = vec![0; ty.size()];
        write(ty, text, &mut out).map(|()| out)
    }

    #[test]
    fn integers_are_decimal_or_hexadecimal_with_a_sign() {
        assert_eq!(written(&I16, "-2"), Ok(vec![0xfe, 0xff]));
        assert_eq!(written(&I16, "-0x10"), Ok(vec![0xf0, 0xff]));
        assert_eq!(written(&U64, "0xffff_ffff_ffff_ffff"), Ok(vec![0xff; 8]));
        assert_eq!(written(&U64, "18446744073709551615"), Ok(vec![0xff; 8]));
    }

    #[test]
    fn integers_that_do_not_fit_are_refused_with_the_range() {
        for (ty, text, part) in [
            (&U8, "256", "holds 0 to 255"),
            (&U8, "-1", "holds 0 to 255"),
            (&I16, "32768", "holds -32768 to 32767"),
            (&U64, "18446744073709551616", "holds 0 to 18446744073709551615"),
            (&U64, "999999999999999999999999999999999999999999", "holds 0 to 18446744073709551615"),
            (&I16, "-999999999999999999999999999999999999999999", "holds -32768 to 32767"),
            (&U64, "0xfffffffffffffffffffffffffffffffff", "holds 0 to"),
            (&U8, "1+b", "has spaces around it"),
            (&U8, "true", "write 1"),
            (&U8, "", "no integer"),
            (&U8, "--1", "no integer"),
            (&U8, "0x-1", "no integer"),
            (&U8, "1.5", "no integer"),
        ] {
            let error = written(ty, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    const MODE: Type = Type::Enum(&Enum {
        name: "Mode",
        docs: "",
        bytes: 2,
        signed: true,
        values: &[
            EnumValue { name: "ReadOnly", docs: "", value: 0 },
            EnumValue { name: "Broken", docs: "", value: -2 },
        ],
    });

    #[test]
    fn truths_characters_and_values_of_enums_are_written_by_name_or_number() {
        for (ty, text, want) in [
            (Type::Bool, "true", vec![1]),
            (Type::Bool, "0", vec![0]),
            (Type::Char, "é", vec![0xe9, 0, 0, 0]),
            (Type::Char, "7", vec![b'7', 0, 0, 0]),
            (Type::Char, "' '", vec![b' ', 0, 0, 0]),
            (Type::Char, "0x1f600", vec![0, 0xf6, 1, 0]),
            (MODE, "read_only", vec![0, 0]),
            (MODE, "Broken", vec![0xfe, 0xff]),
            (MODE, "-2", vec![0xfe, 0xff]),
            (MODE, "hex:0900", vec![9, 0]),
        ] {
            assert_eq!(written(&ty, text), Ok(want), "{text}");
        }
        for (ty, text, part) in [
            (Type::Bool, "2", "write true or false"),
            (Type::Char, "ab", "one character"),
            (Type::Char, "0xd800", "one character"),
            (Type::Char, "", "one character"),
            (MODE, "Brocken", "did you mean `Broken`"),
            (MODE, "1", "Mode has no value `1`: there is `ReadOnly`, `Broken`"),
        ] {
            let error = written(&ty, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(elements(&Type::Utf8, "[é]"), Ok("[é]".into()));
        assert_eq!(elements(&Type::Utf8, "text:@x"), Ok("@x".into()));
    }

    #[test]
    fn structures_are_lists_of_fields_and_what_is_not_named_is_zero() {
        let tile = Type::Struct(&TILE);
        let bytes = [&[1, 0, 0xfe, 0xff][..], &0.5f32.to_le_bytes()].concat();
        assert_eq!(written(&tile, "{at=[1, -2], weight=0.5}"), Ok(bytes));
        assert_eq!(written(&tile, "{weight=0}"), Ok(vec![0; 8]));
        assert_eq!(written(&tile, "hex:0102030405060708"), Ok(vec![1, 2, 3, 4, 5, 6, 7, 8]));
        for (text, part) in [
            ("{wieght=1}", "did you mean `weight`"),
            ("{at=[1]}", "the array has 2"),
            ("{at=[1,2}", "brackets"),
            ("{at}", "no `field=value`"),
            ("1", "expected the fields of Tile"),
            ("hex:01", "takes 8"),
        ] {
            let error = written(&tile, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn bytes_are_text_digits_or_a_file() {
        assert_eq!(bytes("a=b"), Ok(b"a=b".to_vec()));
        assert_eq!(bytes(""), Ok(vec![]));
        assert_eq!(
            (bytes("hex:0aFf"), bytes("0x0a"), bytes("text:0x")),
            (Ok(vec![10, 255]), Ok(vec![10]), Ok(b"0x".to_vec()))
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0, 1]).unwrap();
        assert_eq!(bytes(&format!("@{}", file.path().display())), Ok(vec![0, 1]));
        for bad in ["hex:0", "hex:0g", "0xé", "@/nowhere/at/all", "@", "@/"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        let endless = bytes("@/dev/zero").unwrap_err();
        assert!(endless.contains("which no message can have"), "{endless}");
    }

    #[test]
    fn elements_are_a_list_or_one_or_whole_bytes() {
        assert_eq!(elements(&I16, "[1,-1]"), Ok(vec![1, 0, 0xff, 0xff]));
        assert_eq!(elements(&I16, "[]"), Ok(vec![]));
        assert_eq!(elements(&I16, "5"), Ok(vec![5, 0]));
        assert_eq!(elements(&I16, "hex:01020304"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(elements(&U8, "[1,2]"), Ok(vec![1, 2]));
        assert_eq!(elements(&U8, "12"), Ok(b"12".to_vec()));
        assert!(elements(&I16, "hex:010203").unwrap_err().contains("takes 2"));
        assert!(elements(&I16, "[1,x]").unwrap_err().starts_with("element 1"));
    }

    #[test]
    fn a_mistyped_list_is_told_what_it_lacks() {
        for (text, part) in [
            ("[1,2", "`[1,2` has no `]` at its end"),
            ("1,2]", "has no `[` in front"),
            ("1,2", "a list: write `[1,2]`"),
            ("[1,,2]", "nothing in front of its comma number 2"),
            ("[,1]", "nothing in front of its comma number 1"),
            ("[[1,2]", "lacks a `]`"),
            ("[1]]", "`]` without its opening bracket"),
            ("[{1]]", "`]` without its opening bracket"),
        ] {
            let error = elements(&I16, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            let error = written(&Type::Array { of: &I16, len: 2 }, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(elements(&I16, "[1,2,]"), Ok(vec![1, 0, 2, 0]));
        assert_eq!(elements(&U8, "a,b"), Ok(b"a,b".to_vec()), "a text");
        let error = written(&Type::Struct(&TILE), "{weight=1").unwrap_err();
        assert!(error.contains("no `}` at its end"), "{error}");
    }

    #[test]
    fn an_array_of_bytes_takes_a_text_and_zeros_behind_it() {
        let name = Type::Array { of: &U8, len: 4 };
        assert_eq!(written(&name, "ab"), Ok(vec![b'a', b'b', 0, 0]));
        assert_eq!(written(&name, "[1,2,3,4]"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(written(&name, "a,b]"), Ok(b"a,b]".to_vec()));
        assert!(written(&name, "abcde").unwrap_err().contains("4 fit"));
        assert!(written(&name, "hex:01").unwrap_err().contains("takes 4"));
    }
}
