//! Passes plugins' answers to hosts, and answers commands that a plugin did not answer.

use tracing::debug;
use urom_abi::descriptor::NotificationDesc;
use urom_abi::plugin::WorkerNotify;
use urom_abi::{DocaError, DocaStatus};
use urom_wire::frame::{MAX_STATUS, NOTIFICATION_HEADER};

use super::hosts::{FailedCommand, FrameDraft, HostEntry, Hosts, TaskAnswer, TaskToken};
use super::instance::PluginInstance;

#[inline(always)]
pub(super) fn notify(
    hosts: &Hosts,
    draft: &mut FrameDraft,
    plugin: &mut PluginInstance,
    index: usize,
    notification: NotificationDesc,
) {
    let &WorkerNotify { urom_context, len, status, .. } = notification.header();
    let dest_id = notification.dest_id();
    let token = TaskToken::unpack(urom_context);
    let Some(host) = hosts.vacate(token, dest_id, index) else {
        return unasked(hosts, plugin, index, urom_context, dest_id);
    };
    plugin.answered();
    let slot = token.slot;
    if len > host.longest() as u64 {
        let (name, limit) = (&plugin.name, host.limit);
        hosts.counts.ended(&host, slot, DocaError::TOO_BIG.into());
        let why = format!(
            "plugin `{name}` answered it with {len} bytes and a header of {NOTIFICATION_HEADER}, over the message limit \
             of {limit}, which is the smaller one of service and host"
        );
        let failed = FailedCommand::in_slot(name, token, &host);
        return hosts.refuse(&host, draft, failed, DocaError::TOO_BIG, &why);
    }
    let why = match status {
        DocaStatus::SUCCESS => String::new(),
        _ => {
            let failed = FailedCommand::in_slot(&plugin.name, token, &host);
            failure_of(hosts, &host, failed, status)
        }
    };
    match plugin.pack(notification, draft.notification(host.limit)) {
        Ok(len) => {
            hosts.counts.ended(&host, slot, status);
            hosts.answer(&host, draft, &TaskAnswer { slot, status, payload: Some(len), why: &why })
        }
        Err(error) => {
            hosts.counts.ended(&host, slot, error.code.into());
            let why = format!("plugin `{}` could not pack its answer: {}", plugin.name, error.text);
            let failed = FailedCommand::in_slot(&plugin.name, token, &host);
            hosts.refuse(&host, draft, failed, error.code, &why);
        }
    }
}

#[cold]
pub(super) fn failure_of(
    hosts: &Hosts,
    host: &HostEntry,
    failed: FailedCommand<'_>,
    status: DocaStatus,
) -> String {
    if status.0 > MAX_STATUS {
        limited!(
            warn,
            "plugin `{}` answered a command with the status {:#x}, which is none: its host gets {} instead; \
             answer with a doca_error_t",
            failed.plugin,
            status.0,
            DocaError::UNEXPECTED
        );
    }
    let why = host.reason(failed.token);
    hosts.log_failure(host, failed, status, &why);
    why
}

#[cold]
pub(super) fn refuse_undelivered(
    hosts: &Hosts,
    draft: &mut FrameDraft,
    plugin: &mut PluginInstance,
    index: usize,
    code: DocaError,
) {
    while let Some(command) = plugin.take_back() {
        let token = TaskToken::unpack(command.header().urom_context);
        hosts.departed.borrow_mut().end(token.pack(), command.dest_id(), index);
        if let Some(host) = hosts.vacate(token, command.dest_id(), index) {
            hosts.counts.ended(&host, token.slot, code.into());
            let failed = FailedCommand::new(&plugin.name, token, command.payload());
            hosts.refuse(&host, draft, failed, code, "its plugin did not take it");
        }
    }
}

#[cold]
fn unasked(hosts: &Hosts, plugin: &mut PluginInstance, index: usize, context: u64, dest_id: u64) {
    if hosts.departed.borrow_mut().end(context, dest_id, index) {
        plugin.answered();
        debug!("dropped a notification of plugin `{}`: its host has left", plugin.name);
    } else {
        limited!(
            warn,
            "plugin `{}` answered what is not in flight: no command waits for a notification with urom_context \
             {context:#x} and dest_id {dest_id}, so it is not sent, and the command it was for stays unanswered; copy \
             both from the command, and answer it once",
            plugin.name
        );
    }
}
