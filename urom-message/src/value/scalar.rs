//! Parses numbers, booleans, characters and values of enums.

use std::num::IntErrorKind;

use urom_abi::describe::{Enum, Type};

use super::super::names;

pub(super) fn truth(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("`{}` is not a bool: write true or false", text.escape_debug())),
    }
}

pub(super) fn float(text: &str, bytes: usize) -> Result<u64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| format!("`{}` is not a number for an f{}", text.escape_debug(), 8 * bytes))?;
    Ok(if bytes == 4 { (value as f32).to_bits().into() } else { value.to_bits() })
}

/// Parses a character: plain, between quotes, or as its number.
pub(super) fn character(text: &str) -> Result<char, String> {
    let only = |text: &str| {
        let mut all = text.chars();
        all.next().filter(|_| all.next().is_none())
    };
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).and_then(only);
    let by_number =
        || integer(text, 4, false).ok().and_then(|code| char::from_u32(u32::try_from(code).ok()?));
    only(text).or(quoted).or_else(by_number).ok_or_else(|| {
        format!(
            "`{}` is not a char: write one character, or its number like 0x1f600",
            text.escape_debug()
        )
    })
}

pub(super) fn enumerated(of: &Enum, text: &str) -> Result<i128, String> {
    if let Some(value) =
        of.values.iter().find(|value| names::plain(value.name) == names::plain(text))
    {
        return Ok(value.value);
    }
    match integer(text, of.bytes, of.signed) {
        Ok(number) if of.values.iter().any(|value| value.value == number) => Ok(number),
        _ => {
            let names = of.values.iter().map(|value| value.name);
            Err(names::unknown(&format!("{} lacks the value", of.name), text, names))
        }
    }
}

pub(super) fn integer(text: &str, bytes: usize, signed: bool) -> Result<i128, String> {
    let ty = Type::Int { bytes, signed };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (radix, digits) = digits.strip_prefix("0x").map_or((10, digits), |digits| (16, digits));
    // Rejects a second sign, which `from_str_radix` would accept.
    let is_number = !digits.starts_with(['+', '-']);
    let number = match i128::from_str_radix(&(sign.to_owned() + &digits.replace('_', "")), radix) {
        Ok(number) => Some(number),
        // Any value outside of the range suffices.
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(i128::MAX),
        Err(error) if *error.kind() == IntErrorKind::NegOverflow => Some(i128::MIN),
        Err(_) => None,
    };
    let number = number.filter(|_| is_number);
    let value = number.ok_or_else(|| {
        let hint = match text {
            "true" => ": write 1",
            "false" => ": write 0",
            _ if text.contains('+') => "; a `+` in front of a further command has spaces around it",
            _ => "",
        };
        format!("`{}` is not an integer for a {ty}{hint}", text.escape_debug())
    })?;
    let values = 1i128 << (8 * bytes.min(8));
    let least = if signed { -values / 2 } else { 0 };
    let most = least + values - 1;
    if !(least..=most).contains(&value) {
        let text = text.escape_debug();
        return Err(format!("`{text}` does not fit a {ty}, which holds {least} to {most}"));
    }
    Ok(value)
}
