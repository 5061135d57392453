//! What a command enum needs to know of the enum of its answers.

use super::EncodeError;
use crate::describe::Messages;
use crate::descriptor::NotificationDesc;

/// An enum of notifications. `#[urom_notification]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an enum of notifications",
    label = "without `#[urom_notification]`",
    note = "put `#[urom_notification]` on the enum that the key `notification` names, by default `Notification`"
)]
pub trait Notifications {
    /// The size in bytes of every notification without its inline payloads.
    const LEN: usize;
    /// All of them, for programs to read.
    const DESCRIPTION: Messages;

    /// The answer to a command that no variant is known to answer: zeros behind the tag, which is 0 when it does not fit.
    ///
    /// # Errors
    /// [`EncodeError::NoMemory`] when the C heap has no room.
    fn refusal(tag: u64) -> Result<NotificationDesc, EncodeError>;
}
