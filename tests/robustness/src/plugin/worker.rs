//! A minimal worker: calls the C functions of a plugin of this process, as a worker does, but less
//! carefully.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut, without_provenance_mut};

use urom_abi::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use urom_abi::plugin::{
    DomainLookups, PluginIface, WorkerCmdDesc, WorkerCtx, WorkerNotifDesc, WorkerNotify,
};
use urom_abi::protocol::{Protocol, Serve};
use urom_abi::{DocaError, DocaStatus};
use urom_pdk::Side;

pub(super) const PLUGIN_ID: u64 = 4;

pub(super) struct Worker {
    iface: PluginIface,
    /// From a box that the drop frees. The plugin keeps this pointer, so the pointer is made once.
    ctx: NonNull<WorkerCtx>,
    commands: DescriptorList<WorkerCmdDesc>,
    notifications: DescriptorList<WorkerNotifDesc>,
}

pub(super) fn iface<T: 'static, P: Protocol + Serve<Side, T>>() -> PluginIface {
    let mut iface = PluginIface::EMPTY;
    // SAFETY: a structure on this stack frame.
    let code = unsafe { urom_pdk::__private::get_iface::<T, P>(|| unreachable!(), &mut iface) };
    assert_eq!(code, DocaStatus::SUCCESS);
    iface
}

impl Worker {
    pub(super) fn new(iface: PluginIface) -> Worker {
        let domain_iface = DomainLookups {
            addr_lookup: None,
            seg_lookup: None,
            memh_lookup: None,
            mkey_lookup: None,
        };
        let ctx = Box::new(WorkerCtx { iface, domain_iface, plugin_ctx: null_mut() });
        let ctx = NonNull::from(Box::leak(ctx));
        Worker { iface, ctx, commands: DescriptorList::new(), notifications: DescriptorList::new() }
    }

    /// Opens the plugin, on a context with a garbage state pointer.
    pub(super) fn open(&mut self) {
        let ctx = self.ctx.as_ptr();
        // SAFETY: the context lives as long as `self`, and the plugin is closed.
        unsafe { (*ctx).plugin_ctx = without_provenance_mut::<c_void>(0x10) };
        let open = self.iface.open.expect("open");
        // SAFETY: the context has a stable address and is used by this thread only.
        assert_eq!(unsafe { open(ctx) }, DocaStatus::SUCCESS);
    }

    pub(super) fn close(&mut self) {
        let (ctx, close) = (self.ctx.as_ptr(), self.iface.close.expect("close"));
        // SAFETY: a context that was opened, and may be closed already.
        unsafe { close(ctx) };
        // SAFETY: the context lives as long as `self`.
        assert!(unsafe { (*ctx).plugin_ctx }.is_null());
    }

    pub(super) fn queue(&mut self, dest_id: u64, token: u64, bytes: &[u8]) {
        self.commands.push_back(
            CommandDesc::new(dest_id, PLUGIN_ID, token, bytes).expect("the C heap suffices"),
        );
    }

    /// Hands all queued commands over; a closed plugin rejects them.
    pub(super) fn flush(&mut self) -> DocaStatus {
        let (ctx, worker_cmd) = (self.ctx.as_ptr(), self.iface.worker_cmd.expect("worker_cmd"));
        // SAFETY: the context and the list are live and used by this thread only.
        unsafe { worker_cmd(ctx, self.commands.as_raw()) }
    }

    pub(super) fn forget_queued(&mut self) -> usize {
        std::iter::from_fn(|| self.commands.pop_front()).count()
    }

    pub(super) fn progress(&mut self) -> (DocaStatus, Vec<NotificationDesc>) {
        let (ctx, progress) = (self.ctx.as_ptr(), self.iface.progress.expect("progress"));
        // SAFETY: the context and the list are live and used by this thread only.
        let code = unsafe { progress(ctx, self.notifications.as_raw()) };
        (code, std::iter::from_fn(|| self.notifications.pop_front()).collect())
    }

    pub(super) fn nonsense(&self) {
        let ctx = self.ctx.as_ptr();
        let worker_cmd = self.iface.worker_cmd.expect("worker_cmd");
        let progress = self.iface.progress.expect("progress");
        let pack = self.iface.notif_pack.expect("notif_pack");
        let open = self.iface.open.expect("open");
        let codes = [
            // SAFETY: the plugin must check for NULL; the context is live and used by this thread
            // only.
            unsafe { worker_cmd(ctx, null_mut()) },
            // SAFETY: likewise.
            unsafe { worker_cmd(null_mut(), null_mut()) },
            // SAFETY: likewise.
            unsafe { progress(ctx, null_mut()) },
            // SAFETY: likewise.
            unsafe { progress(null_mut(), null_mut()) },
            // SAFETY: likewise.
            unsafe { pack(null_mut(), null_mut(), null_mut()) },
            // SAFETY: likewise.
            unsafe { open(null_mut()) },
        ];
        assert_eq!(codes, [DocaError::INVALID_VALUE; 6]);
    }

    pub(super) fn addr(&self, capacity: usize, want: &[u8]) {
        let (ctx, addr) = (self.ctx.as_ptr(), self.iface.addr.expect("addr"));
        let (mut to, mut len) = (vec![0xee; capacity].into_boxed_slice(), capacity);
        // SAFETY: a context of this thread and a buffer of `len` bytes.
        let code = unsafe { addr(ctx, to.as_mut_ptr().cast(), &mut len) };
        // The kit's frame surrounds the address.
        assert!(len >= want.len());
        if capacity >= len {
            assert_eq!(code, DocaStatus::SUCCESS);
            assert!(to[..len].ends_with(want));
        } else {
            assert_eq!(code, DocaError::INVALID_VALUE);
            assert!(to.iter().all(|byte| *byte == 0xee), "a short buffer is unchanged");
        }
    }

    /// Packs a notification into `capacity` bytes, or to NULL.
    pub(super) fn pack(&self, notification: NotificationDesc, capacity: Option<usize>) {
        let pack = self.iface.notif_pack.expect("notif_pack");
        let mut whole = Vec::new();
        let header = notification.header();
        whole.extend_from_slice(&header.plugin_id.to_le_bytes());
        whole.extend_from_slice(&header.urom_context.to_le_bytes());
        whole.extend_from_slice(&header.len.to_le_bytes());
        whole.extend_from_slice(&header.status.0.to_le_bytes());
        whole.extend_from_slice(&[0; 4]);
        whole.extend_from_slice(notification.payload());
        let desc = notification.into_raw();
        // SAFETY: this function owns the descriptor.
        let header: *mut WorkerNotify = unsafe { &raw mut (*desc).worker_notif };
        let mut to = vec![0xee; capacity.unwrap_or(0)].into_boxed_slice();
        let mut len = capacity.unwrap_or(whole.len());
        let at = if capacity.is_some() { to.as_mut_ptr().cast() } else { null_mut() };
        // SAFETY: a notification of this plugin, and NULL or a buffer of `len` bytes.
        let code = unsafe { pack(header, &mut len, at) };
        let desc = NonNull::new(desc).expect("not NULL");
        // SAFETY: `into_raw` gave up the ownership above, and `pack` does not take it.
        drop(unsafe { NotificationDesc::from_raw(desc) });
        assert_eq!(len, whole.len());
        if capacity.is_some_and(|capacity| capacity >= len) {
            assert_eq!((code, &to[..len]), (DocaStatus::SUCCESS, &whole[..]));
            assert!(to[len..].iter().all(|byte| *byte == 0xee));
        } else {
            assert_eq!(code, DocaError::INVALID_VALUE);
            assert!(to.iter().all(|byte| *byte == 0xee), "a short buffer is unchanged");
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.close();
        // SAFETY: `new` leaked the box, and the plugin is closed.
        drop(unsafe { Box::from_raw(self.ctx.as_ptr()) });
    }
}
