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

mod bytes;
mod list;
mod scalar;

#[cfg(test)]
mod tests;

use urom_abi::Count;
use urom_abi::describe::Type;

use super::names;
use bytes::raw;
use list::{list, parts};
use scalar::{character, enumerated, integer};

pub(crate) use bytes::bytes;
pub(crate) use list::is_open;

/// Whether a type is one byte of many, so that a row of it is bytes and not numbers.
pub(super) fn is_byte(ty: &Type) -> bool {
    matches!(ty, Type::Int { bytes: 1, signed: false })
}

/// The elements of a payload. Bytes are [`bytes()`] or a list of numbers, others a list or, without brackets, just one.
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
            size => Err(format!(
                "a {ty} takes {size} bytes, and {} are given: no multiple of that",
                given.len()
            )),
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
                _ => {
                    return Err(format!(
                        "`{}` is no bool: write true or false",
                        text.escape_debug()
                    ));
                }
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
            let value: f64 = text.parse().map_err(|_| {
                format!("`{}` is no number for an f{}", text.escape_debug(), 8 * bytes)
            })?;
            match bytes {
                4 => copy(&(value as f32).to_le_bytes(), out),
                _ => copy(&value.to_le_bytes(), out),
            }
            Ok(())
        }
        Type::Array { of, len } if is_byte(of) && !text.starts_with('[') => {
            filled(len, &bytes(text)?, out)
        }
        Type::Array { of, len } => match list(text) {
            Some(items) => array(of, len, &items?, out),
            None => Err(format!("expected {} for a {ty}: `[..,..]`", Count(len, "value"))),
        },
        Type::Struct(of) => {
            let inner = text
                .strip_prefix('{')
                .and_then(|inner| inner.strip_suffix('}'))
                .ok_or_else(|| {
                    if text.starts_with('{') {
                        return format!("`{}` has no `}}` at its end", text.escape_debug());
                    }
                    let names: Vec<_> =
                        of.fields.iter().map(|field| format!("{}=..", field.name)).collect();
                    format!(
                        "expected the fields of {}: `{{{}}}`, or `hex:` and {}",
                        of.name,
                        names.join(","),
                        Count(of.size, "byte")
                    )
                })?;
            for item in parts(inner)? {
                let (name, value) = item.split_once('=').ok_or_else(|| {
                    format!("`{}` in {{..}} is no `field=value`", item.escape_debug())
                })?;
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
        return Err(format!(
            "it is given {}, and the array has {len}",
            Count(items.len(), "value")
        ));
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
        return Err(format!(
            "it is given {}, and a {ty} takes {}",
            Count(given.len(), "byte"),
            out.len()
        ));
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
