//! What is sent, and what its answer means.

use anyhow::bail;
use urom_abi::Count;
use urom_abi::describe::{Messages, Protocol, Variant};
use urom_abi::plugin::WorkerCmd;
use urom_host::{Answer, Plugin, RawCompletion, Worker};

use crate::message::{self, Assignment, Decoded, Shown};

/// A command, ready to be sent.
#[derive(Debug)]
pub(super) struct Request {
    /// How messages to the user call it.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) remarks: Vec<String>,
    described: Option<Described>,
}

/// Who can read the answer.
#[derive(Clone, Copy, Debug)]
struct Described {
    protocol: &'static Protocol,
    /// The command, unless it was given as bytes that are none.
    command: Option<&'static Variant>,
}

/// What an answer says.
#[derive(Debug)]
pub(super) enum Notification {
    /// A message of the protocol.
    Decoded(Decoded),
    /// Bytes that nothing describes, or that are not what describes them.
    Bytes(Shown),
}

/// An answer that was looked into.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) notification: Option<Notification>,
    /// Why this is not the answer that the command calls for, whatever its status.
    pub(super) problems: Vec<String>,
}

impl Request {
    /// A command by name.
    pub(super) fn described(
        protocol: &'static Protocol,
        command: &str,
        fields: &[Assignment],
    ) -> Result<Request, String> {
        let command = message::command(&protocol.commands, command)?;
        let encoded = message::encode(&protocol.commands, command, fields)?;
        let described = Some(Described { protocol, command: Some(command) });
        Ok(Request {
            name: command.name.to_owned(),
            bytes: encoded.bytes,
            remarks: encoded.remarks,
            described,
        })
    }

    /// A command as bytes. A protocol, if one is known, is for the answer.
    pub(super) fn raw(bytes: Vec<u8>, protocol: Option<&'static Protocol>) -> Request {
        let command = protocol.and_then(|protocol| protocol.commands.find(&bytes));
        let described = protocol.map(|protocol| Described { protocol, command });
        let name = format!("a command of {}", Count(bytes.len(), "byte"));
        Request { name, bytes, remarks: Vec::new(), described }
    }

    /// Submits it.
    ///
    /// # Errors
    /// The worker takes no more, or none that is so long.
    pub(super) fn submit(&self, worker: &Worker, plugin: Plugin) -> anyhow::Result<RawCompletion> {
        let task = worker.task(plugin)?;
        let (need, room) = (self.bytes.len(), task.capacity());
        if need > room {
            let message = need + size_of::<WorkerCmd>();
            bail!(
                "the command has {}, and {room} fit into a message (DOCA_ERROR_TOO_BIG): send less, or \
                 give --max-msg-size {message} to `cargo urom call`, and to a `uromd` that it calls",
                Count(need, "byte"),
            );
        }
        task.submit(&self.bytes).map_err(|rejected| {
            // The worker's own words name no call of a library.
            worker
                .failure()
                .map_or_else(|| urom_host::Error::from(rejected).into(), anyhow::Error::msg)
        })
    }

    /// The version that the plugin must have.
    pub(super) fn protocol(&self) -> Option<&'static Protocol> {
        self.described.map(|described| described.protocol)
    }

    /// Looks into an answer.
    pub(super) fn read(&self, answer: &Answer) -> Reading {
        let Some(bytes) = answer.bytes.as_deref() else {
            let nothing =
                answer.status.check().is_ok().then(|| "it brought no notification".to_owned());
            return Reading { notification: None, problems: nothing.into_iter().collect() };
        };
        let plain = || Some(Notification::Bytes(Shown::Bytes(bytes.to_vec())));
        let Some(Described { protocol, command }) = self.described else {
            return Reading { notification: plain(), problems: Vec::new() };
        };
        let notifications = &protocol.notifications;
        let expected = command.and_then(|command| reply(notifications, command));
        let decoded = match message::decode(notifications, expected, bytes) {
            Ok(decoded) => decoded,
            Err(problem) => return Reading { notification: plain(), problems: vec![problem] },
        };
        let mut problems = decoded.problems.clone();
        if let Some(expected) = expected.filter(|expected| expected.name != decoded.variant.name) {
            problems.push(format!(
                "it is {}, and the command calls for {}",
                decoded.variant.name, expected.name
            ));
        }
        if let Some(command) = command {
            let sent = (&protocol.commands, command, &self.bytes[..]);
            let fields = message::not_echoed(sent, (notifications, decoded.variant, bytes));
            problems.extend(
                fields.iter().map(|field| format!("its `{field}` does not repeat the command's")),
            );
        }
        Reading { notification: Some(Notification::Decoded(decoded)), problems }
    }
}

fn reply(notifications: &Messages, command: &Variant) -> Option<&'static Variant> {
    notifications.variants.iter().find(|variant| Some(variant.name) == command.reply)
}
