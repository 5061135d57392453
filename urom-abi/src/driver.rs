//! Drives an open plugin through its C interface: commands, progress, notifications. The service's
//! worker, the test kit and the benchmarks use it.

use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};

use crate::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use crate::error::{DocaError, DocaStatus};
use crate::extension::{
    self, CallFn, Called, CancelReason, CommandCall, PluginExtension, TracedCall, WorkerServices,
};
use crate::list::ListLink;
use crate::plugin::{
    AddrFn, CloseFn, NotifPackFn, OpenFn, PluginIface, ProgressFn, WorkerCmdDesc, WorkerCmdFn,
    WorkerCtx, WorkerNotifDesc,
};
use crate::trace::TraceContext;

/// The C name of the first missing field of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the interface lacks `{0}`")]
pub struct Missing(pub &'static str);

pub const VERSION_WORD: &str = "__doca_api_version";

macro_rules! methods {
    ($($name:ident: $type:ty),* $(,)?) => {
        #[derive(Debug, Clone, Copy)]
        pub struct Methods {
            $($name: $type,)*
        }

        impl Methods {
            pub const NAMES: [&str; 6] = [$(stringify!($name)),*];

            /// Returns the missing methods of an interface, as indices of [`NAMES`](Self::NAMES).
            pub fn missing(iface: &PluginIface) -> impl Iterator<Item = usize> {
                let none = [$(iface.$name.is_none()),*];
                none.into_iter().enumerate().filter(|(_, none)| *none).map(|(at, _)| at)
            }

            /// Returns the methods of `iface`, which must also have a version word.
            ///
            /// # Errors
            /// The first missing field.
            pub fn of(iface: &PluginIface) -> Result<Methods, Missing> {
                if iface.api_version == 0 {
                    return Err(Missing(VERSION_WORD));
                }
                Ok(Methods { $($name: iface.$name.ok_or(Missing(stringify!($name)))?,)* })
            }
        }
    };
}

methods! {
    open: OpenFn,
    close: CloseFn,
    addr: AddrFn,
    worker_cmd: WorkerCmdFn,
    progress: ProgressFn,
    notif_pack: NotifPackFn,
}

/// Passes the worker's services to a plugin before it is opened.
///
/// # Safety
/// `attach` belongs to the plugin that is opened with `ctx` on this thread. `services` stay valid
/// until it is closed.
pub unsafe fn attach(
    extension: &PluginExtension,
    ctx: NonNull<WorkerCtx>,
    services: *const WorkerServices,
) {
    if let Some(attach) = extension.attach {
        // SAFETY: the caller keeps context and services until after `close`.
        unsafe { attach(ctx.as_ptr(), services) };
    }
}

/// An open plugin. Dropping it closes it.
///
/// Method calls are sound by the contract of [`open`](Self::open): this value exists only after a
/// successful `open`, stays on its thread, and calls `close` when it is dropped.
#[derive(Debug)]
pub struct OpenPlugin {
    ctx: NonNull<WorkerCtx>,
    methods: Methods,
    extension: PluginExtension,
    /// `call` of the extension, while [`use_call`](Self::use_call) has turned it off.
    unused_call: Option<CallFn>,
    commands: DescriptorList<WorkerCmdDesc>,
    notifications: DescriptorList<WorkerNotifDesc>,
}

/// Result of a [call](OpenPlugin::call).
#[derive(Debug, Clone, Copy)]
pub struct CallEnd {
    pub called: Called,
    pub status: DocaStatus,
    /// Unchecked.
    pub len: usize,
}

/// Result of [packing](OpenPlugin::pack) a notification.
#[derive(Debug)]
pub struct Packed {
    pub status: DocaStatus,
    /// Includes the header; unchecked.
    pub len: usize,
    pub notification: NotificationDesc,
}

impl OpenPlugin {
    /// Opens a plugin.
    ///
    /// # Errors
    /// The plugin's error code. A plugin that failed to open is not closed.
    ///
    /// # Safety
    /// Methods and extension belong to one plugin, which follows the contract of
    /// `doca_urom_plugin.h` on this thread. `ctx` is its context. It and the [attached](attach)
    /// services stay valid and in place until the plugin is dropped.
    pub unsafe fn open(
        methods: Methods,
        extension: PluginExtension,
        ctx: NonNull<WorkerCtx>,
    ) -> Result<OpenPlugin, DocaError> {
        // SAFETY: the caller keeps the context until after `close`.
        unsafe { (methods.open)(ctx.as_ptr()) }.check()?;
        let (commands, notifications) = (DescriptorList::new(), DescriptorList::new());
        Ok(OpenPlugin { ctx, methods, extension, unused_call: None, commands, notifications })
    }

    /// Lets all commands take the list, or those without queued ones `call` again, if the plugin has
    /// it.
    pub fn use_call(&mut self, is_used: bool) {
        if is_used != self.extension.call.is_some() {
            std::mem::swap(&mut self.extension.call, &mut self.unused_call);
        }
    }

    pub fn extension(&self) -> &PluginExtension {
        &self.extension
    }

    /// Returns the status and the length of the plugin's address. If `out` is too small, the status
    /// is `INVALID_VALUE` and the length is the required size.
    pub fn address(&self, out: &mut [u8]) -> (DocaStatus, usize) {
        let mut len = out.len();
        let to = if out.is_empty() { null_mut() } else { out.as_mut_ptr().cast() };
        // SAFETY: the plugin is open, and `out` has `len` bytes.
        let status = unsafe { (self.methods.addr)(self.ctx.as_ptr(), to, &mut len) };
        (status, len)
    }

    #[inline]
    pub fn push(&mut self, command: CommandDesc) {
        self.commands.push_back(command);
    }

    pub fn take_back(&mut self) -> Option<CommandDesc> {
        self.commands.pop_front()
    }

    #[inline]
    pub fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Passes the list to the plugin. A plugin stops at the first command that fails. `failed`
    /// receives the code, and the plugin is called again while it removes commands.
    ///
    /// # Errors
    /// The code of a call that removed no commands. The commands stay in the list.
    #[inline]
    pub fn deliver(&mut self, mut failed: impl FnMut(DocaError)) -> Result<(), DocaError> {
        loop {
            let first = self.first_command();
            // SAFETY: the plugin is open, and the list holds descriptors of the C heap.
            let status =
                unsafe { (self.methods.worker_cmd)(self.ctx.as_ptr(), self.commands.as_raw()) };
            let Err(code) = status.check() else { return Ok(()) };
            failed(code);
            if self.commands.is_empty() {
                return Ok(());
            }
            if self.first_command() == first {
                return Err(code);
            }
        }
    }

    #[inline]
    fn first_command(&mut self) -> *mut ListLink {
        // SAFETY: `DescriptorList` initialises its head.
        unsafe { (*self.commands.as_raw()).next }
    }

    /// Runs a command of connection `dest_id` through `call` of the plugin's extension, which may
    /// write an answer to `buffer`. `None` without this function, or while the list has commands.
    #[inline]
    pub fn call(
        &mut self,
        (dest_id, plugin_id, urom_context): (u64, u64, u64),
        command: &[u8],
        buffer: &mut [u8],
    ) -> Option<CallEnd> {
        let function = self.extension.call.filter(|_| self.commands.is_empty())?;
        let mut call = command_call((dest_id, plugin_id, urom_context), command, buffer);
        // SAFETY: the plugin is open; the borrows of command and buffer outlive the call.
        let called = unsafe { function(self.ctx.as_ptr(), &mut call) };
        Some(CallEnd { called, status: call.status, len: call.answer_len })
    }

    /// [`call`](Self::call) for a command with a trace context.
    pub fn call_traced(
        &mut self,
        ids: (u64, u64, u64),
        command: &[u8],
        buffer: &mut [u8],
        context: TraceContext,
    ) -> Option<CallEnd> {
        let function = self.extension.call.filter(|_| self.commands.is_empty())?;
        let call =
            CommandCall { size: size_of::<TracedCall>(), ..command_call(ids, command, buffer) };
        let mut traced = TracedCall { call, context: context.to_bytes(), reserved: [0; 7] };
        // A pointer to the whole structure: the plugin also reads the context.
        // SAFETY: see `call`.
        let called = unsafe { function(self.ctx.as_ptr(), (&raw mut traced).cast()) };
        Some(CallEnd { called, status: traced.call.status, len: traced.call.answer_len })
    }

    /// Calls `progress`, which may add notifications; `EMPTY` counts as success.
    #[inline]
    pub fn progress(&mut self) -> Result<(), DocaError> {
        // SAFETY: the plugin is open, and the list contains notifications.
        match unsafe { (self.methods.progress)(self.ctx.as_ptr(), self.notifications.as_raw()) } {
            DocaStatus::EMPTY => Ok(()),
            status => status.check(),
        }
    }

    #[inline]
    pub fn has_notifications(&self) -> bool {
        !self.notifications.is_empty()
    }

    #[inline]
    pub fn notification(&mut self) -> Option<NotificationDesc> {
        self.notifications.pop_front()
    }

    /// Lets the plugin write a notification, with its 32-byte header, to `out`.
    #[inline]
    pub fn pack(&self, notification: NotificationDesc, out: &mut [u8]) -> Packed {
        let mut len = out.len();
        let block = notification.into_raw();
        // SAFETY: `into_raw` returns a whole descriptor.
        let header = unsafe { &raw mut (*block).worker_notif };
        // SAFETY: the notification came from this plugin's list, and `out` has `len` bytes.
        let status =
            unsafe { (self.methods.notif_pack)(header, &mut len, out.as_mut_ptr().cast()) };
        // SAFETY: `into_raw` returned it from a `NonNull`.
        let block = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: it came from `into_raw` above, and `notif_pack` does not free the block.
        let notification = unsafe { NotificationDesc::from_raw(block) };
        Packed { status, len, notification }
    }

    pub fn cancel(&self, dest_id: u64, urom_context: u64, reason: CancelReason) {
        if let Some(cancel) = self.extension.cancel {
            // SAFETY: the plugin is open.
            unsafe { cancel(self.ctx.as_ptr(), dest_id, urom_context, reason) };
        }
    }

    pub fn host_left(&self, dest_id: u64) {
        if let Some(host_left) = self.extension.host_left {
            // SAFETY: the plugin is open.
            unsafe { host_left(self.ctx.as_ptr(), dest_id) };
        }
    }

    /// Adds the plugin's descriptors that wake the worker. Returns whether the plugin is idle.
    pub fn arm(&self, wake: &mut Vec<RawFd>) -> bool {
        let Some(arm) = self.extension.arm else { return true };
        let mut fds = [0; extension::DESCRIPTORS];
        // SAFETY: the plugin is open, and the array's length is correct.
        let count = unsafe { arm(self.ctx.as_ptr(), fds.as_mut_ptr(), fds.len()) };
        wake.extend(fds.iter().take(if count == extension::READY { 0 } else { count }));
        count != extension::READY
    }
}

#[inline(always)]
fn command_call(
    (dest_id, plugin_id, urom_context): (u64, u64, u64),
    command: &[u8],
    buffer: &mut [u8],
) -> CommandCall {
    CommandCall {
        size: size_of::<CommandCall>(),
        dest_id,
        plugin_id,
        urom_context,
        command: command.as_ptr(),
        command_len: command.len(),
        answer: buffer.as_mut_ptr(),
        answer_capacity: buffer.len(),
        answer_len: 0,
        status: DocaStatus::SUCCESS,
        reserved: 0,
    }
}

impl Drop for OpenPlugin {
    fn drop(&mut self) {
        // SAFETY: the plugin is open, and this value is its only user.
        unsafe { (self.methods.close)(self.ctx.as_ptr()) };
    }
}
