//! Reading a description: bytes of somebody else's.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Build, Description, FORMAT, HEADER_LEN, MAGIC, MAX_DEPTH, MAX_LEN, ReadError};
use crate::describe::{Comparison, Protocol, Sign, Term, Type};

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
    let (protocol, build) = Reader::new(bytes, true).all()?;
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
    Reader::new(bytes, false).all()?;
    Ok(bytes)
}

/// What was read before.
static KNOWN: Mutex<BTreeMap<Box<[u8]>, Description>> = Mutex::new(BTreeMap::new());

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether what is read is leaked. Otherwise texts and lists are empty, and types are their
    /// mere sizes.
    keep: bool,
    /// How deep the type that is read is nested.
    depth: usize,
    /// The size of the last integer type, and whether it has a sign: the values of an enum follow.
    integer: (usize, bool),
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], keep: bool) -> Reader<'a> {
        Reader { bytes, at: HEADER_LEN, keep, depth: 0, integer: (0, false) }
    }

    fn all(&mut self) -> Result<(Protocol, Build), ReadError> {
        let (build, protocol) = (self.build()?, self.protocol()?);
        if self.at != self.bytes.len() {
            return Err(self.malformed("it ends before its bytes do"));
        }
        Ok((protocol, build))
    }

    pub(super) fn tag(&mut self) -> Result<Type, ReadError> {
        let tag = self.ty()?;
        if !matches!(tag, Type::Int { signed: false, .. }) {
            return Err(self.malformed("a tag's type is not an unsigned integer"));
        }
        Ok(tag)
    }

    pub(super) fn compares(&mut self) -> Result<Option<Comparison>, ReadError> {
        let sign = match self.choice()? {
            0 => return Ok(None),
            sign => Sign::ALL.get(usize::from(sign) - 1).copied(),
        };
        let sign = sign.ok_or_else(|| self.malformed("a sign is of no known kind"))?;
        Ok(Some(Comparison { left: self.term()?, sign, right: self.term()? }))
    }

    pub(super) fn term(&mut self) -> Result<Term, ReadError> {
        Ok(match self.choice()? {
            sign @ (1 | 2) => Term::Number(self.signed(sign)?),
            3 => Term::Field(self.text()?),
            4 => Term::Length(self.text()?),
            5 => Term::Constant(self.text()?),
            _ => return Err(self.malformed("a part of an expression is of no known kind")),
        })
    }

    /// A number of 64 bits: `sign` is 1, or 2 when it is negative.
    fn signed(&mut self, sign: u8) -> Result<i128, ReadError> {
        let number = self.number()?;
        match number as i64 {
            _ if sign == 1 => Ok(number.into()),
            value if value < 0 => Ok(value.into()),
            _ => Err(self.malformed("a negative constant is not negative")),
        }
    }

    pub(super) fn known_number(&mut self) -> Result<Option<i128>, ReadError> {
        match self.choice()? {
            0 => Ok(None),
            sign @ (1 | 2) => self.signed(sign).map(Some),
            _ => Err(self.malformed("what a constant is is not known")),
        }
    }

    pub(super) fn ty(&mut self) -> Result<Type, ReadError> {
        if self.depth > MAX_DEPTH {
            return Err(self.malformed("a type is nested too deep"));
        }
        self.depth += 1;
        let opaque = |size, align| Type::Opaque { name: "", size, align };
        let ty = match self.choice()? {
            0 => Type::Int { bytes: self.bytes()?, signed: self.sign()? },
            1 => match self.length()? {
                bytes @ (4 | 8) => Type::Float { bytes },
                _ => {
                    return Err(self.malformed("there is no floating-point number of this size"));
                }
            },
            2 => {
                let (of, len) = (self.ty()?, self.count()?);
                let size = of.size().checked_mul(len).filter(|size| *size <= u32::MAX as usize);
                let size = size.ok_or_else(|| self.malformed("an array has 4 GiB or more"))?;
                self.kept(of).map_or(opaque(size, of.align()), |of| Type::Array { of, len })
            }
            3 => {
                let of = self.structure()?;
                self.kept(of).map_or(opaque(of.size, of.align), Type::Struct)
            }
            4 => Type::Opaque { name: self.text()?, size: self.length()?, align: self.align()? },
            5 => Type::Bool,
            6 => Type::Char,
            7 => Type::Utf8,
            8 => {
                let of = self.enumeration()?;
                self.kept(of).map_or(opaque(of.bytes, of.bytes), Type::Enum)
            }
            _ => return Err(self.malformed("a type is of no known kind")),
        };
        self.depth -= 1;
        Ok(ty)
    }

    fn kept<T>(&self, value: T) -> Option<&'static T> {
        self.keep.then(|| &*Box::leak(Box::new(value)))
    }

    /// The size of an integer.
    pub(super) fn bytes(&mut self) -> Result<usize, ReadError> {
        self.integer.0 = self.length()?;
        if !matches!(self.integer.0, 1 | 2 | 4 | 8) {
            return Err(self.malformed("there is no integer of this size"));
        }
        Ok(self.integer.0)
    }

    /// Whether it has a sign.
    pub(super) fn sign(&mut self) -> Result<bool, ReadError> {
        self.integer.1 = self.truth()?;
        Ok(self.integer.1)
    }

    pub(super) fn enum_number(&mut self) -> Result<i128, ReadError> {
        let ((bytes, signed), number) = (self.integer, self.number()?);
        let value = if signed { i128::from(number as i64) } else { i128::from(number) };
        let modulus = 1i128 << (8 * bytes);
        let range = if signed { -modulus / 2..modulus / 2 } else { 0..modulus };
        if !range.contains(&value) {
            return Err(self.malformed("a value of an enum is larger than the enum"));
        }
        Ok(value)
    }

    /// The elements of a list. Each takes bytes, so their number is bounded by what there is.
    pub(super) fn list<T>(
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

    pub(super) fn docs(&mut self) -> Result<&'static str, ReadError> {
        self.text()
    }

    pub(super) fn text(&mut self) -> Result<&'static str, ReadError> {
        let len = self.length()?;
        let bytes = self.take(len)?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.malformed("a text is not UTF-8"))?;
        Ok(if self.keep { Box::leak(Box::from(text)) } else { "" })
    }

    pub(super) fn align(&mut self) -> Result<usize, ReadError> {
        let align = self.length()?;
        if align.is_power_of_two() {
            Ok(align)
        } else {
            Err(self.malformed("an alignment is no power of two"))
        }
    }

    pub(super) fn truth(&mut self) -> Result<bool, ReadError> {
        match self.choice()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.malformed("what is 0 or 1 is neither")),
        }
    }

    pub(super) fn choice(&mut self) -> Result<u8, ReadError> {
        self.array().map(|[byte]: [u8; 1]| byte)
    }

    pub(super) fn length(&mut self) -> Result<usize, ReadError> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    pub(super) fn count(&mut self) -> Result<usize, ReadError> {
        self.array().map(usize::from_le_bytes)
    }

    pub(super) fn number(&mut self) -> Result<u64, ReadError> {
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

    pub(super) fn malformed(&self, problem: &'static str) -> ReadError {
        ReadError::Malformed { at: self.at, problem }
    }
}
