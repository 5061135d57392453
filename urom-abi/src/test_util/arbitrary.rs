//! Arbitrary messages, for property tests and fuzzers (feature `test-util`). The macros implement
//! [`Arbitrary`] for messages that can be encoded: payloads match the other fields' lengths and
//! conditions. `IncorrectFormat` means that a condition or a codec rejects nearly all values.

pub use arbitrary::{Arbitrary, Error, Result, Unstructured};

use std::num::NonZeroU64;

use crate::describe::{Type, visit};
use crate::payload::{Data, Payload, Received, Registered};
use crate::protocol::{Reply, Request};
use crate::wire::{Borrowed, Count, EncodeError, Field, Outgoing, Owned};

const ATTEMPTS: usize = 8;
/// Maximum number of elements of a payload without a given length.
const MOST: usize = 4096;
/// Same, for a length word that may be a single byte.
const MOST_IN_A_BYTE: usize = 255;
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

#[doc(hidden)]
#[derive(Debug)]
pub struct Unfit;

impl From<EncodeError> for Unfit {
    fn from(_: EncodeError) -> Unfit {
        Unfit
    }
}

impl From<Error> for Unfit {
    fn from(_: Error) -> Unfit {
        Unfit
    }
}

#[doc(hidden)]
pub type Made<T> = std::result::Result<T, Unfit>;

/// Returns the first of several attempts that `fits`; the last attempt consists of zeros.
fn attempt<'a, T>(
    input: &mut Unstructured<'a>,
    make: impl Fn(&mut Unstructured<'a>) -> Made<T>,
    fits: impl Fn(&T) -> bool,
) -> Result<T> {
    let made = |input: &mut Unstructured<'a>| make(input).ok().filter(|made| fits(made));
    let found = (0..ATTEMPTS).find_map(|_| made(input));
    found.or_else(|| made(&mut Unstructured::new(&[]))).ok_or(Error::IncorrectFormat)
}

#[doc(hidden)]
pub fn command<'a, C: Request>(
    input: &mut Unstructured<'a>,
    make: impl Fn(&mut Unstructured<'a>) -> Made<C>,
) -> Result<C> {
    attempt(input, make, |made| {
        made.encoded_len().is_some_and(|len| made.encode(&mut vec![0; len]).is_ok())
    })
}

/// Generates a notification that can be encoded, and its echoed fields.
#[doc(hidden)]
pub fn notification<'a, R: Reply>(
    input: &mut Unstructured<'a>,
    make: impl Fn(&mut Unstructured<'a>) -> Made<(R, R::Echo)>,
) -> Result<(R, R::Echo)> {
    // Encoding consumes the notification, so a copy from the same input is encoded.
    let make_one_that_fits = |input: &mut Unstructured<'a>| {
        let mut ahead = Unstructured::new(input.peek_bytes(input.len()).ok_or(Unfit)?);
        let (twin, echo) = make(&mut ahead)?;
        if twin.into_descriptor(&echo).is_ok() {
            return make(input);
        }
        *input = ahead;
        Err(Unfit)
    };
    attempt(input, make_one_that_fits, |_| true)
}

#[doc(hidden)]
pub fn one_of<'a, T>(
    input: &mut Unstructured<'a>,
    count: usize,
    make: impl Fn(&mut Unstructured<'a>, usize) -> Result<T>,
) -> Result<T> {
    let chosen = |input: &mut Unstructured<'a>| {
        let chosen = input.choose_index(count)?;
        Ok(make(input, chosen)?)
    };
    attempt(input, chosen, |_| true)
}

fn flip(input: &mut Unstructured<'_>) -> Made<bool> {
    Ok(input.arbitrary()?)
}

/// Fills bytes with small, negative, very large or arbitrary numbers.
fn fill(input: &mut Unstructured<'_>, bytes: &mut [u8]) -> Result<()> {
    let word = if input.arbitrary()? { 4 } else { 8 };
    for word in bytes.chunks_mut(word) {
        let (changed, others) = match input.arbitrary::<u8>()? {
            0..100 => (1, 0),
            100..140 => (1, 0xff),
            _ => (word.len(), 0),
        };
        let (changed, rest) = word.split_at_mut(changed);
        rest.fill(others);
        input.fill_buffer(changed)?;
    }
    Ok(())
}

#[doc(hidden)]
pub fn value<T, const AT: usize, const LEN: usize, const ANY: bool>(
    input: &mut Unstructured<'_>,
    field: Field<T, AT, LEN, ANY>,
    of: &'static Type,
) -> Made<T> {
    let mut fixed = [0; LEN];
    let bytes = &mut fixed[AT..AT + size_of::<T>()];
    fill(input, bytes)?;
    make_fit(input, of, bytes)?;
    field.checked(&fixed, "", "", of).map_err(|_| Unfit)
}

/// Replaces invalid bytes by a valid value, as far as the type is described.
fn make_fit(input: &mut Unstructured<'_>, of: &Type, bytes: &mut [u8]) -> Made<()> {
    let mut make = |leaf: &Type, bytes: &mut [u8]| -> Result<()> {
        match *leaf {
            Type::Bool => bytes.fill(input.arbitrary::<bool>()?.into()),
            Type::Char => {
                bytes.copy_from_slice(&u32::from(input.arbitrary::<char>()?).to_le_bytes())
            }
            Type::Enum(of) if !of.values.is_empty() => {
                let value = input.choose(of.values)?.value.to_le_bytes();
                bytes.copy_from_slice(&value[..bytes.len()]);
            }
            _ => {}
        }
        Ok(())
    };
    let failure = visit(of, usize::MAX, &mut |at, leaf, _| {
        make(leaf, bytes.get_mut(at..at + leaf.size())?).err()
    });
    failure.map_or(Ok(()), |error| Err(error.into()))
}

#[doc(hidden)]
pub fn coded<W, T, const AT: usize, const LEN: usize, const ANY: bool>(
    input: &mut Unstructured<'_>,
    field: Field<W, AT, LEN, ANY>,
    of: &'static Type,
    decode: impl Fn(W) -> std::result::Result<T, &'static str>,
) -> Made<T> {
    for _ in 0..ATTEMPTS {
        if let Ok(value) = decode(value(input, field, of)?) {
            return Ok(value);
        }
    }
    // From zeros.
    decode(value(&mut Unstructured::new(&[]), field, of)?).map_err(|_| Unfit)
}

#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Length<C> {
    Given(C),
    /// Any number: its length word has 64 bits.
    Free,
    /// Any number that every length word can hold.
    Short,
}

impl<C: Count> Length<C> {
    fn elements(self, input: &mut Unstructured<'_>) -> Made<usize> {
        let most = match self {
            Length::Given(count) => return count.count().ok_or(Unfit),
            Length::Free => MOST,
            Length::Short => MOST_IN_A_BYTE,
        };
        let is_long = input.ratio(1, 10)?;
        Ok(input.int_in_range(0..=if is_long { most } else { most.min(64) })?)
    }

    fn bytes<'a, P: Outgoing>(self, input: &mut Unstructured<'a>) -> Made<&'a [u8]> {
        let len = match P::FIXED {
            Some(len) => len,
            None => self.elements(input)?.checked_mul(P::UNIT).ok_or(Unfit)?,
        };
        if len <= input.len() { Ok(input.bytes(len)?) } else { zeros(len) }
    }
}

fn zeros(len: usize) -> Made<&'static [u8]> {
    ZEROS.get(..len).ok_or(Unfit)
}

/// Generates the payload of a command. The input decides its presence if `there` is `None`.
#[doc(hidden)]
pub fn borrowed<'a, P: Borrowed<'a>>(
    input: &mut Unstructured<'a>,
    there: Option<bool>,
    length: Length<impl Count>,
) -> Made<P> {
    if !there.map_or_else(|| flip(input), Ok)? {
        return P::absent().ok_or(Unfit);
    }
    let bytes = length.bytes::<P>(input)?;
    if let Some(payload) = P::present(bytes) {
        return Ok(payload);
    }
    // Only text rejects bytes of its length.
    let text = match length {
        Length::Given(_) => zeros(bytes.len())?,
        Length::Free | Length::Short => {
            let valid =
                std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
            bytes.get(..valid).ok_or(Unfit)?
        }
    };
    P::present(text).ok_or(Unfit)
}

#[doc(hidden)]
pub fn data<'a>(input: &mut Unstructured<'a>, length: Length<impl Count>) -> Made<Data<'a>> {
    if !flip(input)? {
        return length.bytes::<Data<'_>>(input).map(Data::Inline);
    }
    let memory = NonZeroU64::new(input.arbitrary::<u8>()?.into()).ok_or(Unfit)?;
    let address = input.arbitrary::<u32>()?.into();
    let len = length.elements(input)? as u64;
    Ok(Data::Registered(Registered { memory, address, len }))
}

#[doc(hidden)]
pub fn owned<P: Owned>(
    input: &mut Unstructured<'_>,
    there: Option<bool>,
    length: Length<impl Count>,
) -> Made<P> {
    if !there.map_or_else(|| flip(input), Ok)? {
        return Ok(P::own(false, 0, Payload::default()));
    }
    let bytes = length.bytes::<P>(input)?;
    Ok(P::own(true, (bytes.len() / P::UNIT) as u64, Payload::from(bytes)))
}

#[doc(hidden)]
pub fn received(input: &mut Unstructured<'_>, length: Length<impl Count>) -> Made<Received> {
    if flip(input)? {
        return Ok(Received::Registered { len: length.elements(input)? as u64 });
    }
    owned(input, Some(true), length)
}
