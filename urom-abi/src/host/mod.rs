//! The host's C interface as a table of functions.
//!
//! The host library calls DOCA only through [`Api`], either of this project's service or of a
//! `libdoca_urom.so` found at run time. Functions beyond DOCA's interface, such as the text of an
//! error, are in [`Extensions`], which only this project's service fills.
//!
//! Pointers follow DOCA's rules: objects are opaque and owned by their creator, a NULL argument
//! returns `INVALID_VALUE`, a setter on a context that is not idle returns `BAD_STATE`. A progress
//! engine, its contexts, their tasks and buffers belong to one thread at a time.

use std::ffi::{c_char, c_void};

use crate::error::DocaStatus;
use crate::plugin::PLUGIN_NAME_CAPACITY;

mod functions;
// For this project's C library.
#[doc(hidden)]
pub mod memory;
mod table;

pub use table::{Api, Extensions};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* #[repr(C)] #[derive(Debug)] pub struct $name { _opaque: [u8; 0] })*
    };
}

opaque! {
    /// `struct doca_pe`: a progress engine.
    Pe;
    /// `struct doca_ctx`: the common part of services, workers and domains.
    Ctx;
    /// `struct doca_task`: the common part of tasks.
    Task;
    /// `struct doca_buf`: a range of memory, of a task or of a memory map.
    Buf;
    /// `struct doca_mmap`: a memory map.
    Mmap;
    /// `struct doca_buf_inventory`.
    BufInventory;
    /// `struct doca_buf_pool`.
    BufPool;
    /// `struct doca_sync_event`: a counter that several processes wait for.
    SyncEvent;
    /// `struct doca_sync_event_remote_net`: the counter of another process.
    SyncEventRemoteNet;
    /// `struct doca_sync_event_task_get`.
    SyncEventTaskGet;
    /// `struct doca_sync_event_task_notify_set`.
    SyncEventTaskNotifySet;
    /// `struct doca_sync_event_task_notify_add`.
    SyncEventTaskNotifyAdd;
    /// `struct doca_sync_event_task_wait_eq`.
    SyncEventTaskWaitEq;
    /// `struct doca_sync_event_task_wait_neq`.
    SyncEventTaskWaitNeq;
    /// `struct doca_mmap_advise`: a context for hints about memory.
    MmapAdvise;
    /// `struct doca_mmap_advise_task_invalidate_cache`.
    MmapAdviseTaskInvalidateCache;
    /// `struct doca_graph`: nodes that run in dependency order.
    Graph;
    /// `struct doca_graph_node`.
    GraphNode;
    /// `struct doca_graph_instance`: one execution of a graph.
    GraphInstance;
    /// `struct doca_task_batch`; not supported by this project.
    TaskBatch;
    /// `struct doca_dpa`; not supported by this project.
    Dpa;
    /// `struct doca_gpu`; not supported by this project.
    Gpu;
    /// `struct doca_dev`: an opened device.
    Dev;
    /// `struct doca_devinfo`: a device that can be opened.
    DevInfo;
    /// `struct doca_urom_service`.
    Service;
    /// `struct doca_urom_service_get_workers_by_gid_task`.
    GidTask;
    /// `struct doca_urom_worker`.
    Worker;
    /// `struct doca_urom_worker_cmd_task`.
    CmdTask;
    /// `struct doca_urom_domain`: the workers of a parallel application, and their shared memory.
    Domain;
}

/// Eight bytes of user data (`union doca_data`), passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Data {
    /// As a pointer.
    pub ptr: *mut c_void,
    /// As a number.
    pub u64: u64,
}

impl Default for Data {
    /// Returns eight zero bytes.
    fn default() -> Data {
        Data { u64: 0 }
    }
}

/// The state of a context (`enum doca_ctx_states`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CtxState(pub u32);

impl CtxState {
    /// Not started, or stopped: the only state that allows configuration and destruction.
    pub const IDLE: CtxState = CtxState(0);
    /// Start is in progress.
    pub const STARTING: CtxState = CtxState(1);
    /// Tasks can be submitted.
    pub const RUNNING: CtxState = CtxState(2);
    /// Stop was requested, or the peer has left; tasks are still being flushed.
    pub const STOPPING: CtxState = CtxState(3);
}

/// Result of a command task (`struct urom_cmd_task_end`); an extension, see [`Extensions`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CmdTaskEnd {
    /// The value of `doca_task_get_status`.
    pub status: DocaStatus,
    /// 1 for a cancelled command: by its deadline (`TIME_OUT`) or by the host (`SKIPPED`).
    pub cancelled: u32,
    /// Start of the response's data; NULL without a notification.
    pub response: *mut c_void,
    /// Length of the response in bytes.
    pub length: usize,
}

assert_layout!(CmdTaskEnd, 24, align 8, { cancelled @ 4, response @ 8, length @ 16 });

/// Size of the host's area in a command task (`UROM_CMD_TASK_AREA`), for [`Extensions`].
pub const CMD_TASK_AREA: usize = 192;

/// Counts of a worker's cancelled commands (`struct urom_cancelled`), for [`Extensions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Cancelled {
    /// Number of unanswered commands. They count as tasks in flight.
    pub waiting: u64,
    /// Number of answers after a deadline or a cancel.
    pub late: u64,
    /// Number of answers to forgotten commands.
    pub dropped: u64,
}

assert_layout!(Cancelled, 24, align 8, { late @ 8, dropped @ 16 });

/// A worker's report on its plugins (`struct urom_worker_health`), for [`Extensions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct WorkerHealth {
    /// The name of the plugin that does not return, NUL-terminated; empty when all plugins return.
    pub plugin: [c_char; PLUGIN_NAME_CAPACITY],
    /// The method of the pending call, such as `worker_cmd`, NUL-terminated.
    pub method: [c_char; METHOD_CAPACITY],
    /// Duration of the pending call in seconds.
    pub seconds: u64,
}

/// Capacity for a plugin's method name, including its NUL.
#[doc(hidden)]
pub const METHOD_CAPACITY: usize = 16;

#[doc(hidden)]
impl WorkerHealth {
    /// Reports that all plugins return.
    pub fn well() -> WorkerHealth {
        WorkerHealth { plugin: [0; PLUGIN_NAME_CAPACITY], method: [0; METHOD_CAPACITY], seconds: 0 }
    }

    /// Reports a plugin that does not return. Truncates texts that are too long.
    pub fn hung(plugin: &str, method: &str, seconds: u64) -> WorkerHealth {
        let mut health = WorkerHealth { seconds, ..WorkerHealth::well() };
        put_text(&mut health.plugin, plugin);
        put_text(&mut health.method, method);
        health
    }
}

pub(crate) fn put_text(array: &mut [c_char], text: &str) {
    let capacity = array.len() - 1;
    for (slot, byte) in array[..capacity].iter_mut().zip(text.bytes()) {
        *slot = byte as c_char;
    }
}

assert_layout!(WorkerHealth, 72, align 8, { plugin @ 0, method @ 48, seconds @ 64 });

/// Completion callback of a command task (`doca_urom_worker_cmd_task_completion_cb_t`).
pub type CmdTaskCallback =
    unsafe extern "C" fn(task: *mut CmdTask, task_data: Data, ctx_data: Data);
/// Completion callback of a group query.
pub type GidTaskCallback =
    unsafe extern "C" fn(task: *mut GidTask, task_data: Data, ctx_data: Data);
/// Completion callback of a task `T` of a context without a worker.
pub type TaskCallback<T> = unsafe extern "C" fn(task: *mut T, task_data: Data, ctx_data: Data);
/// Completion callback of a graph instance (`doca_graph_completion_cb_t`).
pub type GraphCallback =
    unsafe extern "C" fn(instance: *mut GraphInstance, instance_data: Data, graph_data: Data);
/// Function of a user node (`doca_graph_user_node_cb_t`).
pub type UserNodeCallback = unsafe extern "C" fn(cookie: *mut c_void) -> DocaStatus;
/// Called after a context changed its state to `next`.
pub type StateChangedCallback =
    unsafe extern "C" fn(user_data: Data, ctx: *mut Ctx, previous: CtxState, next: CtxState);

/// Frees a memory map's memory when the map is destroyed (`doca_mmap_memrange_free_cb_t`).
pub type FreeCallback = unsafe extern "C" fn(address: *mut c_void, len: usize, cookie: *mut c_void);

/// Starts an all-gather: `msglen` bytes from the `sbuf` of participant r land in every `rbuf` at `r
/// * msglen`. `msglen` is the same for all participants. Stores the request for [`OobReqTestFn`];
/// both buffers stay valid and unchanged until that returns `SUCCESS`.
pub type OobAllgatherFn = unsafe extern "C" fn(
    sbuf: *mut c_void,
    rbuf: *mut c_void,
    msglen: usize,
    coll_info: *mut c_void,
    req: *mut *mut c_void,
) -> DocaStatus;
/// Tests an all-gather: `SUCCESS`, `IN_PROGRESS`, or an error. Not called again after `SUCCESS`.
pub type OobReqTestFn = unsafe extern "C" fn(req: *mut c_void) -> DocaStatus;
/// Frees a request, exactly once, whether finished or not.
pub type OobReqFreeFn = unsafe extern "C" fn(req: *mut c_void) -> DocaStatus;

/// Capacity for a device name, including its NUL (`DOCA_DEVINFO_IBDEV_NAME_SIZE`).
pub const IBDEV_NAME_SIZE: usize = 64;
/// Capacity for a network interface name, including its NUL (`DOCA_DEVINFO_IFACE_NAME_SIZE`).
#[doc(hidden)]
pub const IFACE_NAME_SIZE: usize = 256;
/// Capacity for a PCI address, `dddd:bb:dd.f` and its NUL (`DOCA_DEVINFO_PCI_ADDR_SIZE`).
pub const PCI_ADDR_SIZE: usize = 13;

/// Out-of-band exchange of a domain's processes at its start (`struct doca_urom_domain_oob_coll`).
/// Only the thread that starts, progresses, stops or destroys the domain calls the functions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OobColl {
    /// See [`OobAllgatherFn`].
    pub allgather: Option<OobAllgatherFn>,
    /// See [`OobReqTestFn`].
    pub req_test: Option<OobReqTestFn>,
    /// See [`OobReqFreeFn`].
    pub req_free: Option<OobReqFreeFn>,
    /// The caller's pointer, passed to `allgather`.
    pub coll_info: *mut c_void,
    /// Number of participants.
    pub n_oob_indexes: u32,
    /// Index of this process among them, from 0.
    pub oob_index: u32,
}

assert_layout!(OobColl, 40, align 8, {
    allgather @ 0, req_test @ 8, req_free @ 16, coll_info @ 24, n_oob_indexes @ 32, oob_index @ 36,
});
