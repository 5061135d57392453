//! Output of answers and errors.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use urom_message::plain;

use anyhow::Result;
use serde_json::{Value, json};
use urom_abi::Quantity;
use urom_host::{DocaError, DocaStatus, RawReply};
use urom_service::MAX_MAX_MESSAGE;

use super::CallSession;
use super::request::{CheckedAnswer, CommandRequest};
use super::worker_group::CommandOutcome;
use crate::output;
use urom_message::Datum;

/// Prints a notification as text, in the notation of arguments. The notification of a failed
/// command is not printed, because it has only a status.
pub(super) fn answer(answer: &RawReply, reading: &CheckedAnswer, took: Duration) -> Result<()> {
    if answer.status != DocaStatus::SUCCESS {
        return Ok(());
    }
    if let Some(decoded) = &reading.decoded {
        let mut text = plain(decoded.variant.name) + "\n";
        for (name, value) in &decoded.fields {
            _ = writeln!(text, "  {} = {}", plain(name), plain(&value.to_string()));
        }
        output::result(&text)?;
        decoded.remarks.iter().for_each(|remark| output::note(remark));
    } else if let Some(bytes) = &answer.bytes {
        output::result(&format!("{}\n", plain(&Datum::Bytes(bytes.clone()).to_string())))?;
    }
    output::progress("Answered", &format!("in {took:.1?}"));
    Ok(())
}

impl CallSession<'_> {
    pub(super) fn json(
        self,
        request: &CommandRequest,
        answer: &RawReply,
        reading: &CheckedAnswer,
        took: Duration,
    ) -> Value {
        let mut remarks = request.remarks.clone();
        let notification = reading.decoded.as_ref().map(|decoded| {
            remarks.extend_from_slice(&decoded.remarks);
            let fields = decoded.fields.iter().map(|(name, value)| (*name, value.json()));
            json!({ "name": decoded.variant.name, "fields": fields.collect::<BTreeMap<_, _>>() })
        });
        let (status, bytes) = (answer.status, answer.bytes.clone().map(Datum::Bytes));
        json!({
            "plugin": self.plugin,
            "command": request.name,
            "status": {
                "code": status.0, "name": status.name(), "description": status.description(),
            },
            "notification": notification,
            "bytes": bytes.map(|bytes| bytes.json()),
            "nanoseconds": u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            "problems": reading.problems,
            "remarks": remarks,
        })
    }

    /// Returns the problems of an answer. `failure` is the reason if the worker failed.
    pub(super) fn problems(
        self,
        request: &CommandRequest,
        answer: &RawReply,
        reading: CheckedAnswer,
        failure: Option<String>,
    ) -> Vec<String> {
        let (name, plugin) = (&request.name, self.plugin);
        let Err(code) = answer.status.check() else {
            let problem = |problem| {
                format!(
                    "the answer to {name} of `{plugin}` is not what it should be: {problem}; does \
                     the description fit the plugin that runs?"
                )
            };
            return reading.problems.into_iter().map(problem).collect();
        };
        let is_remote = self.args.service.is_some();
        let reason = match answer.bytes {
            None if code == DocaError::TOO_BIG
                && self.args.max_msg_size == Some(MAX_MAX_MESSAGE) =>
            {
                "the answer is longer than any message may be: ask for less"
            }
            None if code == DocaError::TOO_BIG => {
                "the answer is longer than a message may be: ask for less, or raise \
                 --max-msg-size, and that of a `uromd` that is called"
            }
            _ if !answer.why.is_empty() => &answer.why,
            None => {
                "the service ended it without a notification; its log, which stands above for a \
                 service in this process, says why"
            }
            Some(_) if is_remote => {
                "the plugin answered with this status; its reason is in the worker's log, which \
                 the service writes"
            }
            Some(_) => {
                "the plugin answered with this status; its reason, if it logged one, stands above"
            }
        };
        let reason = failure.as_deref().unwrap_or(reason);
        let (status, description) = (code.name(), code.description());
        vec![format!("{name} of `{plugin}` ended with {status} ({description}): {reason}")]
    }

    pub(super) fn unanswered(self, request: &CommandRequest, outcome: &CommandOutcome) -> String {
        let which = format!("{} of `{}`", request.name, self.plugin);
        match outcome {
            CommandOutcome::Refused(error) => format!("{which}: {error:#}"),
            CommandOutcome::Unsent(late) => format!(
                "{which} was not sent: its worker has not answered {}, and takes no more before \
                 that",
                Quantity(*late, "earlier command")
            ),
            CommandOutcome::Late | CommandOutcome::Answered(..) => format!(
                "{which} was not answered within {} s: wait longer with --timeout, or see the \
                 worker's log",
                self.args.timeout
            ),
        }
    }
}
