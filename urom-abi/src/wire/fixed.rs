//! The fixed part of a message: fields with offsets checked at compile time, tag and length.

use super::write::{in_place, zeroed};
use super::{DecodeError, DecodeProblem, EncodeError, Name, Plain, Value, Written, Zero};
use crate::describe::{Misfit, Type};
use crate::protocol::{Answer, AnswerBuffer, AnswerBytes};

/// A field of type `T` at offset `AT` of a fixed part of `LEN` bytes. `ANY` is true if any bytes
/// are a valid `T`. It stores the functions of [`Value`] for `T`, so its methods need no bound, and
/// a type that cannot be sent causes a single compile error.
#[derive(Debug)]
pub struct Field<T, const AT: usize, const LEN: usize, const ANY: bool = true> {
    of_bytes: fn(&[u8]) -> Option<T>,
    bytes_of: fn(&T) -> &[u8],
    copy: fn(&T) -> T,
}

impl<T, const AT: usize, const LEN: usize, const ANY: bool> Clone for Field<T, AT, LEN, ANY> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const AT: usize, const LEN: usize, const ANY: bool> Copy for Field<T, AT, LEN, ANY> {}

impl<T: Plain, const AT: usize, const LEN: usize> Field<T, AT, LEN> {
    #[inline(always)]
    pub fn read(self, fixed: &[u8; LEN]) -> T {
        bytemuck::pod_read_unaligned(&fixed[AT..AT + size_of::<T>()])
    }
}

impl<T, const AT: usize, const LEN: usize, const ANY: bool> Field<T, AT, LEN, ANY> {
    #[inline(always)]
    pub fn checked(
        self,
        fixed: &[u8; LEN],
        message: Name,
        field: Name,
        of: &'static Type,
    ) -> Result<T, DecodeError> {
        let bytes = &fixed[AT..AT + size_of::<T>()];
        (self.of_bytes)(bytes).ok_or_else(|| no_value(message, field, of, bytes))
    }

    #[inline(always)]
    pub fn write(self, fixed: &mut [u8; LEN], value: &T) {
        let target = &mut fixed[AT..AT + size_of::<T>()];
        let bytes = (self.bytes_of)(value);
        assert_eq!(bytes.len(), target.len());
        // Unlike `copy_from_slice`, this does not call a function for a few bytes.
        // SAFETY: the slices have the same length, and `target` is borrowed exclusively.
        unsafe { target.as_mut_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Rejects an echoed field that differs from `value`, if given.
    #[inline(always)]
    pub fn repeats(
        self,
        fixed: &[u8; LEN],
        message: Name,
        field: Name,
        value: Option<&T>,
    ) -> Result<(), DecodeError> {
        match value {
            Some(value) if fixed[AT..AT + size_of::<T>()] != *(self.bytes_of)(value) => {
                Err(DecodeError { message, field, problem: DecodeProblem::NotEchoed })
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    pub fn zero(self) -> T
    where
        T: Zero<ANY>,
    {
        T::zero()
    }

    #[inline(always)]
    pub fn copy(self, value: &T) -> T {
        (self.copy)(value)
    }
}

/// Returns a field that accepts any bytes. A field beyond the fixed part does not compile.
pub const fn field<T: Plain, const AT: usize, const LEN: usize>() -> Field<T, AT, LEN> {
    any_field::<T, AT, LEN, true>()
}

pub const fn any_field<T: Value<ANY>, const AT: usize, const LEN: usize, const ANY: bool>()
-> Field<T, AT, LEN, ANY> {
    const { assert!(AT <= LEN && size_of::<T>() <= LEN - AT, "the field sticks out of its fixed part") };
    Field { of_bytes: T::of_bytes, bytes_of: T::bytes, copy: |value| *value }
}

pub trait Tag: Plain + Into<u64> {}

impl Tag for u8 {}
impl Tag for u16 {}
impl Tag for u32 {}
impl Tag for u64 {}

#[inline]
pub fn tag<T: Tag, const LEN: usize>(message: Name, bytes: &[u8]) -> Result<u64, DecodeError> {
    // Tells the compiler the length for the next read.
    if let Some(fixed) = bytes.first_chunk::<LEN>() {
        return Ok(field::<T, 0, LEN>().read(fixed).into());
    }
    short_tag::<T>(message, bytes, LEN)
}

#[cold]
fn short_tag<T: Tag>(message: Name, bytes: &[u8], least: usize) -> Result<u64, DecodeError> {
    let tag = bytes.get(..size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>);
    let tag = tag.ok_or_else(|| too_short(message, bytes.len(), least))?;
    Ok(tag.into())
}

/// Returns `bytes` as a fixed part without payloads.
#[inline]
pub fn exact<const LEN: usize>(message: Name, bytes: &[u8]) -> Result<&[u8; LEN], DecodeError> {
    match bytes.split_first_chunk::<LEN>() {
        Some((fixed, [])) => Ok(fixed),
        Some(_) => Err(length(message, "length", bytes.len(), LEN)),
        None => Err(too_short(message, bytes.len(), LEN)),
    }
}

/// Returns the start of `out` as a zeroed fixed part.
#[inline]
pub fn fixed_part<const LEN: usize>(
    message: Name,
    out: &mut [u8],
) -> Result<&mut [u8; LEN], EncodeError> {
    let capacity = out.len();
    match out.first_chunk_mut::<LEN>() {
        Some(fixed) => {
            fixed.fill(0);
            Ok(fixed)
        }
        None => Err(EncodeError::TooBig { message, need: LEN, capacity }),
    }
}

/// Writes a notification of `LEN` bytes: zeros, then `fill`.
#[inline]
pub fn notification<const LEN: usize>(
    message: Name,
    buffer: AnswerBuffer<'_>,
    fill: impl FnOnce(&mut [u8; LEN]),
) -> Written {
    let mut desc = None;
    let bytes = match buffer.filter(|buffer| buffer.bytes.len() >= LEN) {
        Some(AnswerBytes { bytes, written }) => {
            written.set(LEN);
            bytes
        }
        None => desc.insert(zeroed(message, Some(LEN))?).payload_mut(),
    };
    if let Some(fixed) = bytes.first_chunk_mut::<LEN>() {
        fixed.fill(0);
        fill(fixed);
    }
    Ok(desc.map_or_else(in_place, Answer::Descriptor))
}

// Errors are inlined: otherwise each decoded message moves through memory, at twice the cost.

#[inline(always)]
pub(super) fn too_short(message: Name, found: usize, least: usize) -> DecodeError {
    DecodeError { message, field: "length", problem: DecodeProblem::TooShort { found, least } }
}

#[inline(always)]
pub(super) fn length(message: Name, field: Name, found: usize, expected: usize) -> DecodeError {
    DecodeError { message, field, problem: DecodeProblem::Length { found, expected } }
}

#[inline(always)]
pub fn unknown<T, E: From<DecodeError>>(
    message: Name,
    found: u64,
    known: &'static [(&'static str, u64)],
) -> Result<T, E> {
    let problem = DecodeProblem::UnknownTag { found, known };
    Err(DecodeError { message, field: "tag", problem }.into())
}

/// Rejects the tag of another variant: `message` has the tag `expected` or `also`.
#[inline(always)]
pub fn own_tag(
    message: Name,
    found: impl Into<u64>,
    expected: u64,
    also: Option<u64>,
) -> Result<(), DecodeError> {
    let found = found.into();
    if found == expected || also == Some(found) {
        return Ok(());
    }
    let problem = DecodeProblem::OtherTag { found, expected };
    Err(DecodeError { message, field: "tag", problem })
}

#[cold]
fn no_value(message: Name, field: Name, of: &'static Type, bytes: &[u8]) -> DecodeError {
    DecodeError { message, field, problem: DecodeProblem::NoValue(Misfit::found(of, bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::Described;

    const WORD: Field<u32, 4, 12> = field();

    #[test]
    fn a_field_is_read_where_it_was_written_and_nowhere_else() {
        let mut fixed = [0xee; 12];
        WORD.write(&mut fixed, &0x0403_0201);
        assert_eq!(fixed, [0xee, 0xee, 0xee, 0xee, 1, 2, 3, 4, 0xee, 0xee, 0xee, 0xee]);
        assert_eq!(WORD.read(&fixed), 0x0403_0201);
        assert_eq!(WORD.repeats(&fixed, "M", "word", Some(&0x0403_0201)), Ok(()));
        assert_eq!(WORD.repeats(&fixed, "M", "word", None), Ok(()));
        let other = WORD.repeats(&fixed, "M", "word", Some(&0x0403_0200)).unwrap_err();
        assert_eq!((other.field, other.problem), ("word", DecodeProblem::NotEchoed));
        assert_eq!((WORD.copy(&7), WORD.zero()), (7, 0));
    }

    #[test]
    fn a_field_that_is_no_value_of_its_type_is_an_error_that_names_it() {
        const FLAGS: Field<[bool; 2], 1, 4, false> = any_field();
        const TYPE: Type = <[bool; 2]>::TYPE;
        assert_eq!(FLAGS.checked(&[9, 0, 1, 9], "M", "flags", &TYPE), Ok([false, true]));
        let error = FLAGS.checked(&[9, 0, 7, 9], "M", "flags", &TYPE).unwrap_err();
        assert_eq!(error.to_string(), "M: flags[1]: 7 is not a value of `bool`: expected 0 or 1");
    }

    #[test]
    fn a_tag_of_any_width_is_read_and_one_that_is_cut_is_too_short() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(tag::<u8, 9>("M", &bytes), Ok(1));
        assert_eq!(tag::<u32, 9>("M", &bytes), Ok(0x0403_0201));
        let cut = tag::<u64, 9>("M", &bytes[..7]).unwrap_err();
        assert_eq!(cut.problem, DecodeProblem::TooShort { found: 7, least: 9 });
    }
}
