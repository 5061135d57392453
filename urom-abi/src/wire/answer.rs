//! What a command enum needs to know of its answers: `#[urom_notification]` implements it.

use super::{EncodeError, Name, Tag, Word, field, notification};
use crate::describe::Messages;
use crate::descriptor::NotificationDesc;
use crate::protocol::Reply;

/// An enum of notifications.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an enum of notifications",
    label = "without `#[urom_notification]`",
    note = "put `#[urom_notification]` on the enum that the key `notification` names, by default `Notification`"
)]
pub trait Notifications {
    /// All of them, for programs to read.
    const DESCRIPTION: Messages;

    /// The answer to a command that no variant is known to answer: zeros behind the tag, which is 0
    /// when it does not fit.
    fn refusal(tag: u64) -> Result<NotificationDesc, EncodeError>;
}

/// What a command names as its answer: a variant of the enum of notifications `Of`. It is
/// implemented for the structure of each, and for nothing else, so that rustc lists those there
/// are.
///
/// Generated code goes through it wherever it names the answer, so that every mention of a type
/// that is none gives the same error, which rustc reports once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no notification of this protocol, so it cannot answer a command",
    label = "no variant of `{Of}`"
)]
pub trait Answer<Of> {
    /// The type itself.
    type This: Reply<Echo = Self::Echo>;
    /// Its echoed fields, as a structure with those names.
    type Echo: Copy + 'static;
}

/// A notification of `LEN` bytes of which all but the tag are zero; the tag too when it does not
/// fit.
pub fn refusal<T: Tag + Word, const LEN: usize>(
    message: Name,
    tag: u64,
) -> Result<NotificationDesc, EncodeError> {
    let tag = T::from_u64(tag).unwrap_or_else(T::zeroed);
    notification::<LEN>(message, |fixed| field::<T, 0, LEN>().write(fixed, &tag))
}
