//! Requests and the evaluation of their answers.

use std::error::Error as _;

use urom_abi::Quantity;
use urom_abi::describe::{Protocol, Variant};
use urom_abi::plugin::WorkerCmd;
use urom_abi::wire::EncodeError;
use urom_host::{Plugin, RawCompletion, RawReply, Worker};
use urom_service::MAX_MAX_MESSAGE;

use urom_message::{self as message, Assignment, Decoded, Encoded, Memories};

#[derive(Debug)]
pub(super) struct CommandRequest {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) remarks: Vec<String>,
    protocol: Option<&'static Protocol>,
    /// The command, unless the bytes match none.
    command: Option<&'static Variant>,
}

#[derive(Debug)]
pub(super) struct CheckedAnswer {
    pub(super) decoded: Option<Decoded>,
    /// Differences from the expected answer, regardless of its status.
    pub(super) problems: Vec<String>,
}

impl CommandRequest {
    pub(super) fn described(
        protocol: &'static Protocol,
        command: &str,
        fields: &[Assignment],
        memories: &Memories,
    ) -> Result<CommandRequest, String> {
        let command = message::command(&protocol.commands, command)?;
        let Encoded { bytes, remarks } =
            message::encode(&protocol.commands, command, fields, memories)?;
        let name = command.name.to_owned();
        Ok(CommandRequest {
            name,
            bytes,
            remarks,
            protocol: Some(protocol),
            command: Some(command),
        })
    }

    pub(super) fn raw(bytes: Vec<u8>, protocol: Option<&'static Protocol>) -> CommandRequest {
        let command = protocol.and_then(|protocol| protocol.commands.find(&bytes));
        let name = format!("a command of {}", Quantity(bytes.len(), "byte"));
        CommandRequest { name, bytes, remarks: Vec::new(), protocol, command }
    }

    pub(super) fn submit(&self, worker: &Worker, plugin: Plugin) -> anyhow::Result<RawCompletion> {
        worker.task(plugin, &self.bytes).submit().map_err(|error| {
            let cause = error.source().and_then(|cause| cause.downcast_ref());
            let Some(EncodeError::TooBig { need, capacity, .. }) = cause else {
                // The worker's reason is clearer than the library's error.
                return worker.failure().map_or_else(|| error.into(), anyhow::Error::msg);
            };
            let message = need + size_of::<WorkerCmd>();
            let remedy = match message {
                ..=MAX_MAX_MESSAGE => format!(
                    ", or give --max-msg-size {message} to `cargo urom call`, and to a `uromd` \
                     that it calls"
                ),
                _ => format!(": a message has at most {MAX_MAX_MESSAGE} bytes"),
            };
            anyhow::anyhow!(
                "the command has {}, and {capacity} fit into a message (DOCA_ERROR_TOO_BIG): send \
                 less{remedy}",
                Quantity(*need, "byte"),
            )
        })
    }

    pub(super) fn read(&self, answer: &RawReply) -> CheckedAnswer {
        let mut reading = CheckedAnswer { decoded: None, problems: Vec::new() };
        let (Some(bytes), Some(protocol)) = (answer.bytes.as_deref(), self.protocol) else {
            if answer.bytes.is_none() && answer.status.check().is_ok() {
                reading.problems.push("it brought no notification".to_owned());
            }
            return reading;
        };
        let notifications = &protocol.notifications;
        let reply = self.command.and_then(|command| command.reply);
        let expected = notifications.variants.iter().find(|variant| Some(variant.name) == reply);
        let problems = &mut reading.problems;
        match message::decode(notifications, expected, bytes) {
            Err(problem) => problems.push(problem),
            Ok(mut decoded) => {
                problems.append(&mut decoded.problems);
                let found = decoded.variant;
                if let Some(Variant { name, .. }) =
                    expected.filter(|other| other.name != found.name)
                {
                    problems
                        .push(format!("it is {}, and the command calls for {name}", found.name));
                }
                if let Some(command) = self.command {
                    let sent = (&protocol.commands, command, &self.bytes[..]);
                    let fields = message::not_echoed(sent, (notifications, found, bytes));
                    let differs = |field| format!("its `{field}` does not repeat the command's");
                    problems.extend(fields.into_iter().map(differs));
                }
                reading.decoded = Some(decoded);
            }
        }
        reading
    }
}
