//! Inline payloads: what can be one, and how generated code writes and reads it.
//!
//! # Writing a command
//!
//! Everything that can fail comes before anything is written. `M` is the message's name, `F` the
//! payload's, `p` the payload (`&self.field`), `LEN` the length of the fixed part.
//!
//! | when the definition says | generated code |
//! | --- | --- |
//! | a length word of type `W` | `let w: W = wire::length_word(M, F, p)?;` |
//! | an address word, no `when` | `let w: W = wire::address_word(M, F, p)?;` |
//! | an address word and `when` | `let w: W = wire::address_word_when(M, F, p)?;` |
//! | `unless = word` | `let w: W = wire::selector_word(M, F, p)?;` |
//! | `len = EXPR` | `wire::agrees(M, F, p, EXPR)?;` |
//! | `when = EXPR` | `wire::agrees_when(M, F, p, EXPR)?;` |
//! | always, once, with all payloads in order | `wire::message::<LEN, N>(M, out, [wire::bytes(p), ..], fill)` |
//!
//! `fill` writes the fields and the words into the fixed part that it is given, which is zeroed;
//! the result is the length. A word that is a member of a plain field is assigned in a copy of that
//! field. `encoded_len` is `wire::total(LEN, &[bytes(p).len(), ..])`.
//!
//! # Reading a command
//!
//! ```text
//! let (fixed, mut behind) = wire::start::<LEN>(M, bytes)?;      // &[u8; LEN] and the bytes behind it
//! let count = COUNT.read(fixed);                                // fields and words
//! let p = behind.take::<P>(F, there, count)?;                   // each payload, in order
//! behind.end()?;                                                // nothing is left
//! ```
//!
//! `there` is `true`, or the `when` expression, or `wire::by_address::<P>(address_word)` for an
//! `Option` without `when`. A payload of fixed length is read with `behind.fixed::<P>(F, there)`,
//! `Data` with `behind.data(F, selector, address, len)`.
//!
//! # Notifications
//!
//! Writing into bytes is the same. A descriptor is made by
//! `wire::reply::<LEN, N>(M, [wire::give(self.p), ..], |fixed| ..)` after the words were computed
//! from `&self`; it is the payload's own descriptor when that is possible. Expressions see
//! `Owned::view(&self.p)`. `wire::payload::<LEN, T>(M, count)` makes a payload for that.
//!
//! Reading goes over the bytes first and takes the memory when all is well:
//!
//! ```text
//! let (fixed, mut behind) = wire::start::<LEN>(M, incoming.bytes())?;
//! let (p, p_part) = behind.part::<P>(F, there, count)?;         // a view of it for later expressions, and its extent
//! behind.end()?;
//! let mut tail = wire::Tail::of(incoming, LEN);                 // no view is used from here on
//! Ok(Name { p: tail.take::<P>(p_part), .. })                    // in order
//! ```

use super::{Count, DecodeProblem};
use crate::payload::Payload;
#[expect(unused_imports, reason = "the documentation names them")]
use crate::payload::{Data, Elements, Received};

/// What can travel behind a fixed part, as it is written.
pub trait Outgoing: Sized {
    /// Its length in bytes when the type has one.
    const FIXED: Option<usize>;
    /// How many bytes an element has.
    const UNIT: usize;
    /// Whether it can be absent by its address word.
    const BY_ADDRESS: bool = false;

    /// The payload that nobody set: empty, absent, or zeros.
    fn unset() -> Self;
    /// The bytes behind the fixed part.
    fn bytes(&self) -> &[u8];

    /// Whether it is there.
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
    /// What its selector word says.
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
    ///
    /// # Errors
    /// As [`Count::count`], when the length matters although the payload is not there.
    #[inline]
    fn absent(_length: impl Count) -> Result<Option<Self>, u64> {
        Ok(None)
    }
}

/// A payload of a command: `&'a [u8]`, `&'a [u8; N]`, `&'a str`, [`Elements`], or `Option` of one.
/// ([`Data`] is read by a function of its own.)
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

/// A payload of a notification: [`Payload`], `Option` of one, or [`Received`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an inline payload of a notification",
    label = "a notification owns its payloads",
    note = "use `Payload`, `Payload<T>`, `Option<Payload<T>>` or `Received`"
)]
pub trait Owned: Outgoing + 'static {
    /// What an expression over the payload sees.
    type View<'a>: Readable<'a>;

    /// The payload while it is looked at.
    fn view(&self) -> Self::View<'_>;
    /// The payload of memory that was found to hold one: `memory` is as long as the view's bytes.
    fn own(there: bool, length: u64, memory: Payload) -> Self;
    /// The memory to send.
    fn give(self) -> Payload;
}
