//! Memory as text: `NAME`, or a part, `NAME[from..to]`.

use std::collections::BTreeMap;

use urom_abi::Described;
use urom_abi::describe::{Struct, Type};
use urom_abi::memory::MemoryRange;

use super::names;

/// Memory by its name.
pub type Memories = BTreeMap<String, MemoryRange>;

pub(super) fn is_range(ty: &Type) -> bool {
    let (Type::Struct(of), Type::Struct(range)) = (ty, MemoryRange::TYPE) else { return false };
    // Does not compare the documentation, which differs between releases.
    let fields = |of: &Struct| of.fields.iter().map(|it| (it.name, it.offset)).collect::<Vec<_>>();
    (of.name, of.size, fields(of)) == (range.name, range.size, fields(range))
}

pub(super) fn range(text: &str, memories: &Memories) -> Result<Vec<u8>, String> {
    let (name, part) = match text.split_once('[') {
        Some((name, part)) => (name, Some(part)),
        None => (text, None),
    };
    let name = name.trim();
    let whole = memories.get(name).ok_or_else(|| unknown(name, memories))?;
    let named = match part {
        None => *whole,
        Some(part) => self::part(text, part, *whole)?,
    };
    Ok([named.memory, named.offset, named.len].map(u64::to_le_bytes).concat())
}

fn part(text: &str, part: &str, whole: MemoryRange) -> Result<MemoryRange, String> {
    let shown = text.escape_debug();
    let wrong = || format!("`{shown}` is not a part of memory: write NAME[from..to], in bytes");
    let bounds = part.strip_suffix(']').and_then(|part| part.split_once(".."));
    let (from, to) = bounds.ok_or_else(wrong)?;
    let bound = |text: &str, default| match text.trim() {
        "" => Ok(default),
        text => size(text).ok_or_else(wrong),
    };
    let (from, to) = (bound(from, 0)?, bound(to, whole.len)?);
    whole
        .get(from..to)
        .ok_or_else(|| format!("`{shown}` does not lie within its {} bytes", whole.len))
}

pub(super) fn unknown(name: &str, memories: &Memories) -> String {
    if memories.is_empty() {
        let shown = name.escape_debug();
        return format!(
            "there is no memory `{shown}`: make it with --memory {shown}=SIZE or --memory \
             {shown}=@FILE"
        );
    }
    names::unknown("unknown memory", name, memories.keys().map(String::as_str))
}

/// Parses a size in bytes: `4096`, `0x1000`, `4K`, `1M` or `2G`.
pub fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let digits = digits.replace('_', "");
    let number = match digits.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16),
        _ if digits.starts_with('+') => return None,
        _ => digits.parse(),
    };
    number.ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memories() -> Memories {
        let range = |memory, len| MemoryRange { memory, offset: 0, len };
        [("input".to_owned(), range(7, 4096)), ("out".to_owned(), range(8, 16))].into()
    }

    fn named(text: &str) -> Result<(u64, u64, u64), String> {
        let bytes = range(text, &memories())?;
        let words: Vec<u64> =
            bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        Ok((words[0], words[1], words[2]))
    }

    #[test]
    fn memory_is_named_whole_or_in_part() {
        assert_eq!(named("input"), Ok((7, 0, 4096)));
        assert_eq!(named("out[4..10]"), Ok((8, 4, 6)));
        assert_eq!(named("input[1K..]"), Ok((7, 1024, 3072)));
        assert_eq!(named("input[..0x10]"), Ok((7, 0, 16)));
        assert_eq!(named("input[4096..]"), Ok((7, 4096, 0)));
    }

    #[test]
    fn an_invalid_range_is_refused_with_a_correction() {
        for (text, part) in [
            ("inptu", "did you mean `input`? There is `input`, `out`"),
            ("", "unknown memory ``: there is"),
            ("out[0..17]", "`out[0..17]` does not lie within its 16 bytes"),
            ("out[9..8]", "does not lie within"),
            ("out[0..16G]", "does not lie within"),
            ("out[0..99999999999999999999]", "write NAME[from..to]"),
            ("out[3]", "write NAME[from..to]"),
            ("out[0..", "write NAME[from..to]"),
            ("out[a..b]", "write NAME[from..to]"),
            ("out[-1..2]", "write NAME[from..to]"),
        ] {
            let why = named(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        let why = range("input", &Memories::new()).unwrap_err();
        assert!(why.ends_with("make it with --memory input=SIZE or --memory input=@FILE"), "{why}");
    }

    #[test]
    fn sizes_have_units() {
        let good = [
            ("0", 0),
            ("4096", 4096),
            ("4K", 4096),
            ("1m", 1 << 20),
            ("0x1fG", 31 << 30),
            ("1_0", 10),
        ];
        for (text, bytes) in good {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in
            ["", "K", "4KB", "-1", "+1", "0x+1", "1.5K", "4 K", "18446744073709551615K", "é"]
        {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
