//! Invalid values in a field: their location and value.

use std::fmt;

use super::{Enum, Type};

/// Location of a part of a field whose bytes are invalid for their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The type of the whole field.
    pub of: &'static Type,
    /// Offset of the invalid bytes in the field.
    pub at: u32,
    /// The invalid bytes as an unsigned number, at most the first eight.
    pub found: u64,
    /// Whether the exact location is unknown.
    whole: bool,
}

impl Misfit {
    /// Returns the first invalid part of `bytes`, or `None` when all described parts are valid.
    #[must_use]
    pub fn find(of: &'static Type, bytes: &[u8]) -> Option<Misfit> {
        visit(of, usize::MAX, &mut |at, leaf, _| {
            let found = number(bytes.get(at..)?, leaf.size());
            (!fits(leaf, found)).then_some(Misfit { of, at: at as u32, found, whole: false })
        })
    }

    /// Finds the invalid part in bytes that are known to be invalid. When all described parts are
    /// valid, returns the only opaque part, or the whole field.
    #[cold]
    pub(crate) fn found(of: &'static Type, bytes: &[u8]) -> Misfit {
        let mut opaque = Vec::new();
        // Two elements of an array are enough to detect several opaque parts.
        visit(of, 2, &mut |at, leaf, _| {
            let is_opaque = matches!(leaf, Type::Opaque { size: 1.., .. });
            opaque.extend(is_opaque.then_some((at, leaf.size())));
            None::<()>
        });
        let only = || {
            let [(at, len)] = opaque[..] else { return None };
            let found = number(bytes.get(at..)?, len);
            Some(Misfit { of, at: at as u32, found, whole: false })
        };
        let whole = || Misfit { of, at: 0, found: number(bytes, bytes.len()), whole: true };
        Misfit::find(of, bytes).or_else(only).unwrap_or_else(whole)
    }

    /// Returns the path from the field to the part, such as `.flags[2]`; empty for the whole field.
    #[must_use]
    pub fn path(&self) -> String {
        self.part().0
    }

    fn part(&self) -> (String, Type) {
        let part = visit(self.of, usize::MAX, &mut |at, leaf, path| {
            let is_here = !self.whole && at == self.at as usize && leaf.size() > 0;
            is_here.then(|| (path(), *leaf))
        });
        part.unwrap_or_else(|| (String::new(), *self.of))
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found;
        match self.part().1 {
            Type::Bool => write!(f, "{found} is not a value of `bool`: expected 0 or 1"),
            Type::Char => write!(
                f,
                "{found:#x} is not a value of `char`: expected at most 0x10ffff, outside of 0xd800 to 0xdfff"
            ),
            Type::Enum(of) => {
                let values = listed(of.values.iter().map(|value| (value.name, value.value)));
                write!(
                    f,
                    "{} is not a value of `{}`: expected {values}",
                    signed(found, of),
                    of.name
                )
            }
            Type::Opaque { name, .. } => write!(f, "{found:#x} is not a value of `{name}`"),
            of => write!(f, "these bytes are not a value of `{of}`"),
        }
    }
}

pub(crate) fn listed<'a, N: fmt::Display>(known: impl Iterator<Item = (&'a str, N)>) -> String {
    known.map(|(name, number)| format!("{number} ({name})")).collect::<Vec<_>>().join(", ")
}

/// Returns little-endian bytes as a number: at most `len` bytes, and at most eight.
fn number(bytes: &[u8], len: usize) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes.iter().take(len)).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

fn signed(number: u64, of: &Enum) -> i128 {
    let modulus = 1i128 << (8 * of.bytes.min(8));
    let number = i128::from(number);
    if of.signed && number >= modulus / 2 { number - modulus } else { number }
}

fn fits(leaf: &Type, found: u64) -> bool {
    match *leaf {
        Type::Bool => found <= 1,
        Type::Char => u32::try_from(found).is_ok_and(|found| char::from_u32(found).is_some()),
        Type::Enum(of) => of.values.iter().any(|value| value.value == signed(found, of)),
        _ => true,
    }
}

type Each<'e, R> = dyn FnMut(usize, &Type, &dyn Fn() -> String) -> Option<R> + 'e;

/// Calls `each` for every leaf of a type, or `most` of each array, until it returns `Some`.
pub(crate) fn visit<R>(ty: &Type, most: usize, each: &mut Each<'_, R>) -> Option<R> {
    fn within<R>(
        ty: &Type,
        at: usize,
        path: &dyn Fn() -> String,
        most: usize,
        each: &mut Each<'_, R>,
    ) -> Option<R> {
        match *ty {
            Type::Array { of, len } if of.size() > 0 => (0..len.min(most)).find_map(|i| {
                within(of, at + i * of.size(), &|| format!("{}[{i}]", path()), most, each)
            }),
            Type::Struct(of) => of.fields.iter().find_map(|field| {
                let path = || format!("{}.{}", path(), field.name);
                within(&field.ty, at + field.offset, &path, most, each)
            }),
            _ => each(at, ty, path),
        }
    }
    within(ty, 0, &String::new, most, each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{Described, Enum, EnumValue, Struct, StructField};

    const OP: Type = Type::Enum(&Enum {
        name: "Op",
        docs: "",
        bytes: 2,
        signed: true,
        values: &[
            EnumValue { name: "Undo", docs: "", value: -1 },
            EnumValue { name: "Do", docs: "", value: 3 },
        ],
    });
    const STEP: Type = Type::Struct(&Struct {
        name: "Step",
        docs: "",
        size: 8,
        align: 2,
        fields: &[
            StructField { name: "ops", docs: "", offset: 0, ty: Type::Array { of: &OP, len: 2 } },
            StructField { name: "last", docs: "", offset: 4, ty: Type::Bool },
        ],
    });

    fn wrong(of: &'static Type, bytes: &[u8]) -> Option<String> {
        Misfit::find(of, bytes).map(|wrong| format!("{}: {wrong}", wrong.path()))
    }

    #[test]
    fn the_first_invalid_part_is_named_with_the_allowed_values() {
        assert_eq!(wrong(&STEP, &[3, 0, 0xff, 0xff, 1, 9, 9, 9]), None);
        let text = wrong(&STEP, &[3, 0, 0xfe, 0xff, 1, 0, 0, 0]);
        assert_eq!(
            text.as_deref(),
            Some(".ops[1]: -2 is not a value of `Op`: expected -1 (Undo), 3 (Do)")
        );
        let text = wrong(&STEP, &[3, 0, 3, 0, 2, 0, 0, 0]);
        assert_eq!(text.as_deref(), Some(".last: 2 is not a value of `bool`: expected 0 or 1"));
    }

    #[test]
    fn a_char_is_a_scalar_value() {
        for (code, fits) in [(0xd7ff, true), (0x10_ffff, true), (0xd800, false), (0x11_0000, false)]
        {
            let text = wrong(&char::TYPE, &u32::to_le_bytes(code)).unwrap_or_default();
            assert_eq!(
                (text.contains("is not a value of `char`"), text.is_empty()),
                (!fits, fits),
                "{text}"
            );
        }
    }

    #[test]
    fn of_members_that_are_described_and_fit_none_is_named() {
        const UND: Type = Type::Opaque { name: "Und", size: 1, align: 1 };
        const fn member(name: &'static str, offset: usize, ty: Type) -> StructField {
            StructField { name, docs: "", offset, ty }
        }
        const fn structure(fields: &'static [StructField]) -> Struct {
            Struct { name: "M", docs: "", size: 4, align: 1, fields }
        }
        let found = |of: &'static Type, bytes: &[u8]| {
            let wrong = Misfit::found(of, bytes);
            (wrong.path(), wrong.to_string())
        };
        let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        const ONE: Type =
            Type::Struct(&structure(&[member("a", 0, Type::Bool), member("u", 1, UND)]));
        assert_eq!(found(&ONE, &[1, 9, 1, 1]), text(".u", "0x9 is not a value of `Und`"));
        assert_eq!(
            found(&ONE, &[7, 9, 1, 1]),
            text(".a", "7 is not a value of `bool`: expected 0 or 1")
        );
        const TWO: Type = Type::Struct(&structure(&[
            member("a", 0, Type::Bool),
            member("u", 1, UND),
            member("v", 2, UND),
        ]));
        assert_eq!(found(&TWO, &[1, 9, 1, 1]), text("", "these bytes are not a value of `M`"));
        const MANY: Type = Type::Array { of: &UND, len: 1 << 20 };
        assert_eq!(
            found(&MANY, &[1, 9]),
            text("", "these bytes are not a value of `[Und; 1048576]`")
        );
        const IN_ARRAY: Type = Type::Array { of: &ONE, len: 1 };
        assert_eq!(found(&IN_ARRAY, &[1, 9, 1, 1]), text("[0].u", "0x9 is not a value of `Und`"));
        const NONE: Type = Type::Struct(&structure(&[member("a", 0, Type::Bool)]));
        assert_eq!(found(&NONE, &[1, 9, 1, 1]), text("", "these bytes are not a value of `M`"));
    }
}
