//! Encodes values from text: numbers, lists, structures and bytes.
//!
//! | type | text |
//! | --- | --- |
//! | integer | `7`, `-7`, `0x1f`, `1_000` |
//! | float | `0.5`, `1e-3`, `inf` |
//! | array | `[1,2,3]`; an array of `u8` also as bytes |
//! | structure | `{a=1,b=[2,3]}`; missing fields are zero |
//! | `MemoryRange` | also memory's name, `NAME`, or a part, `NAME[from..to]` |
//! | `bool` | `true`, `false`, `1`, `0` |
//! | `char` | `x`, `'x'`, or its number: `0x1f600` |
//! | enum | the name of a value, or its number |
//! | text | any text; `text:@not-a-file` |
//! | bytes | any text; `hex:0a0b` or `0x0a0b`; `@file`; `text:@not-a-file` |
//! | any type | `hex:` or `@file`, with exactly its bytes |

mod bytes;
mod list;
mod scalar;

use urom_abi::Quantity;
use urom_abi::describe::{Struct, Type};

use super::location::{is_byte, member};
use super::memory::{Memories, is_range, range};
use bytes::raw;
use list::{list, parts};
use scalar::{character, enumerated, float, integer, truth};

pub use bytes::bytes;

/// Encodes the elements of a payload: [`bytes()`], a list, or a single element.
pub(super) fn elements(ty: &Type, text: &str, memories: &Memories) -> Result<Vec<u8>, String> {
    if is_byte(ty) && !text.starts_with('[') {
        return bytes(text);
    }
    if *ty == Type::Utf8 {
        return raw(text).unwrap_or_else(|| Ok(text.strip_prefix("text:").unwrap_or(text).into()));
    }
    let size = ty.size();
    if let Some(given) = raw(text) {
        let given = given?;
        let len = given.len();
        return match len.checked_rem(size) {
            Some(0) => Ok(given),
            None => Err(format!("{ty} has 0 bytes, and {len} are given")),
            Some(_) => {
                Err(format!("a {ty} takes {size} bytes, and {len} are given: no multiple of that"))
            }
        };
    }
    let is_one = is_range(ty) && !text.trim_start().starts_with('[');
    let items = match (list(text).filter(|_| !is_one), ty) {
        (Some(items), _) => items?,
        (None, Type::Array { .. }) => {
            return Err(format!("expected a list of {ty}: `[[..],[..]]`"));
        }
        (None, _) => vec![text],
    };
    let mut all = vec![0; items.len().saturating_mul(size)];
    array(ty, items.len(), &items, memories, &mut all)?;
    Ok(all)
}

/// Encodes `text` into `out`, which is as long as the type.
pub(super) fn write(
    ty: &Type,
    text: &str,
    memories: &Memories,
    out: &mut [u8],
) -> Result<(), String> {
    let text = text.trim();
    if let Some(given) = raw(text) {
        return exactly(ty, &given?, out);
    }
    let number = match *ty {
        Type::Int { bytes, signed } => integer(text, bytes, signed)?,
        Type::Bool => truth(text)?.into(),
        Type::Char => u32::from(character(text)?).into(),
        Type::Enum(of) => enumerated(of, text)?,
        Type::Float { bytes } => float(text, bytes)?.into(),
        Type::Utf8 => text.bytes().next().unwrap_or_default().into(),
        Type::Array { of, len } if is_byte(of) && !text.starts_with('[') => {
            return filled(len, &bytes(text)?, out);
        }
        Type::Array { of, len } => {
            let items = list(text).ok_or_else(|| {
                format!("expected {} for a {ty}: `[..,..]`", Quantity(len, "value"))
            })?;
            return array(of, len, &items?, memories, out);
        }
        Type::Struct(_) if is_range(ty) && !text.starts_with('{') => {
            return exactly(ty, &range(text, memories)?, out);
        }
        Type::Struct(of) => return structure(of, text, memories, out),
        Type::Opaque { name, size, .. } => {
            let size = Quantity(size, "byte");
            return Err(format!(
                "what a {name} holds is not described: give its {size} as `hex:..` or `@file`, or \
                 derive `urom_abi::Described` for it"
            ));
        }
    };
    // The low bytes, as many as the type has.
    out.iter_mut().zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
    Ok(())
}

fn structure(of: &Struct, text: &str, memories: &Memories, out: &mut [u8]) -> Result<(), String> {
    let inner = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    let inner = inner.ok_or_else(|| {
        if text.starts_with('{') {
            return format!("`{}` does not end with `}}`", text.escape_debug());
        }
        let names: Vec<_> = of.fields.iter().map(|field| format!("{}=..", field.name)).collect();
        let (name, names, size) = (of.name, names.join(","), Quantity(of.size, "byte"));
        format!("expected the fields of {name}: `{{{names}}}`, or `hex:` and {size}")
    })?;
    for item in parts(inner)? {
        let (name, value) = item
            .split_once('=')
            .ok_or_else(|| format!("`{}` in {{..}} is not `field=value`", item.escape_debug()))?;
        let name = name.trim();
        let field = member(of, name)?;
        let end = field.offset.saturating_add(field.ty.size());
        let target = out.get_mut(field.offset..end).unwrap_or_default();
        write(&field.ty, value, memories, target).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn array(
    of: &Type,
    len: usize,
    items: &[&str],
    memories: &Memories,
    out: &mut [u8],
) -> Result<(), String> {
    if items.len() != len {
        return Err(format!(
            "it is given {}, and the array has {len}",
            Quantity(items.len(), "value")
        ));
    }
    // Avoids a chunk size of zero.
    for (index, (item, target)) in items.iter().zip(out.chunks_mut(of.size().max(1))).enumerate() {
        write(of, item, memories, target).map_err(|why| format!("element {index}: {why}"))?;
    }
    Ok(())
}

/// Copies a text to an array of bytes, followed by zeros as in C.
fn filled(len: usize, given: &[u8], out: &mut [u8]) -> Result<(), String> {
    let target = out
        .get_mut(..given.len())
        .ok_or_else(|| format!("it is given {}, and {len} fit", Quantity(given.len(), "byte")))?;
    target.copy_from_slice(given);
    Ok(())
}

fn exactly(ty: &Type, given: &[u8], out: &mut [u8]) -> Result<(), String> {
    if given.len() != out.len() {
        let (given, size) = (Quantity(given.len(), "byte"), out.len());
        return Err(format!("it is given {given}, and a {ty} takes {size}"));
    }
    out.copy_from_slice(given);
    Ok(())
}

#[cfg(test)]
mod tests;
