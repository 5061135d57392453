//! Positions in a message, by a path like `params.keys[2]`, and conditions on their values.

use urom_abi::describe::{
    Condition, Count, Field, FieldKind, Messages, Payload, Presence, Struct, StructField, Term,
    Type, Variant,
};

use super::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) ty: Type,
    /// From the first byte of the path's root.
    pub(super) offset: usize,
}

/// Returns all fields of a message's fixed part except the tag.
pub(super) fn fields<'a>(
    messages: &Messages,
    variant: &Variant,
) -> impl Iterator<Item = &'a Field> + use<'a> {
    messages.header.iter().chain(variant.fields)
}

pub(super) fn is_value(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Plain | FieldKind::Echo)
}

/// Whether an address word or a condition can omit a payload.
pub(super) fn may_lack(payload: &Payload) -> bool {
    match payload.presence {
        Presence::ByAddress | Presence::When(_) => true,
        Presence::Always | Presence::Registered => false,
    }
}

pub(super) fn is_byte(ty: &Type) -> bool {
    matches!(ty, Type::Int { bytes: 1, signed: false })
}

fn split_name(path: &str) -> (&str, &str) {
    path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
}

pub(super) fn root(path: &str) -> &str {
    split_name(path).0
}

pub(super) fn member(of: &Struct, name: &str) -> Result<&'static StructField, String> {
    of.fields.iter().find(|field| field.name == name).ok_or_else(|| {
        let names = of.fields.iter().map(|field| field.name);
        names::unknown(&format!("{} lacks the field", of.name), name, names)
    })
}

/// Follows the rest of a path like `a.b[2].c` from its root's position.
pub(super) fn walk(mut location: Location, path: &str) -> Result<Location, String> {
    let mut rest = &path[root(path).len()..];
    while !rest.is_empty() {
        let (ty, offset);
        if let Some(behind) = rest.strip_prefix('.') {
            let (name, behind) = split_name(behind);
            let Type::Struct(of) = location.ty else {
                return Err(format!(
                    "`{path}`: a {} does not have fields, so no `{name}`",
                    location.ty
                ));
            };
            let field = member(of, name).map_err(|why| format!("`{path}`: {why}"))?;
            (ty, offset, rest) = (field.ty, field.offset, behind);
        } else {
            let index = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            let (index, behind) =
                index.ok_or_else(|| format!("`{path}` has a `[` without its `]`"))?;
            let number: usize = index
                .parse()
                .map_err(|_| format!("`{index}` in `{path}` is not an index: write a number"))?;
            let Type::Array { of, len } = location.ty else {
                return Err(format!("`{path}`: a {} does not have elements", location.ty));
            };
            if number >= len {
                let last = len.saturating_sub(1);
                return Err(format!("`{path}`: element {number} does not exist, only 0 to {last}"));
            }
            (ty, offset, rest) = (*of, of.size().saturating_mul(number), behind);
        }
        location = Location { ty, offset: location.offset.saturating_add(offset) };
    }
    Ok(location)
}

impl Location {
    pub(super) fn of(field: &Field) -> Location {
        Location { ty: field.ty, offset: field.offset }
    }

    pub(super) fn bytes<'a>(&self, message: &'a [u8]) -> Option<&'a [u8]> {
        message.get(self.offset..self.offset.checked_add(self.ty.size())?)
    }

    pub(super) fn bytes_mut<'a>(&self, message: &'a mut [u8]) -> Option<&'a mut [u8]> {
        message.get_mut(self.offset..self.offset.checked_add(self.ty.size())?)
    }

    /// Reads an integer; `None` for another type.
    pub(super) fn integer(&self, message: &[u8]) -> Option<i128> {
        match self.ty {
            Type::Int { signed, .. } => integer(self.bytes(message)?, signed),
            _ => None,
        }
    }

    /// Writes an unsigned integer; `None` when it does not fit, or for another type.
    pub(super) fn put(&self, message: &mut [u8], value: u64) -> Option<()> {
        let Type::Int { bytes: size, .. } = self.ty else { return None };
        let word = value.to_le_bytes();
        let (low, high) = word.split_at_checked(size)?;
        let target = self.bytes_mut(message).filter(|_| high.iter().all(|byte| *byte == 0))?;
        target.copy_from_slice(low);
        Some(())
    }
}

/// Reads a little-endian integer of up to 8 bytes.
pub(super) fn integer(bytes: &[u8], signed: bool) -> Option<i128> {
    let mut word = [0; 8];
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let value = u64::from_le_bytes(word);
    let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let modulus = 1i128 << (8 * bytes.len());
    Some(i128::from(value) - if negative { modulus } else { 0 })
}

pub(super) struct DescribedMessage<'a> {
    pub(super) messages: &'a Messages,
    pub(super) variant: &'a Variant,
    pub(super) fixed: Vec<u8>,
    pub(super) lens: Vec<(&'static str, u64)>,
}

// These functions return `None` for values that cannot be computed.
impl DescribedMessage<'_> {
    pub(super) fn location(&self, path: &str) -> Option<Location> {
        let mut fields = fields(self.messages, self.variant);
        walk(Location::of(fields.find(|field| field.name == root(path))?), path).ok()
    }

    pub(super) fn word(&self, path: &str) -> Option<i128> {
        self.location(path)?.integer(&self.fixed)
    }

    /// Returns the word that selects a payload's registered memory.
    pub(super) fn selector(&self, payload: &Payload) -> Option<&'static Field> {
        let of_payload = FieldKind::Selector { of: payload.name };
        self.variant.fields.iter().find(|field| field.kind == of_payload)
    }

    pub(super) fn count(&self, of: &Count) -> Option<i128> {
        match of {
            Count::Word(word) => self.word(word),
            Count::Fixed(count) => (*count).try_into().ok(),
            Count::Given(length) => self.number(&length.term?),
        }
    }

    pub(super) fn holds(&self, of: &Condition) -> Option<bool> {
        let compares = of.compares?;
        Some(compares.sign.holds(self.number(&compares.left)?, self.number(&compares.right)?))
    }

    fn number(&self, term: &Term) -> Option<i128> {
        match *term {
            Term::Number(number) => Some(number),
            Term::Field(path) => {
                let location = self.location(path)?;
                match (location.ty, location.bytes(&self.fixed)?) {
                    (Type::Bool, [byte @ 0..=1]) => Some((*byte).into()),
                    _ => location.integer(&self.fixed),
                }
            }
            Term::Length(name) => {
                let found = self.lens.iter().find(|(payload, _)| *payload == name);
                found.map(|(_, len)| i128::from(*len))
            }
            Term::Constant(name) => {
                let mut all = self.variant.payloads.iter().flat_map(|payload| payload.constants);
                all.find(|constant| constant.name == name)?.value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U16: Type = Type::Int { bytes: 2, signed: false };

    #[test]
    fn integers_are_read_by_their_sign_and_written_when_they_fit() {
        assert_eq!(integer(&[0xff], true), Some(-1));
        assert_eq!(integer(&[0xff], false), Some(255));
        assert_eq!(integer(&i64::MIN.to_le_bytes(), true), Some(i128::from(i64::MIN)));
        assert_eq!(integer(&[0; 9], false), None);
        let location = Location { ty: U16, offset: 1 };
        let mut bytes = [9; 3];
        assert_eq!(location.put(&mut bytes, 65_536), None);
        assert_eq!(location.put(&mut bytes, 0x0102), Some(()));
        assert_eq!(bytes, [9, 2, 1]);
        assert_eq!(location.put(&mut bytes[..2], 0), None);
    }
}
