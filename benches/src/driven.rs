//! A plugin driven through its C functions, as a worker does: commands in, progress, notifications
//! out; or calls, as a worker of this kit does.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use urom_abi::DocaError;
use urom_abi::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use urom_abi::extension::{CallFn, Called, CommandCall};
use urom_abi::plugin::{
    CloseFn, DomainLookups, NotifPackFn, ProgressFn, WorkerCmdDesc, WorkerCmdFn, WorkerCtx,
    WorkerNotifDesc,
};
use urom_service::plugin_file::Loaded;

/// Room for the largest message.
pub(crate) const ROOM: usize = 4096;

/// The address of the only member of the domain: this process.
static ADDRESS: OnceLock<Box<[u8]>> = OnceLock::new();

/// Finds a member's address, which is always this process's own.
unsafe extern "C" fn find_address(_: *mut WorkerCtx, _: u64, found: *mut *mut c_void) -> DocaError {
    let Some(address) = ADDRESS.get() else { return DocaError::NOT_FOUND };
    // SAFETY: plugins pass a place for the address.
    unsafe { found.write(address.as_ptr().cast_mut().cast()) };
    DocaError::SUCCESS
}

/// An open plugin. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Plugin {
    ctx: Box<WorkerCtx>,
    close: CloseFn,
    worker_cmd: WorkerCmdFn,
    progress: ProgressFn,
    notif_pack: NotifPackFn,
    call: Option<CallFn>,
    commands: DescriptorList<WorkerCmdDesc>,
    notifications: DescriptorList<WorkerNotifDesc>,
}

impl Plugin {
    /// Loads and opens the plugin of a file.
    pub(crate) fn open(file: &Path) -> Result<Plugin> {
        let loaded =
            Loaded::load(file).and_then(|loaded| Ok((loaded.iface()?, loaded.extension())));
        let (iface, extension) =
            loaded.with_context(|| format!("cannot load {}", file.display()))?;
        let domain_iface = DomainLookups {
            addr_lookup: Some(find_address),
            seg_lookup: None,
            memh_lookup: None,
            mkey_lookup: None,
        };
        let mut ctx = Box::new(WorkerCtx { iface, domain_iface, plugin_ctx: null_mut() });
        let open = iface.open.context("the plugin has no open")?;
        // SAFETY: the context is filled in, and stays in its box until after `close`.
        unsafe { open(&mut *ctx) }.check().context("the plugin does not open")?;
        Ok(Plugin {
            ctx,
            close: iface.close.context("the plugin has no close")?,
            worker_cmd: iface.worker_cmd.context("the plugin has no worker_cmd")?,
            progress: iface.progress.context("the plugin has no progress")?,
            notif_pack: iface.notif_pack.context("the plugin has no notif_pack")?,
            call: extension.call,
            commands: DescriptorList::new(),
            notifications: DescriptorList::new(),
        })
    }

    /// Makes the plugin's own address that of every member of the domain.
    pub(crate) fn join_itself(&mut self) -> Result<()> {
        let addr = self.ctx.iface.addr.context("the plugin has no addr")?;
        let (mut bytes, mut length) = (vec![0u8; ROOM], ROOM);
        // SAFETY: there is as much room as `length` says.
        unsafe { addr(&mut *self.ctx, bytes.as_mut_ptr().cast(), &mut length) }.check()?;
        bytes.truncate(length);
        ensure!(ADDRESS.set(bytes.into()).is_ok(), "a plugin was asked before");
        Ok(())
    }

    /// Runs a command with the plugin's `call`, and gives the length of the answer that it wrote to
    /// `room`, if it wrote one. A plugin that has no such function is given the command.
    #[inline]
    pub(crate) fn call(
        &mut self,
        token: u64,
        message: &[u8],
        room: &mut [u8],
    ) -> Result<Option<usize>> {
        let Some(function) = self.call else {
            self.give(token, message)?;
            return Ok(None);
        };
        let mut call = CommandCall {
            size: size_of::<CommandCall>(),
            dest_id: 1,
            plugin_id: 1,
            urom_context: token,
            command: message.as_ptr(),
            command_len: message.len(),
            answer: room.as_mut_ptr(),
            answer_room: room.len(),
            answer_len: 0,
            status: DocaError::SUCCESS,
            reserved: 0,
        };
        // SAFETY: the plugin is open, and command and room are there for the call.
        match unsafe { function(&mut *self.ctx, &mut call) } {
            Called::ANSWERED => {
                call.status.check()?;
                Ok(Some(call.answer_len))
            }
            Called::PENDING => Ok(None),
            other => bail!("the plugin's `call` gave {other:?}"),
        }
    }

    /// Adds a command to those that the plugin gets next.
    #[inline]
    pub(crate) fn give(&mut self, token: u64, message: &[u8]) -> Result<()> {
        self.commands.push_back(CommandDesc::new(1, 1, token, message)?);
        Ok(())
    }

    /// Hands over the commands.
    #[inline]
    pub(crate) fn run(&mut self) -> Result<()> {
        // SAFETY: the plugin is open, and the list holds commands of the C heap.
        Ok(unsafe { (self.worker_cmd)(&mut *self.ctx, self.commands.as_raw()) }.check()?)
    }

    /// Lets the plugin work.
    #[inline]
    pub(crate) fn progress(&mut self) -> Result<()> {
        // SAFETY: the plugin is open, and the list is well formed.
        match unsafe { (self.progress)(&mut *self.ctx, self.notifications.as_raw()) } {
            DocaError::SUCCESS | DocaError::EMPTY => Ok(()),
            code => Ok(code.check()?),
        }
    }

    /// Removes the oldest notification.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<NotificationDesc> {
        self.notifications.pop_front()
    }

    /// Packs a notification and frees it. Returns its length.
    #[inline]
    pub(crate) fn pack(&self, notification: NotificationDesc, room: &mut [u8]) -> Result<usize> {
        let mut length = room.len();
        let block = notification.into_raw();
        // SAFETY: the block is a whole descriptor.
        let header = unsafe { &raw mut (*block).worker_notif };
        // SAFETY: the notification is the plugin's own, and there is as much room as `length` says.
        let code = unsafe { (self.notif_pack)(header, &mut length, room.as_mut_ptr().cast()) };
        if let Some(block) = NonNull::new(block) {
            // SAFETY: it came from `into_raw`.
            drop(unsafe { NotificationDesc::from_raw(block) });
        }
        code.check()?;
        Ok(length)
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: the plugin is open, and not called again.
        unsafe { (self.close)(&mut *self.ctx) };
    }
}
