//! The types of inline payloads. Encoding computes the words and compares payloads with the fields
//! that describe them before it writes. Decoding a notification checks all payloads first.

use super::DecodeProblem;
use crate::payload::Payload;

/// A payload on the wire: its bytes and the values of its words.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) there: bool,
    /// In elements.
    pub(super) length: u64,
    /// The address word when a condition over other fields decides the presence.
    pub(super) address: u64,
    pub(super) selector: u64,
}

impl<'a> Shown<'a> {
    /// Describes a present payload with elements of `unit` bytes.
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

pub trait Outgoing: Sized {
    const FIXED: Option<usize> = None;
    const UNIT: usize = 1;
    const BY_ADDRESS: bool = false;

    /// Returns the payload for an unset field: empty, absent, or zeros.
    fn unset() -> Self;
    fn shown(&self) -> Shown<'_>;
}

/// A payload of a command, except `Data`, which has a separate function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an inline payload of a command",
    label = "a command borrows its payloads",
    note = "use `&'a [u8]`, `&'a [u8; N]`, `&'a str`, `Elements<'a, T>`, an `Option` of one of these, or, with `unless`, `Data<'a>`"
)]
pub trait Borrowed<'a>: Outgoing + Copy {
    /// Returns the payload of exactly these bytes; `None` for a wrong length or invalid text.
    fn present(bytes: &'a [u8]) -> Option<Self>;
    #[cold]
    fn refused(bytes: &[u8]) -> DecodeProblem {
        DecodeProblem::Length { found: bytes.len(), expected: Self::FIXED.unwrap_or(bytes.len()) }
    }
    /// Returns the absent payload; `None` for a type without absence.
    #[inline]
    fn absent() -> Option<Self> {
        None
    }
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is always there, but this payload is there on a condition",
    label = "not an `Option`",
    note = "make it an `Option` of the payload: `None` when the condition does not hold"
)]
pub trait Optional: Outgoing {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an inline payload of a notification",
    label = "a notification owns its payloads",
    note = "use `Payload`, `Payload<T>`, `Option<Payload<T>>` or `Received`"
)]
pub trait Owned: Outgoing + 'static {
    type View<'a>: Borrowed<'a>;
    /// Whether the length counts when the payload is absent.
    const LANDS: bool = false;

    fn view(&self) -> Self::View<'_>;
    /// Builds the payload from `memory`, which is as long as the view's bytes.
    fn own(there: bool, length: u64, memory: Payload) -> Self;
    fn give(self) -> Payload;
}
