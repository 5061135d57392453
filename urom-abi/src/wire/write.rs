//! Encodes messages with payloads.

use super::inline::{Optional, Outgoing, Owned, Shown};
use super::{Count, EncodeError, Name, Word, Written};
use crate::descriptor::NotificationDesc;
use crate::payload::{Payload, unit};
use crate::protocol::{Answer, AnswerBuffer, AnswerBytes, WrittenInPlace};

#[inline]
pub fn bytes<P: Outgoing>(payload: &P) -> &[u8] {
    payload.shown().bytes
}

#[inline]
pub fn give<P: Owned>(payload: P) -> Payload {
    payload.give()
}

#[inline]
pub fn unset<P: Outgoing>() -> P {
    P::unset()
}

#[inline]
pub fn length_word<W: Word, P: Outgoing>(
    message: Name,
    field: Name,
    payload: &P,
) -> Result<W, EncodeError> {
    W::from_u64(payload.shown().length).ok_or_else(|| {
        mismatch(message, field, "is longer than its length word can say: send less")
    })
}

/// Returns the address word of an unconditional payload.
#[inline]
pub fn address_word<W: Word, P: Outgoing>(
    message: Name,
    field: Name,
    payload: &P,
) -> Result<W, EncodeError> {
    let Shown { there, address, .. } = payload.shown();
    let word = if P::BY_ADDRESS { u64::from(there) } else { address };
    W::from_u64(word).ok_or_else(|| address_mismatch(message, field))
}

/// Returns the address word of a conditional payload.
#[inline]
pub fn address_word_when<W: Word, P: Optional>(
    message: Name,
    field: Name,
    payload: &P,
) -> Result<W, EncodeError> {
    W::from_u64(payload.shown().address).ok_or_else(|| address_mismatch(message, field))
}

#[inline]
pub fn selector_word<W: Word, P: Outgoing>(
    message: Name,
    field: Name,
    payload: &P,
) -> Result<W, EncodeError> {
    W::from_u64(payload.shown().selector)
        .ok_or_else(|| mismatch(message, field, "names memory by an id that its word cannot hold"))
}

/// Checks that a present payload has as many elements as other fields state.
#[inline]
pub fn agrees<P: Outgoing, C: Count>(
    message: Name,
    field: Name,
    payload: &P,
    count: C,
) -> Result<(), EncodeError> {
    let Shown { there, length, .. } = payload.shown();
    let what = match count.count() {
        _ if !there => return Ok(()),
        Some(count) if count as u64 == length => return Ok(()),
        Some(_) => "does not have the length that the fields before it call for",
        None => "has a length, by the fields before it, that no payload can have",
    };
    Err(mismatch(message, field, what))
}

/// Checks that the payload is present exactly when `there` is true.
#[inline]
pub fn agrees_when<P: Optional>(
    message: Name,
    field: Name,
    payload: &P,
    there: bool,
) -> Result<(), EncodeError> {
    let what = match (payload.shown().there, there) {
        (true, false) => "is present although the fields before it exclude it: pass `None`",
        (false, true) => "is not there although the fields before it call for it: pass `Some`",
        _ => return Ok(()),
    };
    Err(mismatch(message, field, what))
}

#[inline]
pub fn total(fixed: usize, payloads: &[usize]) -> Option<usize> {
    payloads.iter().try_fold(fixed, |sum, len| sum.checked_add(*len))
}

/// Writes a zeroed fixed part, then `fill`, then the payloads to `out`. Returns the length.
#[inline]
pub fn message<const LEN: usize, const N: usize>(
    message: Name,
    out: &mut [u8],
    payloads: [&[u8]; N],
    fill: impl FnOnce(&mut [u8; LEN]),
) -> Result<usize, EncodeError> {
    let capacity = out.len();
    let total = total(LEN, &payloads.map(length));
    let too_big = || EncodeError::TooBig { message, need: total.unwrap_or(usize::MAX), capacity };
    let behind =
        total.and_then(|total| out.get_mut(..total)).and_then(<[u8]>::split_first_chunk_mut::<LEN>);
    let (fixed, behind) = behind.ok_or_else(too_big)?;
    // Before the payloads, so that no values are kept during their copying.
    fixed.fill(0);
    fill(fixed);
    let mut at = 0;
    for payload in payloads {
        if let Some(target) = behind.get_mut(at..at + payload.len())
            && !target.is_empty()
        {
            target.copy_from_slice(payload);
        }
        at += payload.len();
    }
    Ok(LEN + at)
}

/// Returns the number of bytes. Tells the compiler that adding a small number cannot overflow.
#[inline(always)]
fn length(bytes: &[u8]) -> usize {
    // SAFETY: no slice is longer than `isize::MAX` bytes.
    unsafe { std::hint::assert_unchecked(bytes.len() <= isize::MAX as usize) };
    bytes.len()
}

/// Allocates a payload of `count` zeroed elements, behind a zeroed fixed part in a descriptor,
/// which becomes the notification of this payload.
#[inline]
pub fn payload<const LEN: usize, T>(
    message: Name,
    count: usize,
) -> Result<Payload<T>, EncodeError> {
    let bytes = count.checked_mul(unit::<T>());
    let desc = zeroed(message, bytes.and_then(|bytes| bytes.checked_add(LEN)))?;
    let payload = Payload::in_descriptor(desc, LEN).of_elements();
    payload.map_err(|_| EncodeError::NoMemory { message })
}

#[inline]
pub(super) fn zeroed(message: Name, len: Option<usize>) -> Result<NotificationDesc, EncodeError> {
    let desc = len.and_then(|len| NotificationDesc::zeroed(len).ok());
    desc.ok_or(EncodeError::NoMemory { message })
}

/// Writes a notification: a zeroed fixed part, then `fill`, then the payloads, to `buffer` if given
/// and large enough. If the only non-empty payload is in a descriptor behind a fixed part of this
/// length, that descriptor becomes the notification. Otherwise it is written to a new descriptor.
#[inline]
pub fn reply<const LEN: usize, const N: usize>(
    message: Name,
    buffer: AnswerBuffer<'_>,
    mut payloads: [Payload; N],
    fill: impl FnOnce(&mut [u8; LEN]),
) -> Written {
    let len = total(LEN, &payloads.each_ref().map(|payload| length(payload)));
    let mut desc = None;
    let bytes = match buffer.filter(|buffer| len.is_some_and(|len| len <= buffer.bytes.len())) {
        Some(AnswerBytes { bytes, written }) => {
            let behind = bytes.get_mut(LEN..).unwrap_or_default();
            written.set(LEN + copy_all(&payloads, behind));
            bytes
        }
        None => {
            let own = match own_descriptor::<LEN, N>(&mut payloads) {
                Some(own) => own,
                None => copied::<LEN>(message, &payloads)?,
            };
            desc.insert(own).payload_mut()
        }
    };
    if let Some(fixed) = bytes.first_chunk_mut::<LEN>() {
        fixed.fill(0);
        fill(fixed);
    }
    Ok(desc.map_or_else(in_place, Answer::Descriptor))
}

/// Returns the answer for a filled buffer, whose length the caller has stored.
#[inline]
pub(super) fn in_place() -> Answer {
    // SAFETY: without a descriptor there was a buffer, which `Now` proves to be the command's.
    Answer::InPlace(unsafe { WrittenInPlace::new() })
}

#[inline]
fn copy_all(payloads: &[Payload], behind: &mut [u8]) -> usize {
    let mut at = 0;
    for payload in payloads {
        let Some(target) = behind.get_mut(at..at + payload.len()) else { break };
        target.copy_from_slice(payload);
        at += payload.len();
    }
    at
}

#[inline]
fn own_descriptor<const LEN: usize, const N: usize>(
    payloads: &mut [Payload; N],
) -> Option<NotificationDesc> {
    let mut filled = payloads.iter_mut().filter(|payload| !payload.is_empty());
    let (only, None) = (filled.next()?, filled.next()) else { return None };
    std::mem::take(only).into_descriptor(LEN).map_err(|back| *only = back).ok()
}

fn copied<const LEN: usize>(
    message: Name,
    payloads: &[Payload],
) -> Result<NotificationDesc, EncodeError> {
    let total = payloads.iter().try_fold(LEN, |sum, payload| sum.checked_add(payload.len()));
    let mut desc = zeroed(message, total)?;
    copy_all(payloads, desc.payload_mut().get_mut(LEN..).unwrap_or_default());
    Ok(desc)
}

#[cold]
fn mismatch(message: Name, field: Name, what: Name) -> EncodeError {
    EncodeError::Mismatch { message, field, what }
}

#[cold]
fn address_mismatch(message: Name, field: Name) -> EncodeError {
    mismatch(message, field, "lies at an address that its word cannot hold")
}
