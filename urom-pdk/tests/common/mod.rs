//! A minimal worker for tests below the test kit: NULL and invalid pointers, raw descriptors, and
//! calls without allocations. Other tests use [`urom_pdk::test_util`].

#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut, without_provenance_mut};

use urom_abi::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use urom_abi::extension::{
    Called, CancelReason, CommandCall, DESCRIPTORS, PluginExtension, READY, TracedCall,
};
use urom_abi::plugin::{DomainLookups, PluginIface, WorkerCtx};
use urom_abi::protocol::{Protocol, Serve};
use urom_abi::trace::CONTEXT_LEN;
use urom_abi::{DocaError, DocaStatus};
use urom_pdk::Side;
pub(crate) use urom_pdk::test_util::iface;

pub(crate) mod protocol;

pub(crate) const PLUGIN_ID: u64 = 4;

pub(crate) struct Worker {
    iface: PluginIface,
    extension: PluginExtension,
    /// From a box that the drop frees; the plugin keeps this pointer, so it is made once.
    ctx: NonNull<WorkerCtx>,
    commands: DescriptorList<urom_abi::plugin::WorkerCmdDesc>,
    notifications: DescriptorList<urom_abi::plugin::WorkerNotifDesc>,
}

pub(crate) const NO_LOOKUPS: DomainLookups =
    DomainLookups { addr_lookup: None, seg_lookup: None, memh_lookup: None, mkey_lookup: None };

pub(crate) fn context(iface: PluginIface, domain_iface: DomainLookups) -> Box<WorkerCtx> {
    Box::new(WorkerCtx { iface, domain_iface, plugin_ctx: without_provenance_mut::<c_void>(0x10) })
}

pub(crate) fn open() -> Worker {
    Worker::open::<protocol::Obedient, protocol::Words>(NO_LOOKUPS).expect("it opens")
}

impl Worker {
    pub(crate) fn open<T: 'static, P: Protocol + Serve<Side, T>>(
        lookups: DomainLookups,
    ) -> Result<Worker, DocaError> {
        let iface = iface::<T, P>();
        let ctx = NonNull::from(Box::leak(context(iface, lookups)));
        let (commands, notifications) = (DescriptorList::new(), DescriptorList::new());
        let extension = urom_pdk::__private::extension::<T, P>(|| unreachable!());
        let worker = Worker { iface, extension, ctx, commands, notifications };
        let open = iface.open.expect("open");
        // SAFETY: the context does not move and belongs to this thread.
        let opened = unsafe { open(worker.ctx()) }.check();
        if opened.is_err() {
            assert!(worker.plugin_ctx().is_null(), "a failed open leaves nothing behind");
        }
        opened.map(|()| worker)
    }

    fn ctx(&self) -> *mut WorkerCtx {
        self.ctx.as_ptr()
    }

    fn plugin_ctx(&self) -> *mut c_void {
        // SAFETY: the context lives as long as this.
        unsafe { (*self.ctx()).plugin_ctx }
    }

    pub(crate) fn queue(&mut self, dest_id: u64, token: u64, bytes: &[u8]) {
        let command =
            CommandDesc::new(dest_id, PLUGIN_ID, token, bytes).expect("the C heap has space");
        self.commands.push_back(command);
    }

    pub(crate) fn flush(&mut self) {
        let worker_cmd = self.iface.worker_cmd.expect("worker_cmd");
        let ctx = self.ctx();
        // SAFETY: an open context and a list, both of this thread.
        let code = unsafe { worker_cmd(ctx, self.commands.as_raw()) };
        assert_eq!(code, DocaStatus::SUCCESS);
        assert!(self.commands.is_empty(), "the whole list was taken");
    }

    pub(crate) fn send(&mut self, dest_id: u64, token: u64, bytes: &[u8]) {
        self.queue(dest_id, token, bytes);
        self.flush();
    }

    /// The answer buffer has `capacity` bytes between guard bytes.
    pub(crate) fn call(
        &mut self,
        dest_id: u64,
        token: u64,
        bytes: &[u8],
        capacity: usize,
    ) -> (Called, DocaStatus, Vec<u8>) {
        let context = (size_of::<CommandCall>(), [0; CONTEXT_LEN]);
        self.call_traced(dest_id, token, bytes, capacity, context)
    }

    /// A call with a trace context, in a structure that states this size.
    pub(crate) fn call_traced(
        &mut self,
        dest_id: u64,
        token: u64,
        bytes: &[u8],
        capacity: usize,
        (size, context): (usize, [u8; CONTEXT_LEN]),
    ) -> (Called, DocaStatus, Vec<u8>) {
        const FILL: u8 = 0xee;
        let (function, mut out) = (self.extension.call.expect("call"), vec![FILL; capacity + 16]);
        let call = CommandCall {
            size,
            dest_id,
            plugin_id: PLUGIN_ID,
            urom_context: token,
            command: bytes.as_ptr(),
            command_len: bytes.len(),
            answer: out.as_mut_ptr().wrapping_add(8),
            answer_capacity: capacity,
            answer_len: 0,
            status: DocaStatus::SUCCESS,
            reserved: 0,
        };
        let mut traced = TracedCall { call, context, reserved: [0; 7] };
        // SAFETY: an open context, and buffers that outlive the call.
        let called = unsafe { function(self.ctx(), (&raw mut traced).cast()) };
        let call = traced.call;
        assert!(call.answer_len <= capacity);
        let (before, rest) = out.split_at(8 + call.answer_len);
        assert!(before[..8].iter().chain(&rest[capacity - call.answer_len..]).all(|b| *b == FILL));
        (called, call.status, before[8..].to_vec())
    }

    /// The plugin may only read the size of another release's structure.
    pub(crate) fn call_of_size(&mut self, size: usize) -> Called {
        let (function, mut words) = (self.extension.call.expect("call"), vec![usize::MAX; 16]);
        words[0] = size;
        // SAFETY: an open context, and `words` has this size.
        unsafe { function(self.ctx(), words.as_mut_ptr().cast()) }
    }

    pub(crate) fn call_with_nothing(&mut self) -> Called {
        let function = self.extension.call.expect("call");
        // SAFETY: `call` must accept NULL.
        unsafe { function(self.ctx(), null_mut()) }
    }

    pub(crate) fn cancel(&mut self, dest_id: u64, token: u64, reason: CancelReason) {
        let cancel = self.extension.cancel.expect("cancel");
        // SAFETY: an open context.
        unsafe { cancel(self.ctx(), dest_id, token, reason) };
    }

    pub(crate) fn host_left(&mut self, dest_id: u64) {
        let host_left = self.extension.host_left.expect("host_left");
        // SAFETY: an open context.
        unsafe { host_left(self.ctx(), dest_id) };
    }

    pub(crate) fn arm(&mut self) -> Option<Vec<c_int>> {
        let (arm, mut fds) = (self.extension.arm.expect("arm"), [-1; DESCRIPTORS]);
        // SAFETY: an open context, and a buffer of the given length.
        let count = unsafe { arm(self.ctx(), fds.as_mut_ptr(), fds.len()) };
        (count != READY).then(|| fds[..count].to_vec())
    }

    pub(crate) fn progress(&mut self) -> Vec<NotificationDesc> {
        let mut all = Vec::new();
        self.progress_with(|notification| all.push(notification));
        all
    }

    pub(crate) fn progress_with(&mut self, mut each: impl FnMut(NotificationDesc)) {
        let progress = self.iface.progress.expect("progress");
        let ctx = self.ctx();
        // SAFETY: an open context and a list, both of this thread.
        let code = unsafe { progress(ctx, self.notifications.as_raw()) };
        let want =
            if self.notifications.is_empty() { DocaStatus::EMPTY } else { DocaStatus::SUCCESS };
        assert_eq!(code, want);
        while let Some(notification) = self.notifications.pop_front() {
            each(notification);
        }
    }

    pub(crate) fn wait(&mut self) -> Vec<NotificationDesc> {
        for _ in 0..10_000 {
            let all = self.progress();
            if !all.is_empty() {
                return all;
            }
        }
        panic!("no notification after 10,000 calls of progress");
    }

    pub(crate) fn addr(&mut self, buffer: &mut [u8]) -> (DocaStatus, usize) {
        let addr = self.iface.addr.expect("addr");
        let (ctx, mut len) = (self.ctx(), buffer.len());
        let to = if buffer.is_empty() { null_mut() } else { buffer.as_mut_ptr().cast() };
        // SAFETY: an open context and a buffer of `len` bytes.
        let code = unsafe { addr(ctx, to, &mut len) };
        (code, len)
    }

    pub(crate) fn close(&mut self) {
        let close = self.iface.close.expect("close");
        let ctx = self.ctx();
        // SAFETY: a context that was opened.
        unsafe { close(ctx) };
        assert!(self.plugin_ctx().is_null());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.close();
        // SAFETY: from a box in `open`; the plugin is closed.
        drop(unsafe { Box::from_raw(self.ctx()) });
    }
}
