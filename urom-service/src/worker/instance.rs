//! A plugin in a worker: opened, called, polled, closed. The watch records each call first.

use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use tracing::{debug, info, warn};
use urom_abi::describe::section::{self, Description};
use urom_abi::descriptor::{CommandDesc, NotificationDesc};
use urom_abi::driver::{self, CallEnd, OpenPlugin, Packed};
use urom_abi::extension::{Called, CancelReason, PluginExtension, Words};
use urom_abi::plugin::WorkerCtx;
use urom_abi::trace::TraceContext;
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::{Failure, Method, PluginAddress, PluginBuild};
use urom_wire::frame::NOTIFICATION_HEADER;

use super::config::PluginItem;
use super::lookups::{PluginCtx, Supply};
use super::watch::{CallWatch, PluginCalls};
use crate::identity::FileIdentity;
use crate::plugin_elf;
use crate::plugin_file::PluginFile;
use urom_log::LineBudget;
use urom_recording::RecordedPlugin;

/// Longest plugin address in bytes, so that all plugins' addresses fit one control message.
const LONGEST_ADDRESS: usize = 15 << 10;

/// A plugin's response to `call`.
#[derive(Debug)]
pub(crate) enum CallOutcome {
    /// It wrote an answer of so many bytes.
    Answered(DocaStatus, usize),
    /// It will answer by `progress`.
    Pending,
    Declined,
}

/// An open plugin; dropping it closes it.
#[derive(Debug)]
pub(crate) struct PluginInstance {
    pub(crate) id: u64,
    pub(crate) name: String,
    build: PluginBuild,
    outstanding: usize,
    calls: PluginCalls,
    plugin: ManuallyDrop<OpenPlugin>,
    /// Freed when the plugin is closed; the plugin may keep this address.
    ctx: NonNull<WorkerCtx>,
    /// The last packed notification; freed after its message was sent.
    spent: Option<NotificationDesc>,
    address: Vec<u8>,
    failed_commands: LineBudget,
    failed_progress: LineBudget,
}

impl PluginInstance {
    pub(crate) fn open(
        item: &PluginItem,
        supply: &Supply,
        watch: &Arc<CallWatch>,
    ) -> Result<PluginInstance, Failure> {
        let before = FileIdentity::of(&item.path).ok();
        let (name, fingerprint) = item.stated();
        // The last line if the plugin crashes in its constructors or in `open`.
        info!("loading {}", item.path.display());
        let calls = watch.plugin(&name);
        calls.begin(Method::Load);
        // SAFETY: the service's owner vouches for its plugin path, whose files the daemon examined.
        let file = unsafe { PluginFile::open(&item.path) }.map_err(|error| {
            let text = format!("plugin `{name}`: {} {error}", item.path.display());
            Failure::new(DocaError::NOT_FOUND, text)
        })?;
        if FileIdentity::of(&item.path).ok() != before {
            let text = format!(
                "plugin `{name}`: {} was replaced while it was loaded; start the worker again",
                item.path.display()
            );
            return Err(Failure::new(DocaError::AGAIN, text));
        }
        PluginInstance::begin(item.id, name, fingerprint, file, supply, calls)
    }

    pub(crate) fn begin(
        id: u64,
        name: String,
        fingerprint: Option<u64>,
        file: PluginFile,
        supply: &Supply,
        calls: PluginCalls,
    ) -> Result<PluginInstance, Failure> {
        let extension = if supply.plain_doca { PluginExtension::NONE } else { file.extension };
        let ctx = PluginCtx::leak(file.iface, name.clone(), supply);
        calls.begin(Method::Attach);
        // SAFETY: context and services are from `leak`, and `drop` frees them after `close`.
        unsafe { driver::attach(&extension, ctx, PluginCtx::services(ctx)) };
        calls.begin(Method::Open);
        // SAFETY: methods and extension in `PluginFile` are from one file. `drop` frees the context
        // after `close`, and a `PluginInstance` stays on its thread.
        let plugin = match unsafe { OpenPlugin::open(file.methods, extension, ctx) } {
            Ok(plugin) => ManuallyDrop::new(plugin),
            Err(code) => {
                // SAFETY: from `leak` above; a plugin that failed to open is not used again.
                unsafe { PluginCtx::free(ctx) };
                let text = format!(
                    "plugin `{name}` did not open: its line in the service's log, if it wrote one, says why"
                );
                return Err(Failure::new(code, text));
            }
        };
        let mut instance = PluginInstance {
            id,
            name,
            build: PluginBuild { version: file.version, fingerprint },
            outstanding: 0,
            calls,
            plugin,
            ctx,
            spent: None,
            address: Vec::new(),
            failed_commands: LineBudget::default(),
            failed_progress: LineBudget::default(),
        };
        instance.calls.begin(Method::Addr);
        instance.address = instance.ask_address()?;
        instance.calls.over();
        debug!(
            "plugin `{}` is open; its address has {} bytes",
            instance.name,
            instance.address.len()
        );
        Ok(instance)
    }

    fn ask_address(&self) -> Result<Vec<u8>, Failure> {
        let failed =
            |code| Failure::new(code, format!("plugin `{}` gave no address: {code}", self.name));
        let (status, len) = self.plugin.address(&mut []);
        if status == DocaStatus::SUCCESS && len == 0 {
            return Ok(Vec::new());
        }
        if status != DocaStatus::INVALID_VALUE {
            status.check().map_err(failed)?;
        }
        if len > LONGEST_ADDRESS {
            let text = format!(
                "plugin `{}` returned an address of {len} bytes, above the limit {LONGEST_ADDRESS}",
                self.name
            );
            return Err(Failure::new(DocaError::TOO_BIG, text));
        }
        let mut bytes = vec![0; len];
        let (status, len) = self.plugin.address(&mut bytes);
        status.check().map_err(failed)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Returns the plugin for a recording; `file` is the plugin's.
    pub(crate) fn recorded(&self, file: &Path) -> RecordedPlugin {
        // A later build may have replaced the file.
        let is_loaded = |found: &Description| {
            self.build.fingerprint.is_none_or(|loaded| loaded == found.protocol.fingerprint())
        };
        let described = plugin_elf::look(file).ok().and_then(|elf| elf.described());
        let described = described.filter(is_loaded);
        let bytes = |found: Description| section::bytes(found.protocol, &found.build, false);
        let (id, name, version) = (self.id, self.name.clone(), self.build.version);
        RecordedPlugin { id, name, version, description: described.map(bytes) }
    }

    /// Commands of a recorded plugin take the list, where they are recorded.
    pub(crate) fn set_recorded(&mut self, is_recorded: bool) {
        self.plugin.use_call(!is_recorded);
    }

    pub(crate) fn address(&self) -> PluginAddress {
        PluginAddress { name: self.name.clone(), build: self.build, address: self.address.clone() }
    }

    #[inline]
    pub(crate) fn push(&mut self, command: CommandDesc) {
        self.plugin.push(command);
        self.outstanding += 1;
    }

    #[inline]
    pub(crate) fn has_commands(&self) -> bool {
        self.plugin.has_commands()
    }

    #[inline]
    pub(crate) fn deliver(&mut self) -> Result<(), DocaError> {
        self.calls.begin(Method::WorkerCmd);
        let PluginInstance { plugin, failed_commands, name, .. } = self;
        plugin.deliver(|code| {
            if let Some(more) = failed_commands.line() {
                warn!("plugin `{name}` failed to begin a command: {code}{more}");
            }
        })
    }

    pub(crate) fn take_back(&mut self) -> Option<CommandDesc> {
        let command = self.plugin.take_back()?;
        self.outstanding = self.outstanding.saturating_sub(1);
        Some(command)
    }

    /// Passes a command and `buffer` to `call`. Declined without `call`, or with queued commands.
    #[inline]
    pub(crate) fn call(
        &mut self,
        (dest_id, token): (u64, u64),
        command: &[u8],
        buffer: &mut [u8],
    ) -> CallOutcome {
        self.calls.begin(Method::Call);
        let end = self.plugin.call((dest_id, self.id, token), command, buffer);
        self.calls.over();
        self.outcome(end, buffer)
    }

    /// [`call`](Self::call) for a command with a trace context.
    pub(crate) fn call_traced(
        &mut self,
        (dest_id, token): (u64, u64),
        command: &[u8],
        buffer: &mut [u8],
        context: TraceContext,
    ) -> CallOutcome {
        self.calls.begin(Method::Call);
        let end = self.plugin.call_traced((dest_id, self.id, token), command, buffer, context);
        self.calls.over();
        self.outcome(end, buffer)
    }

    #[inline(always)]
    fn outcome(&mut self, end: Option<CallEnd>, buffer: &[u8]) -> CallOutcome {
        let Some(end) = end else { return CallOutcome::Declined };
        match end.called {
            Called::ANSWERED if end.len <= buffer.len() => {
                CallOutcome::Answered(end.status, end.len)
            }
            Called::DECLINED => CallOutcome::Declined,
            Called::PENDING => {
                self.outstanding += 1;
                CallOutcome::Pending
            }
            Called(number) => self.miscalled(number, end.len, buffer.len()),
        }
    }

    #[cold]
    fn miscalled(&self, number: u32, len: usize, capacity: usize) -> CallOutcome {
        limited!(
            warn,
            "plugin `{}`: `call` gave {number} and an answer of {len} bytes, where {capacity} fit: \
             its host is told {}",
            self.name,
            DocaError::UNEXPECTED
        );
        CallOutcome::Answered(DocaStatus::UNEXPECTED, 0)
    }

    pub(crate) fn cancel(&self, dest_id: u64, token: u64, reason: CancelReason) {
        self.calls.begin(Method::Cancel);
        self.plugin.cancel(dest_id, token, reason);
        self.calls.over();
    }

    pub(crate) fn host_left(&self, dest_id: u64) {
        self.calls.begin(Method::HostLeft);
        self.plugin.host_left(dest_id);
        self.calls.over();
    }

    pub(crate) fn arm(&self, wake: &mut Vec<RawFd>) -> bool {
        self.calls.begin(Method::Arm);
        let is_idle = self.plugin.arm(wake);
        self.calls.over();
        is_idle
    }

    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.outstanding > 0
    }

    #[inline]
    pub(crate) fn answered(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    /// Marks its calls as returned, so that it is not blamed for other delays.
    #[inline]
    pub(crate) fn rest(&self) {
        self.calls.over();
    }

    #[inline]
    pub(crate) fn progress(&mut self) -> bool {
        self.calls.begin(Method::Progress);
        if let Err(code) = self.plugin.progress() {
            self.progress_failed(code);
        }
        let finished = self.plugin.has_notifications();
        if !finished {
            self.spent = None;
        }
        finished
    }

    #[cold]
    fn progress_failed(&mut self, code: DocaError) {
        if let Some(more) = self.failed_progress.line() {
            warn!("plugin `{}` failed to progress: {code}{more}", self.name);
        }
    }

    #[inline]
    pub(crate) fn finished(&mut self) -> Option<NotificationDesc> {
        self.plugin.notification()
    }

    /// Lets the plugin write a notification into `buffer`. Returns the length after the header.
    ///
    /// # Errors
    /// The plugin's code, or an impossible length: less than the header, or more than header and
    /// notification. Bytes beyond may belong to another host's earlier message.
    #[inline]
    pub(crate) fn pack(
        &mut self,
        notification: NotificationDesc,
        buffer: &mut [u8],
    ) -> Result<usize, Failure> {
        self.calls.begin(Method::NotifPack);
        let Packed { status, len: packed, notification } = self.plugin.pack(notification, buffer);
        // The plugin may have just set the length.
        let len = notification.header().len;
        self.spent = Some(notification);
        let payload = packed.wrapping_sub(NOTIFICATION_HEADER);
        // A length below the header's has wrapped around, and exceeds any buffer.
        if status == DocaStatus::SUCCESS
            && packed <= buffer.len()
            && payload as u64 <= len
            && payload <= packed
        {
            return Ok(payload);
        }
        Err(mispacked(status, packed, len, buffer.len()))
    }
}

#[cold]
fn mispacked(status: DocaStatus, packed: usize, len: u64, capacity: usize) -> Failure {
    if let Err(code) = status.check() {
        return Failure::new(code, format!("notif_pack failed: {code}"));
    }
    let text = format!(
        "notif_pack gave a length of {packed} bytes for a notification of {len}: it must be {NOTIFICATION_HEADER} for \
         the header and at most {len} more, {capacity} in all"
    );
    Failure::new(DocaError::UNEXPECTED, text)
}

impl Drop for PluginInstance {
    fn drop(&mut self) {
        self.calls.begin(Method::Close);
        // SAFETY: only this code drops the plugin, and the instance ends here.
        unsafe { ManuallyDrop::drop(&mut self.plugin) };
        self.calls.over();
        // SAFETY: from `leak` in `begin`; the plugin is closed and does not use it.
        unsafe { PluginCtx::free(self.ctx) };
    }
}
