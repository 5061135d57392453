//! Traits for the answers of a command enum, implemented by `#[urom_notification]`.

use super::EncodeError;
use super::write::zeroed;
use crate::describe::{Field, FieldKind, Messages, Misfit, Protocol, Variant};
use crate::descriptor::NotificationDesc;
use crate::protocol::Reply;

/// An enum of notifications.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an enum of notifications",
    label = "without `#[urom_notification]`",
    note = "put `#[urom_notification]` on the enum that the key `notification` names, by default `Notification`"
)]
pub trait Notifications {
    /// Describes all notifications.
    const DESCRIPTION: Messages;
}

/// The answer type of a command: a variant of the enum `Of`. rustc lists the implementations.
///
/// Generated code always names the answer through it, so that rustc reports a wrong type only once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a notification of this protocol, so it cannot answer a command",
    label = "no variant of `{Of}`"
)]
pub trait ReplyOf<Of> {
    /// The type itself.
    type This: Reply<Echo = Self::Echo>;
    /// Its echoed fields, as a structure with the same names.
    type Echo: Copy + 'static;
}

/// Implements [`Protocol::refusal`](crate::protocol::Protocol::refusal).
pub fn refusal(
    protocol: &'static Protocol,
    command: &[u8],
) -> Result<NotificationDesc, EncodeError> {
    let Protocol { commands, notifications, .. } = protocol;
    let asked = commands.find(command);
    let answers = |asked: &Variant| {
        notifications.variants.iter().find(|variant| asked.reply == Some(variant.name))
    };
    let reply = asked.and_then(answers);
    let message = reply.map_or(notifications.name, |reply| reply.name);
    let mut desc = zeroed(message, Some(notifications.len))?;
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(target) = desc.payload_mut().get_mut(at..at + bytes.len()) {
            target.copy_from_slice(bytes);
        }
    };
    let mut tag = [0; 8];
    match reply {
        Some(reply) => tag = reply.tag.to_le_bytes(),
        None => {
            let found = command.get(..commands.tag.size()).unwrap_or_default();
            tag[..found.len()].copy_from_slice(found);
        }
    }
    let (tag, beyond) = tag.split_at(notifications.tag.size());
    if beyond.iter().all(|byte| *byte == 0) {
        put(0, tag);
    }
    let (Some(asked), Some(reply)) = (asked, reply) else { return Ok(desc) };
    for to in echoed(notifications, reply) {
        let from = echoed(commands, asked).find(|from| from.name == to.name);
        let bytes = from.and_then(|from| command.get(from.offset..from.offset + from.ty.size()));
        if let Some(bytes) = bytes.filter(|bytes| Misfit::find(&to.ty, bytes).is_none()) {
            put(to.offset, bytes);
        }
    }
    Ok(desc)
}

fn echoed(of: &Messages, variant: &'static Variant) -> impl Iterator<Item = &'static Field> {
    of.header.iter().chain(variant.fields).filter(|field| field.kind == FieldKind::Echo)
}
