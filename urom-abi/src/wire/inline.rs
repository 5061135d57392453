//! Inline payloads: what can be one, and how generated code writes and reads it.
//!
//! Writing computes the words and compares payloads with the fields that describe them before the
//! first byte is written. Reading a command takes payload after payload from the bytes behind the
//! fixed part. Reading a notification looks at all of them first, then divides its memory.

use super::DecodeProblem;
use crate::payload::Payload;

/// What a payload is on the wire: its bytes, and what the words beside it say.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) there: bool,
    /// In elements.
    pub(super) length: u64,
    /// What the address word says when a condition over other fields decides whether it is there.
    pub(super) address: u64,
    pub(super) selector: u64,
}

impl<'a> Shown<'a> {
    /// Of a payload that is there, of elements of `unit` bytes.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], unit: usize) -> Shown<'a> {
        let (length, address) = ((bytes.len() / unit) as u64, u64::from(!bytes.is_empty()));
        Shown { bytes, there: true, length, address, selector: 0 }
    }

    #[inline(always)]
    pub(super) fn absent() -> Shown<'a> {
        Shown { there: false, ..Shown::new(&[], 1) }
    }
}

/// What can travel behind a fixed part, as it is written.
pub trait Outgoing: Sized {
    /// Its length in bytes when the type has one.
    const FIXED: Option<usize> = None;
    const UNIT: usize = 1;
    const BY_ADDRESS: bool = false;

    /// The payload that nobody set: empty, absent, or zeros.
    fn unset() -> Self;
    fn shown(&self) -> Shown<'_>;
}

/// A payload of a command: `&'a [u8]`, `&'a [u8; N]`, `&'a str`, `Elements`, or `Option` of one.
/// (`Data` is read by a function of its own.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an inline payload of a command",
    label = "a command borrows its payloads",
    note = "use `&'a [u8]`, `&'a [u8; N]`, `&'a str`, `Elements<'a, T>`, an `Option` of one of these, or, with `unless`, `Data<'a>`"
)]
pub trait Borrowed<'a>: Outgoing + Copy {
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
    fn absent() -> Option<Self> {
        None
    }
}

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
    type View<'a>: Borrowed<'a>;
    /// Whether its length counts when it is not there.
    const LANDS: bool = false;

    fn view(&self) -> Self::View<'_>;
    /// The payload of memory that was found to hold one: `memory` is as long as the view's bytes.
    fn own(there: bool, length: u64, memory: Payload) -> Self;
    fn give(self) -> Payload;
}
