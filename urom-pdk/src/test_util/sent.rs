//! Commands that wait for their answers.

use std::fmt;

use urom_abi::descriptor::NotificationDesc;
use urom_abi::protocol::{Answer, AnswerBuffer, Incoming, Reply};
use urom_abi::wire::{DecodeError, EncodeError};

/// A sent command, exchanged for its answer by [`Worker::answer`](super::Worker::answer) or
/// [`Worker::wait`](super::Worker::wait). Dropping it does not cancel the command.
pub struct Sent<R: Reply> {
    pub(super) token: u64,
    pub(super) echo: R::Echo,
    pub(super) owner: u64,
}

impl<R: Reply> fmt::Debug for Sent<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sent({:#x})", self.token)
    }
}

/// The bytes of any notification: the answer of [`Worker::send_bytes`](super::Worker::send_bytes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Reply for Bytes {
    type Echo = ();

    fn read(incoming: impl Incoming, _: Option<&()>) -> Result<(Self, ()), DecodeError> {
        Ok((Bytes(incoming.bytes().to_vec()), ()))
    }

    fn write(self, (): &(), _: AnswerBuffer<'_>) -> Result<Answer, EncodeError> {
        let desc = NotificationDesc::zeroed(self.0.len());
        let mut desc = desc.map_err(|_| EncodeError::NoMemory { message: "Bytes" })?;
        desc.payload_mut().copy_from_slice(&self.0);
        Ok(Answer::Descriptor(desc))
    }
}
