//! The functions of an enum of messages, each over the structures of its variants, which do the
//! work.

use super::{DecodeError, EncodeError};
use crate::descriptor::NotificationDesc;
use crate::protocol::{Reply, Request};

/// What is done with a message whatever variant it is.
pub trait Visit {
    type Output;

    fn command<C: Request>(self, command: &C) -> Self::Output;

    fn notification<R: Reply>(self, notification: R, echo: &R::Echo) -> Self::Output;
}

/// Writes the message to the start of the bytes.
#[derive(Debug)]
pub struct Encode<'a>(pub &'a mut [u8]);

impl Visit for Encode<'_> {
    type Output = Encoded;

    #[inline]
    fn command<C: Request>(self, command: &C) -> Self::Output {
        command.encode(self.0)
    }

    fn notification<R: Reply>(self, notification: R, echo: &R::Echo) -> Self::Output {
        let desc = notification.into_descriptor(echo)?;
        let (bytes, room) = (desc.payload(), self.0.len());
        let too_big = || EncodeError::TooBig { message: name::<R>(), need: bytes.len(), room };
        self.0.get_mut(..bytes.len()).ok_or_else(too_big)?.copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

/// How many bytes the message has; `None` when it cannot be written.
#[derive(Debug)]
pub struct Length;

impl Visit for Length {
    type Output = Option<usize>;

    #[inline]
    fn command<C: Request>(self, command: &C) -> Self::Output {
        command.encoded_len()
    }

    fn notification<R: Reply>(self, notification: R, echo: &R::Echo) -> Self::Output {
        let desc: NotificationDesc = notification.into_descriptor(echo).ok()?;
        Some(desc.payload().len())
    }
}

/// The name of a message's structure, without its path.
fn name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name)
}

/// Reads a notification of an enum `M`.
#[inline]
pub fn read<R: Reply, M: From<(R, R::Echo)>>(bytes: &[u8]) -> Result<M, DecodeError> {
    R::read(bytes, None).map(M::from)
}

pub type Decoded<T> = Result<T, DecodeError>;
pub type Encoded = Result<usize, EncodeError>;
pub type Written = Result<NotificationDesc, EncodeError>;
