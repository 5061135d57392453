//! Inline payloads: what can be one, and how generated code writes and reads it.
//!
//! Writing computes the words and compares payloads with the fields that describe them before the
//! first byte is written. Reading a command takes payload after payload from the bytes behind the
//! fixed part. Reading a notification looks at all of them first, then divides its memory.

use super::{Count, DecodeProblem};
use crate::payload::Payload;

/// What can travel behind a fixed part, as it is written.
pub trait Outgoing: Sized {
    /// Its length in bytes when the type has one.
    const FIXED: Option<usize> = None;
    const UNIT: usize = 1;
    /// Whether it can be absent by its address word.
    const BY_ADDRESS: bool = false;

    /// The payload that nobody set: empty, absent, or zeros.
    fn unset() -> Self;
    fn bytes(&self) -> &[u8];

    #[inline]
    fn is_there(&self) -> bool {
        true
    }
    /// What its length word says: elements.
    #[inline]
    fn length(&self) -> u64 {
        (self.bytes().len() / Self::UNIT) as u64
    }
    /// What its address word says when a condition over other fields decides whether it is there.
    #[inline]
    fn address(&self) -> u64 {
        u64::from(!self.bytes().is_empty())
    }
    /// What its address word says otherwise.
    #[inline]
    fn deciding_address(&self) -> u64 {
        if Self::BY_ADDRESS { u64::from(self.is_there()) } else { self.address() }
    }
    #[inline]
    fn selector(&self) -> u64 {
        0
    }
}

/// What can be read from a run of bytes of the message.
pub trait Readable<'a>: Outgoing + Copy {
    /// The payload of exactly these bytes; `None` when they are not as many as the type allows, or
    /// no text.
    fn present(bytes: &'a [u8]) -> Option<Self>;
    /// Why [`present`](Self::present) refuses these bytes.
    #[cold]
    fn refused(bytes: &[u8]) -> DecodeProblem {
        DecodeProblem::Length { found: bytes.len(), expected: Self::FIXED.unwrap_or(bytes.len()) }
    }
    /// The payload that is not there; `None` when it always is.
    #[inline]
    fn absent(_length: impl Count) -> Result<Option<Self>, u64> {
        Ok(None)
    }
}

/// A payload of a command: `&'a [u8]`, `&'a [u8; N]`, `&'a str`, `Elements`, or `Option` of one.
/// (`Data` is read by a function of its own.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an inline payload of a command",
    label = "a command borrows its payloads",
    note = "use `&'a [u8]`, `&'a [u8; N]`, `&'a str`, `Elements<'a, T>`, an `Option` of one of these, or, with `unless`, `Data<'a>`"
)]
pub trait Borrowed<'a>: Readable<'a> {}

#[diagnostic::do_not_recommend]
impl<'a, P: Readable<'a>> Borrowed<'a> for P {}

/// A payload that can be absent on a condition.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is always there, but this payload is there on a condition",
    label = "not an `Option`",
    note = "make it an `Option` of the payload: `None` when the condition does not hold"
)]
pub trait Optional: Outgoing {}

/// A payload of a notification: `Payload`, `Option` of one, or `Received`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an inline payload of a notification",
    label = "a notification owns its payloads",
    note = "use `Payload`, `Payload<T>`, `Option<Payload<T>>` or `Received`"
)]
pub trait Owned: Outgoing + 'static {
    /// What an expression over the payload sees.
    type View<'a>: Readable<'a>;

    fn view(&self) -> Self::View<'_>;
    /// The payload of memory that was found to hold one: `memory` is as long as the view's bytes.
    fn own(there: bool, length: u64, memory: Payload) -> Self;
    fn give(self) -> Payload;
}
