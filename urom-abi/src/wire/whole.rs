//! The functions of a message enum, which call the functions of its variants' structures.

use super::{DecodeError, EncodeError};
use crate::protocol::{Answer, Reply};

pub fn encode<R: Reply>(notification: R, echo: &R::Echo, out: &mut [u8]) -> Encoded {
    let desc = notification.into_descriptor(echo)?;
    let (bytes, capacity) = (desc.payload(), out.len());
    let too_big = || EncodeError::TooBig { message: name::<R>(), need: bytes.len(), capacity };
    out.get_mut(..bytes.len()).ok_or_else(too_big)?.copy_from_slice(bytes);
    Ok(bytes.len())
}

/// Returns a message's length from writing it to an empty buffer; `None` when it cannot be written.
#[must_use]
pub fn encoded_len(written: Encoded) -> Option<usize> {
    match written {
        Ok(len) => Some(len),
        Err(EncodeError::TooBig { need, .. }) => (need < usize::MAX).then_some(need),
        Err(_) => None,
    }
}

fn name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name)
}

#[inline]
pub fn read<R: Reply, M: From<(R, R::Echo)>>(bytes: &[u8]) -> Result<M, DecodeError> {
    R::read(bytes, None).map(M::from)
}

/// Avoids rustc's warning about functions that a program does not call.
pub const fn used<T: Copy>(_: T) {}

pub type Decoded<T> = Result<T, DecodeError>;
pub type Encoded = Result<usize, EncodeError>;
pub type Written = Result<Answer, EncodeError>;
