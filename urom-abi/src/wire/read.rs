//! Decodes messages with payloads.

use super::fixed::{length, too_short};
use super::inline::{Borrowed, Outgoing, Owned};
use super::{Count, DecodeError, DecodeProblem, Name, Word};
use crate::payload::{Data, Payload, Registered};
use crate::protocol::Incoming;

#[inline]
pub fn start<'a, const LEN: usize>(
    message: Name,
    bytes: &'a [u8],
) -> Result<(&'a [u8; LEN], Behind<'a>), DecodeError> {
    match bytes.split_first_chunk::<LEN>() {
        Some((fixed, rest)) => Ok((fixed, Behind { message, total: bytes.len(), rest })),
        None => Err(too_short(message, bytes.len(), LEN)),
    }
}

/// Returns whether an unconditional `Option` or `Received` is present; others always are.
#[inline]
pub fn by_address<P: Outgoing>(address: impl Word) -> bool {
    !P::BY_ADDRESS || address.into() != 0
}

#[inline(always)]
pub fn decoded<T>(message: Name, field: Name, decoded: Result<T, Name>) -> Result<T, DecodeError> {
    decoded.map_err(|what| DecodeError { message, field, problem: DecodeProblem::Invalid(what) })
}

#[derive(Debug)]
pub struct Behind<'a> {
    message: Name,
    total: usize,
    rest: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    there: bool,
    /// In elements.
    length: u64,
    bytes: usize,
}

impl<'a> Behind<'a> {
    /// Reads the next payload: `count` elements if `there`.
    #[inline]
    pub fn take<P: Borrowed<'a>>(
        &mut self,
        field: Name,
        there: bool,
        count: impl Count,
    ) -> Result<P, DecodeError> {
        if !there && let Some(absent) = P::absent() {
            return Ok(absent);
        }
        let count = count.count().ok_or_else(|| self.no_length(field))?;
        let out_of_range = || self.out_of_range::<P>(field, count as u64);
        let bytes = count.checked_mul(P::UNIT).ok_or_else(out_of_range)?;
        let message = self.message;
        let taken = self.total - self.rest.len();
        let Some((payload, rest)) = self.rest.split_at_checked(bytes) else {
            return Err(length(message, field, self.total, taken.saturating_add(bytes)));
        };
        let refused = || DecodeError { message, field, problem: P::refused(payload) };
        let payload = P::present(payload).ok_or_else(refused)?;
        self.rest = rest;
        Ok(payload)
    }

    #[inline(always)]
    fn no_length(&self, field: Name) -> DecodeError {
        DecodeError { message: self.message, field, problem: DecodeProblem::NoLength }
    }

    /// Returns the error for a number of elements that exceeds `isize` bytes.
    #[inline(always)]
    fn out_of_range<P: Outgoing>(&self, field: Name, found: u64) -> DecodeError {
        let most = (isize::MAX as usize / P::UNIT) as u64;
        let problem = DecodeProblem::OutOfRange { found, most };
        DecodeError { message: self.message, field, problem }
    }

    /// Reads the next payload of a type with constant length, if `there`.
    #[inline]
    pub fn fixed<P: Borrowed<'a>>(&mut self, field: Name, there: bool) -> Result<P, DecodeError> {
        let bytes =
            const { P::FIXED.expect("only a payload of fixed length is read without a count") };
        self.take(field, there, bytes / P::UNIT)
    }

    /// Reads a payload of two kinds: `len` bytes when `selector` is 0, else registered memory.
    #[inline]
    pub fn data(
        &mut self,
        field: Name,
        selector: impl Word,
        address: impl Word,
        len: impl Word,
    ) -> Result<Data<'a>, DecodeError> {
        match std::num::NonZeroU64::new(selector.into()) {
            None => self.take(field, true, len).map(Data::Inline),
            Some(memory) => Ok(Data::Registered(Registered {
                memory,
                address: address.into(),
                len: len.into(),
            })),
        }
    }

    /// Checks the next payload of a notification. Returns its view, and its part of the [`Tail`].
    #[inline]
    pub fn part<P: Owned>(
        &mut self,
        field: Name,
        there: bool,
        count: impl Count,
    ) -> Result<(P::View<'a>, Part), DecodeError> {
        let view: P::View<'a> = self.take(field, there, count)?;
        let (there, bytes) = (view.shown().there, view.shown().bytes.len());
        let length = if P::LANDS { count.count() } else { Some(0) };
        let length = length.ok_or_else(|| self.no_length(field))? as u64;
        Ok((view, Part { there, length, bytes }))
    }

    #[inline]
    pub fn end(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(length(self.message, "length", self.total, self.total - self.rest.len()))
    }
}

#[derive(Debug)]
pub struct Tail(Payload);

impl Tail {
    #[inline]
    pub fn of(incoming: impl Incoming, from: usize) -> Tail {
        Tail(incoming.into_payload(from))
    }

    #[inline]
    pub fn take<P: Owned>(&mut self, part: Part) -> P {
        P::own(part.there, part.length, self.0.split_front(part.bytes))
    }
}
