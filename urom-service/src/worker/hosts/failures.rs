//! Log lines of failed commands. They number the command as its host can, so that the lines of both
//! can be joined: by the worker, the host, the task slot, and the count of commands in the slot.

use tracing::Level;
use urom_abi::{DocaError, DocaStatus};

use super::{FrameDraft, HostEntry, Hosts, TaskAnswer, TaskToken};

/// A command for the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedCommand<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) token: TaskToken,
    /// The first four bytes: C programs write a tag as 4 or 8.
    tag: Option<u32>,
}

impl<'a> FailedCommand<'a> {
    pub(crate) fn new(plugin: &'a str, token: TaskToken, payload: &[u8]) -> FailedCommand<'a> {
        let tag = payload.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        FailedCommand { plugin, token, tag }
    }

    /// A command whose bytes its plugin has freed. The slot has the tag for the counters.
    pub(crate) fn in_slot(
        plugin: &'a str,
        token: TaskToken,
        host: &HostEntry,
    ) -> FailedCommand<'a> {
        FailedCommand { plugin, token, tag: host.beginning(token.slot).0.tag() }
    }
}

impl Hosts {
    /// Answers a command that no plugin answered.
    #[cold]
    pub(crate) fn refuse(
        &self,
        host: &HostEntry,
        draft: &mut FrameDraft,
        failed: FailedCommand<'_>,
        code: DocaError,
        why: &str,
    ) {
        let FailedCommand { plugin, token, tag } = failed;
        limited!(
            warn,
            { host = %host.name, plugin, command = tag, slot = token.slot, number = token.generation },
            "refused a command of {}: {why} ({})",
            host.name,
            code.name()
        );
        let (slot, status) = (token.slot, code.into());
        let why = format!("the worker refused it: {why}");
        self.answer(host, draft, &TaskAnswer { slot, status, payload: None, why: &why });
    }

    /// Logs a command that its plugin answered with an error, which the plugin may have logged too.
    #[cold]
    pub(crate) fn log_failure(
        &self,
        host: &HostEntry,
        failed: FailedCommand<'_>,
        status: DocaStatus,
        why: &str,
    ) {
        // The budget is for lines that are written.
        if !tracing::event_enabled!(Level::DEBUG) {
            return;
        }
        let FailedCommand { plugin, token, tag } = failed;
        limited!(
            debug,
            { host = %host.name, plugin, command = tag, slot = token.slot, number = token.generation },
            "a command of {} failed: {why} ({status})",
            host.name
        );
    }
}
