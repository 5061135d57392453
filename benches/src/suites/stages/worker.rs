//! The worker's stages: a plugin driven as a worker drives it, in this process.

use std::path::Path;
use std::ptr::NonNull;

use anyhow::{Context, Result, ensure};
use urom_abi::DocaError;
use urom_abi::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use urom_abi::plugin::{
    CloseFn, DomainLookups, NotifPackFn, ProgressFn, WorkerCmdDesc, WorkerCmdFn, WorkerCtx,
    WorkerNotifDesc,
};
use urom_service::plugin_file::Loaded;

use super::clock::{Steps, now};

/// Nanoseconds of each.
#[derive(Debug)]
pub(super) struct WorkerStages {
    pub(super) descriptor: f64,
    pub(super) plugin: f64,
    pub(super) pack: f64,
}

/// Room for a notification: a message's by default.
const ROOM: usize = 4096;

/// A plugin that is open. Dropping it closes it.
struct Open {
    ctx: Box<WorkerCtx>,
    close: CloseFn,
    worker_cmd: WorkerCmdFn,
    progress: ProgressFn,
    notif_pack: NotifPackFn,
    commands: DescriptorList<WorkerCmdDesc>,
    notifications: DescriptorList<WorkerNotifDesc>,
}

impl Open {
    fn new(file: &Path) -> Result<Open> {
        let iface = Loaded::load(file)?.iface()?;
        // The loopback plugins look nothing up.
        let lookups = DomainLookups {
            addr_lookup: None,
            seg_lookup: None,
            memh_lookup: None,
            mkey_lookup: None,
        };
        let mut ctx =
            Box::new(WorkerCtx { iface, domain_iface: lookups, plugin_ctx: std::ptr::null_mut() });
        let open = iface.open.context("the plugin has no open")?;
        // SAFETY: the plugin's method, with a context that stays in its box until after `close`.
        unsafe { open(&raw mut *ctx) }.check()?;
        Ok(Open {
            ctx,
            close: iface.close.context("the plugin has no close")?,
            worker_cmd: iface.worker_cmd.context("the plugin has no worker_cmd")?,
            progress: iface.progress.context("the plugin has no progress")?,
            notif_pack: iface.notif_pack.context("the plugin has no notif_pack")?,
            commands: DescriptorList::new(),
            notifications: DescriptorList::new(),
        })
    }

    fn work(&mut self) -> (DocaError, DocaError) {
        // SAFETY: the plugin's method, on its open context, with a well-formed list of descriptors of the C heap.
        let begun = unsafe { (self.worker_cmd)(&raw mut *self.ctx, self.commands.as_raw()) };
        // SAFETY: the plugin's method, on its open context, with a well-formed list to append to.
        let ended = unsafe { (self.progress)(&raw mut *self.ctx, self.notifications.as_raw()) };
        (begun, ended)
    }

    fn pack(
        &mut self,
        notification: NotificationDesc,
        room: &mut [u8; ROOM],
    ) -> (DocaError, usize) {
        let mut packed = room.len();
        let block = notification.into_raw();
        // SAFETY: the block is a whole descriptor.
        let header = unsafe { &raw mut (*block).worker_notif };
        // SAFETY: the plugin's method, with its own notification and as many bytes to write to as `packed` says.
        let code = unsafe { (self.notif_pack)(header, &mut packed, room.as_mut_ptr().cast()) };
        if let Some(block) = NonNull::new(block) {
            // SAFETY: from `into_raw` above; the plugin only looked at it.
            drop(unsafe { NotificationDesc::from_raw(block) });
        }
        (code, packed)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the plugin's method, on its open context, once.
        unsafe { (self.close)(&raw mut *self.ctx) };
    }
}

/// Times the stages of the loopback plugin in `file`.
///
/// # Errors
/// When it is no such plugin.
pub(super) fn measure(file: &Path, samples: u64) -> Result<WorkerStages> {
    let mut plugin = Open::new(file).with_context(|| file.display().to_string())?;
    let mut steps = Steps::<3>::new();
    let mut room = [0; ROOM];
    for data in 0..samples {
        // A loopback: its tag, which is 0, and its value.
        let mut command = [0; 16];
        command[8..].copy_from_slice(&data.to_le_bytes());
        let begin = now();
        plugin.commands.push_back(CommandDesc::new(1, 1, data, &command)?);
        let described = now();
        let codes = plugin.work();
        let answered = now();
        ensure!(codes == (DocaError::SUCCESS, DocaError::SUCCESS), "{}: {codes:?}", file.display());
        let notification = plugin.notifications.pop_front().context("the plugin has no answer")?;
        let found = now();
        let (code, packed) = plugin.pack(notification, &mut room);
        let done = now();
        code.check()?;
        ensure!(
            room[packed - 8..packed] == data.to_le_bytes(),
            "sent {data}, got {:?}",
            &room[..packed]
        );
        steps.record(0, begin, described);
        steps.record(1, described, answered);
        steps.record(2, found, done);
    }
    let [descriptor, plugin, pack] = steps.means();
    Ok(WorkerStages { descriptor, plugin, pack })
}
