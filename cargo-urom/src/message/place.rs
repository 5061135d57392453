//! Places within a message, by a path like `params.keys[2]`, and conditions on what is there.

use urom_abi::describe::{Comparison, Field, Messages, Struct, StructField, Term, Type, Variant};

use super::fields::fields;
use super::names;

/// Some bytes of a message, and what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) ty: Type,
    /// From the first byte of whatever the path began in.
    pub(super) offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Member(&'a str),
    Index(usize),
}

fn split_name(path: &str) -> (&str, &str) {
    path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
}

pub(super) fn root(path: &str) -> &str {
    split_name(path).0
}

/// Splits `a.b[2].c` into its first name and the steps behind it.
pub(super) fn split(path: &str) -> Result<(&str, Vec<Step<'_>>), String> {
    let (root, mut rest) = split_name(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('.') {
            let (name, behind) = split_name(behind);
            steps.push(Step::Member(name));
            rest = behind;
        } else {
            let index = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            let (index, behind) =
                index.ok_or_else(|| format!("`{path}` has a `[` without its `]`"))?;
            let number = index
                .parse()
                .map_err(|_| format!("`{index}` in `{path}` is no index: write a number"))?;
            steps.push(Step::Index(number));
            rest = behind;
        }
    }
    Ok((root, steps))
}

pub(super) fn member(of: &Struct, name: &str) -> Result<&'static StructField, String> {
    of.fields.iter().find(|field| field.name == name).ok_or_else(|| {
        let names = of.fields.iter().map(|field| field.name);
        names::unknown(&format!("{} has no field", of.name), name, names)
    })
}

/// Follows the steps from a place.
pub(super) fn walk(from: Place, path: &str, steps: &[Step<'_>]) -> Result<Place, String> {
    steps.iter().try_fold(from, |place, step| {
        let (ty, offset) = match (*step, place.ty) {
            (Step::Member(name), Type::Struct(of)) => {
                let field = member(of, name).map_err(|why| format!("`{path}`: {why}"))?;
                (field.ty, field.offset)
            }
            (Step::Index(index), Type::Array { of, len }) if index < len => {
                (*of, of.size().saturating_mul(index))
            }
            (Step::Index(index), Type::Array { len, .. }) => {
                let last = len.saturating_sub(1);
                return Err(format!("`{path}`: there is no element {index}, only 0 to {last}"));
            }
            (Step::Member(name), ty) => {
                return Err(format!("`{path}`: a {ty} has no fields, so no `{name}`"));
            }
            (Step::Index(_), ty) => return Err(format!("`{path}`: a {ty} has no elements")),
        };
        Ok(Place { ty, offset: place.offset.saturating_add(offset) })
    })
}

/// The place of a path that begins with a field of the fixed part.
pub(super) fn find(messages: &Messages, variant: &Variant, path: &str) -> Option<Place> {
    let (root, steps) = split(path).ok()?;
    let field = fields(messages, variant).find(|field| field.name == root)?;
    walk(Place::of(field), path, &steps).ok()
}

impl Place {
    pub(super) fn of(field: &Field) -> Place {
        Place { ty: field.ty, offset: field.offset }
    }

    pub(super) fn bytes<'a>(&self, message: &'a [u8]) -> Option<&'a [u8]> {
        message.get(self.offset..self.offset.checked_add(self.ty.size())?)
    }

    pub(super) fn bytes_mut<'a>(&self, message: &'a mut [u8]) -> Option<&'a mut [u8]> {
        message.get_mut(self.offset..self.offset.checked_add(self.ty.size())?)
    }

    /// The integer that lies there; `None` when it is no integer.
    pub(super) fn integer(&self, message: &[u8]) -> Option<i128> {
        match self.ty {
            Type::Int { signed, .. } => integer(self.bytes(message)?, signed),
            _ => None,
        }
    }

    /// Writes an unsigned integer; `None` when it does not fit, or this is no place for one.
    pub(super) fn put(&self, message: &mut [u8], value: u64) -> Option<()> {
        let Type::Int { bytes: size, .. } = self.ty else { return None };
        let word = value.to_le_bytes();
        let (low, high) = word.split_at_checked(size)?;
        let place = self.bytes_mut(message).filter(|_| high.iter().all(|byte| *byte == 0))?;
        place.copy_from_slice(low);
        Some(())
    }
}

/// A little-endian integer of up to 8 bytes.
pub(super) fn integer(bytes: &[u8], signed: bool) -> Option<i128> {
    let mut word = [0; 8];
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let value = u64::from_le_bytes(word);
    let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let modulus = 1i128 << (8 * bytes.len());
    Some(i128::from(value) - if negative { modulus } else { 0 })
}

/// A message whose description has conditions and lengths to be computed.
pub(super) struct Names<'a> {
    pub(super) messages: &'a Messages,
    pub(super) variant: &'a Variant,
    pub(super) fixed: &'a [u8],
    /// How many elements payloads have, as far as that is known.
    pub(super) lens: &'a [(&'static str, u64)],
}

impl Names<'_> {
    /// The value of a term; `None` when what it names has none.
    pub(super) fn number(&self, term: &Term) -> Option<i128> {
        match *term {
            Term::Number(number) => Some(number),
            Term::Field(path) => {
                let place = find(self.messages, self.variant, path)?;
                match (place.ty, place.bytes(self.fixed)?) {
                    (Type::Bool, [byte @ 0..=1]) => Some((*byte).into()),
                    _ => place.integer(self.fixed),
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

    /// Whether a comparison holds; `None` when it cannot be computed.
    pub(super) fn holds(&self, of: &Comparison) -> Option<bool> {
        Some(of.sign.holds(self.number(&of.left)?, self.number(&of.right)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U16: Type = Type::Int { bytes: 2, signed: false };
    const PAIR: Type = Type::Array { of: &U16, len: 2 };

    #[test]
    fn a_path_is_a_name_and_steps() {
        let steps = vec![Step::Member("b"), Step::Index(2), Step::Member("c")];
        assert_eq!(split("a.b[2].c"), Ok(("a", steps)));
        assert_eq!(split("a"), Ok(("a", vec![])));
        for bad in ["a[", "a[x]", "a[-1]", "a[]", "a[1]b"] {
            let result = split(bad);
            assert!(result.is_err(), "{bad}: {result:?}");
        }
    }

    #[test]
    fn steps_lead_to_elements_and_nowhere_else() {
        let from = Place { ty: PAIR, offset: 8 };
        assert_eq!(walk(from, "a[1]", &[Step::Index(1)]), Ok(Place { ty: U16, offset: 10 }));
        let outside = walk(from, "a[2]", &[Step::Index(2)]).unwrap_err();
        assert!(outside.contains("only 0 to 1"), "{outside}");
        assert!(walk(from, "a.b", &[Step::Member("b")]).is_err());
        assert!(walk(from, "a[1][0]", &[Step::Index(1), Step::Index(0)]).is_err());
    }

    #[test]
    fn integers_are_read_by_their_sign_and_written_when_they_fit() {
        assert_eq!(integer(&[0xff], true), Some(-1));
        assert_eq!(integer(&[0xff], false), Some(255));
        assert_eq!(integer(&i64::MIN.to_le_bytes(), true), Some(i128::from(i64::MIN)));
        assert_eq!(integer(&[0; 9], false), None);
        let place = Place { ty: U16, offset: 1 };
        let mut bytes = [9; 3];
        assert_eq!(place.put(&mut bytes, 65_536), None);
        assert_eq!(place.put(&mut bytes, 0x0102), Some(()));
        assert_eq!(bytes, [9, 2, 1]);
        assert_eq!(place.put(&mut bytes[..2], 0), None);
    }
}
