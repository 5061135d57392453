//! Reading a description: bytes of somebody else's.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Build, Description, FORMAT, HEADER_LEN, MAGIC, MAX_DEPTH, MAX_LEN, Panic, ReadError};
use crate::describe::{
    Comparison, Condition, Constant, Count, Enum, EnumValue, Field, FieldKind, Given, Messages,
    Payload, Presence, Protocol, Sign, Struct, StructField, Term, Type, Variant,
};

/// Reads the bytes of a plugin's section [`SECTION`](super::SECTION).
///
/// What is read stays for as long as the process does, because a description is made of references
/// that do: at most some twenty times the size of `bytes`, once for the same bytes. Bytes that are
/// refused leave nothing behind.
///
/// Types are such as [`c_header`](crate::describe::c_header) can lay out: sizes and offsets below 4
/// GiB, alignments that are powers of two. Texts are UTF-8 and nothing else is checked of them:
/// whoever prints one sees to control characters.
///
/// # Errors
/// What is wrong with the bytes, and where.
pub fn read(bytes: &[u8]) -> Result<Description, ReadError> {
    // Nothing is leaked for bytes that turn out wrong at their end.
    let bytes = checked(bytes)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(description) = known.get(bytes) {
        return Ok(*description);
    }
    let (protocol, build) = Reader { bytes, at: HEADER_LEN, keep: true }.all()?;
    let description = Description { protocol: Box::leak(Box::new(protocol)), build };
    known.insert(bytes.into(), description);
    Ok(description)
}

/// Whether [`read`] would read these bytes. Nothing of them is kept.
///
/// # Errors
/// As [`read`].
pub fn check(bytes: &[u8]) -> Result<(), ReadError> {
    checked(bytes).map(|_| ())
}

/// The bytes that are the description: without the zeros that a file may have behind it.
fn checked(bytes: &[u8]) -> Result<&[u8], ReadError> {
    let header = bytes.first_chunk::<HEADER_LEN>().filter(|header| header.starts_with(&MAGIC));
    let Some(&[.., f0, f1, f2, f3, l0, l1, l2, l3]) = header else { return Err(ReadError::Magic) };
    let format = u32::from_le_bytes([f0, f1, f2, f3]);
    if format != FORMAT {
        return Err(ReadError::Format { found: format });
    }
    if bytes.len() > MAX_LEN {
        return Err(ReadError::TooLong { found: bytes.len() as u64 });
    }
    let (stated, found) = (u32::from_le_bytes([l0, l1, l2, l3]) as usize, bytes.len() - HEADER_LEN);
    let own = bytes.split_at_checked(HEADER_LEN.saturating_add(stated));
    // The address sanitizer pads every variable.
    let Some((bytes, _)) = own.filter(|(_, behind)| behind.iter().all(|byte| *byte == 0)) else {
        return Err(ReadError::Length { stated, found });
    };
    Reader { bytes, at: HEADER_LEN, keep: false }.all()?;
    Ok(bytes)
}

/// What was read before.
static KNOWN: Mutex<BTreeMap<Box<[u8]>, Description>> = Mutex::new(BTreeMap::new());

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether what is read is leaked. Otherwise texts and lists are empty, and types are their
    /// mere sizes.
    keep: bool,
}

impl<'a> Reader<'a> {
    fn all(&mut self) -> Result<(Protocol, Build), ReadError> {
        let kit = self.text()?;
        let panic = match self.choice()? {
            0 => Panic::Unwind,
            1 => Panic::Abort,
            _ => return Err(self.malformed("what a panic does is not known")),
        };
        let protocol = Protocol {
            name: self.text()?,
            version: self.number()?,
            commands: self.messages()?,
            notifications: self.messages()?,
        };
        if self.at != self.bytes.len() {
            return Err(self.malformed("it ends before its bytes do"));
        }
        Ok((protocol, Build { kit, panic }))
    }

    fn messages(&mut self) -> Result<Messages, ReadError> {
        let (name, docs, tag) = (self.text()?, self.text()?, self.ty(0)?);
        if !matches!(tag, Type::Int { signed: false, .. }) {
            return Err(self.malformed("a tag's type is not an unsigned integer"));
        }
        let (len, union_at) = (self.length()?, self.length()?);
        Ok(Messages {
            name,
            docs,
            tag,
            len,
            union_at,
            header: self.list(Self::field)?,
            variants: self.list(Self::variant)?,
        })
    }

    fn variant(&mut self) -> Result<Variant, ReadError> {
        let (name, docs, tag) = (self.text()?, self.text()?, self.number()?);
        let also = if self.truth()? { Some(self.number()?) } else { None };
        let reply = self.optional()?;
        Ok(Variant {
            name,
            docs,
            tag,
            also,
            reply,
            fields: self.list(Self::field)?,
            payloads: self.list(Self::payload)?,
        })
    }

    fn field(&mut self) -> Result<Field, ReadError> {
        let (name, docs) = (self.text()?, self.text()?);
        let kind = match self.choice()? {
            0 => FieldKind::Plain,
            1 => FieldKind::Echo,
            2 => FieldKind::Address { of: self.text()? },
            3 => FieldKind::Length { of: self.text()? },
            4 => FieldKind::Selector { of: self.text()? },
            _ => return Err(self.malformed("what a field is for is not known")),
        };
        let (ty, offset, optional) = (self.ty(0)?, self.length()?, self.truth()?);
        Ok(Field { name, docs, kind, ty, offset, optional })
    }

    fn payload(&mut self) -> Result<Payload, ReadError> {
        let (name, docs, ty) = (self.text()?, self.text()?, self.ty(0)?);
        let count = match self.choice()? {
            0 => Count::Word(self.text()?),
            1 => Count::Fixed(self.count()?),
            2 => {
                let text = self.text()?;
                let term = if self.truth()? { Some(self.term()?) } else { None };
                Count::Given(Given { text, term })
            }
            _ => return Err(self.malformed("how many elements a payload has is not known")),
        };
        let address = self.optional()?;
        let presence = match self.choice()? {
            0 => Presence::Always,
            1 => Presence::ByAddress,
            2 => Presence::Registered,
            3 => Presence::When(self.condition()?),
            _ => return Err(self.malformed("what says that a payload is there is not known")),
        };
        let (constants, optional) = (self.list(Self::constant)?, self.truth()?);
        Ok(Payload { name, docs, ty, count, address, presence, constants, optional })
    }

    fn condition(&mut self) -> Result<Condition, ReadError> {
        let text = self.text()?;
        let compares = match self.choice()? {
            0 => None,
            sign => {
                let known = Sign::ALL.get(usize::from(sign) - 1).copied();
                let sign = known.ok_or_else(|| self.malformed("a sign is of no known kind"))?;
                Some(Comparison { left: self.term()?, sign, right: self.term()? })
            }
        };
        Ok(Condition { text, compares })
    }

    fn term(&mut self) -> Result<Term, ReadError> {
        Ok(match self.choice()? {
            1 => Term::Number(self.signed(false)?),
            2 => Term::Number(self.signed(true)?),
            3 => Term::Field(self.text()?),
            4 => Term::Length(self.text()?),
            5 => Term::Constant(self.text()?),
            _ => return Err(self.malformed("a part of an expression is of no known kind")),
        })
    }

    /// A number of 64 bits whose sign is known.
    fn signed(&mut self, negative: bool) -> Result<i128, ReadError> {
        let number = self.number()?;
        if !negative {
            return Ok(number.into());
        }
        let value = number as i64;
        if value >= 0 {
            return Err(self.malformed("a negative constant is not negative"));
        }
        Ok(value.into())
    }

    fn constant(&mut self) -> Result<Constant, ReadError> {
        let name = self.text()?;
        let value = match self.choice()? {
            0 => None,
            1 => Some(self.signed(false)?),
            2 => Some(self.signed(true)?),
            _ => return Err(self.malformed("what a constant is is not known")),
        };
        Ok(Constant { name, value })
    }

    fn ty(&mut self, depth: usize) -> Result<Type, ReadError> {
        if depth > MAX_DEPTH {
            return Err(self.malformed("a type is nested too deep"));
        }
        let ty = match self.choice()? {
            0 => {
                let (bytes, signed) = self.integer()?;
                return Ok(Type::Int { bytes, signed });
            }
            1 => {
                let bytes = self.length()?;
                if !matches!(bytes, 4 | 8) {
                    return Err(self.malformed("there is no floating-point number of this size"));
                }
                return Ok(Type::Float { bytes });
            }
            2 => {
                let (of, len) = (self.ty(depth + 1)?, self.count()?);
                if of.size().checked_mul(len).is_none_or(|size| size > u32::MAX as usize) {
                    return Err(self.malformed("an array has 4 GiB or more"));
                }
                if !self.keep {
                    return Ok(Type::Opaque { name: "", size: of.size() * len, align: of.align() });
                }
                Type::Array { of: Box::leak(Box::new(of)), len }
            }
            3 => {
                let (name, docs, size, align) =
                    (self.text()?, self.text()?, self.length()?, self.align()?);
                let fields = self.list(|reader| reader.member(depth + 1))?;
                if !self.keep {
                    return Ok(Type::Opaque { name, size, align });
                }
                Type::Struct(Box::leak(Box::new(Struct { name, docs, size, align, fields })))
            }
            4 => Type::Opaque { name: self.text()?, size: self.length()?, align: self.align()? },
            5 => Type::Bool,
            6 => Type::Char,
            7 => Type::Utf8,
            8 => {
                let (name, docs, (bytes, signed)) = (self.text()?, self.text()?, self.integer()?);
                let values = self.list(|reader| reader.value(bytes, signed))?;
                if !self.keep {
                    return Ok(Type::Int { bytes, signed });
                }
                Type::Enum(Box::leak(Box::new(Enum { name, docs, bytes, signed, values })))
            }
            _ => return Err(self.malformed("a type is of no known kind")),
        };
        Ok(ty)
    }

    /// The size of an integer, and whether it has a sign.
    fn integer(&mut self) -> Result<(usize, bool), ReadError> {
        let (bytes, signed) = (self.length()?, self.truth()?);
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return Err(self.malformed("there is no integer of this size"));
        }
        Ok((bytes, signed))
    }

    fn value(&mut self, bytes: usize, signed: bool) -> Result<EnumValue, ReadError> {
        let (name, docs, number) = (self.text()?, self.text()?, self.number()?);
        let value = if signed { i128::from(number as i64) } else { i128::from(number) };
        let modulus = 1i128 << (8 * bytes);
        let range = if signed { -modulus / 2..modulus / 2 } else { 0..modulus };
        if !range.contains(&value) {
            return Err(self.malformed("a value of an enum is larger than the enum"));
        }
        Ok(EnumValue { name, docs, value })
    }

    fn member(&mut self, depth: usize) -> Result<StructField, ReadError> {
        let (name, docs, offset) = (self.text()?, self.text()?, self.length()?);
        Ok(StructField { name, docs, offset, ty: self.ty(depth)? })
    }

    /// The elements of a list. Each takes bytes, so their number is bounded by what there is.
    fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, ReadError>,
    ) -> Result<&'static [T], ReadError> {
        let count = self.length()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(if self.keep { Box::leak(items.into_boxed_slice()) } else { &[] })
    }

    fn optional(&mut self) -> Result<Option<&'static str>, ReadError> {
        if self.truth()? { self.text().map(Some) } else { Ok(None) }
    }

    fn text(&mut self) -> Result<&'static str, ReadError> {
        let len = self.length()?;
        let bytes = self.take(len)?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.malformed("a text is not UTF-8"))?;
        Ok(if self.keep { Box::leak(Box::from(text)) } else { "" })
    }

    fn align(&mut self) -> Result<usize, ReadError> {
        let align = self.length()?;
        if align.is_power_of_two() {
            Ok(align)
        } else {
            Err(self.malformed("an alignment is no power of two"))
        }
    }

    fn truth(&mut self) -> Result<bool, ReadError> {
        match self.choice()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.malformed("what is 0 or 1 is neither")),
        }
    }

    fn choice(&mut self) -> Result<u8, ReadError> {
        self.array().map(|[byte]: [u8; 1]| byte)
    }

    fn length(&mut self) -> Result<usize, ReadError> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn count(&mut self) -> Result<usize, ReadError> {
        self.array().map(usize::from_le_bytes)
    }

    fn number(&mut self) -> Result<u64, ReadError> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], ReadError> {
        let bytes = self.take(LEN)?;
        bytes.first_chunk().copied().ok_or(self.malformed("it ends too early"))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], ReadError> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.get(..len));
        let bytes = bytes.ok_or(self.malformed("it ends too early"))?;
        self.at += len;
        Ok(bytes)
    }

    fn malformed(&self, problem: &'static str) -> ReadError {
        ReadError::Malformed { at: self.at, problem }
    }
}
