//! The host's C interface as a table of functions.
//!
//! The host library calls DOCA only through [`Api`]. The table is filled from the service this
//! project builds, or from a `libdoca_urom.so` found at run time; nothing above it can tell which.
//! What DOCA's interface has no call for, such as the text of an error, is in [`Extensions`], which
//! only this project's service fills.
//!
//! Pointers follow DOCA's rules: objects are opaque and owned by whoever created them, a NULL
//! argument gives `INVALID_VALUE`, a setter on a context that is not idle gives `BAD_STATE`. A
//! progress engine, its contexts, their tasks and buffers belong to one thread at a time.

use std::ffi::{c_char, c_void};

use crate::error::DocaError;
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
    /// `struct doca_ctx`: what services, workers and domains have in common.
    Ctx;
    /// `struct doca_task`: what tasks have in common.
    Task;
    /// `struct doca_buf`: a range of memory, of a task or of a memory map.
    Buf;
    /// `struct doca_mmap`: a memory map.
    Mmap;
    /// `struct doca_buf_inventory`.
    BufInventory;
    /// `struct doca_buf_pool`.
    BufPool;
    /// `struct doca_sync_event`: a counter that several wait for.
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
    /// `struct doca_graph`: nodes that run in the order of their dependencies.
    Graph;
    /// `struct doca_graph_node`.
    GraphNode;
    /// `struct doca_graph_instance`: one execution of a graph.
    GraphInstance;
    /// `struct doca_task_batch`, of which this project has none.
    TaskBatch;
    /// `struct doca_dpa`, of which this project has none.
    Dpa;
    /// `struct doca_gpu`, of which this project has none.
    Gpu;
    /// `struct doca_dev`: an opened device.
    Dev;
    /// `struct doca_devinfo`: a device that could be opened.
    DevInfo;
    /// `struct doca_urom_service`.
    Service;
    /// `struct doca_urom_service_get_workers_by_gid_task`.
    GidTask;
    /// `struct doca_urom_worker`.
    Worker;
    /// `struct doca_urom_worker_cmd_task`.
    CmdTask;
    /// `struct doca_urom_domain`: workers of one parallel application, and the memory they share.
    Domain;
}

/// Eight bytes of the caller's (`union doca_data`), passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Data {
    /// As a pointer.
    pub ptr: *mut c_void,
    /// As a number.
    pub u64: u64,
}

impl Default for Data {
    /// Eight zeros.
    fn default() -> Data {
        Data { u64: 0 }
    }
}

/// The state of a context (`enum doca_ctx_states`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CtxState(pub u32);

impl CtxState {
    /// Not started, or stopped: the only state in which it can be configured or destroyed.
    pub const IDLE: CtxState = CtxState(0);
    /// Start was asked for and is not over.
    pub const STARTING: CtxState = CtxState(1);
    /// Tasks can be submitted.
    pub const RUNNING: CtxState = CtxState(2);
    /// Stop was asked for, or the peer is gone, and tasks are still being flushed.
    pub const STOPPING: CtxState = CtxState(3);
}

/// How a command task ended (`struct urom_cmd_task_end`); an extension of this project's, see
/// [`Extensions`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CmdTaskEnd {
    /// What `doca_task_get_status` gives.
    pub status: DocaError,
    /// 1 for a command that was given up: by its deadline (`TIME_OUT`) or by a cancel (`SKIPPED`).
    pub given_up: u32,
    /// Where the response's data begins; NULL when there was no notification.
    pub response: *mut c_void,
    /// How long it is, in bytes.
    pub length: usize,
}

assert_layout!(CmdTaskEnd, 24, align 8, { given_up @ 4, response @ 8, length @ 16 });

/// The bytes of a command task that belong to the host (`UROM_CMD_TASK_AREA`); an extension of
/// this project's, see [`Extensions`].
pub const CMD_TASK_AREA: usize = 192;

/// What became of the commands of a worker that the host did not wait for
/// (`struct urom_given_up`); an extension of this project's, see [`Extensions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct GivenUp {
    /// How many are unanswered. They count against the tasks in flight.
    pub waiting: u64,
    /// How many answers came after a deadline or a cancel.
    pub late: u64,
    /// How many answers came to forgotten commands.
    pub dropped: u64,
}

assert_layout!(GivenUp, 24, align 8, { late @ 8, dropped @ 16 });

/// What a worker says of its plugins (`struct urom_worker_health`); an extension of this project's,
/// see [`Extensions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct WorkerHealth {
    /// The plugin that does not return, NUL-terminated; empty when all is well.
    pub plugin: [c_char; PLUGIN_NAME_CAPACITY],
    /// The method that it was called for, such as `worker_cmd`, NUL-terminated.
    pub method: [c_char; METHOD_CAPACITY],
    /// For how many seconds it has not returned.
    pub seconds: u64,
}

/// Room for the name of a plugin's method, its NUL included.
#[doc(hidden)]
pub const METHOD_CAPACITY: usize = 16;

// For the service and the host library.
#[doc(hidden)]
impl WorkerHealth {
    /// That of a worker whose plugins return.
    pub fn well() -> WorkerHealth {
        WorkerHealth { plugin: [0; PLUGIN_NAME_CAPACITY], method: [0; METHOD_CAPACITY], seconds: 0 }
    }

    /// That of a worker one of whose plugins does not. Texts that are too long are cut.
    pub fn stuck(plugin: &str, method: &str, seconds: u64) -> WorkerHealth {
        let mut health = WorkerHealth { seconds, ..WorkerHealth::well() };
        put_text(&mut health.plugin, plugin);
        put_text(&mut health.method, method);
        health
    }
}

fn put_text(array: &mut [c_char], text: &str) {
    let room = array.len() - 1;
    for (slot, byte) in array[..room].iter_mut().zip(text.bytes()) {
        *slot = byte as c_char;
    }
}

assert_layout!(WorkerHealth, 72, align 8, { plugin @ 0, method @ 48, seconds @ 64 });

/// Completion of a worker command (`doca_urom_worker_cmd_task_completion_cb_t`): task, its user
/// data, its context's.
pub type CmdTaskCallback =
    unsafe extern "C" fn(task: *mut CmdTask, task_data: Data, ctx_data: Data);
/// Completion of a group query.
pub type GidTaskCallback =
    unsafe extern "C" fn(task: *mut GidTask, task_data: Data, ctx_data: Data);
/// Completion of a task `T` of a context without a worker: task, its user data, its context's.
pub type TaskCallback<T> = unsafe extern "C" fn(task: *mut T, task_data: Data, ctx_data: Data);
/// The end of a graph's instance (`doca_graph_completion_cb_t`): instance, its user data, its
/// graph's.
pub type GraphCallback =
    unsafe extern "C" fn(instance: *mut GraphInstance, instance_data: Data, graph_data: Data);
/// A node of the host's own (`doca_graph_user_node_cb_t`).
pub type UserNodeCallback = unsafe extern "C" fn(cookie: *mut c_void) -> DocaError;
/// Called after a context changed state; the context is in `next` already.
pub type StateChangedCallback =
    unsafe extern "C" fn(user_data: Data, ctx: *mut Ctx, previous: CtxState, next: CtxState);

/// Gives a memory map's memory back when the map is destroyed (`doca_mmap_memrange_free_cb_t`).
pub type FreeCallback = unsafe extern "C" fn(address: *mut c_void, len: usize, cookie: *mut c_void);

/// Starts an all-gather: `msglen` bytes from `sbuf` of every participant land in everyone's `rbuf`,
/// those of participant r at `r * msglen`. `msglen` is the same on all of them. Stores what
/// [`OobReqTestFn`] is to be asked about; both buffers stay as they are until that says `SUCCESS`.
pub type OobAllgatherFn = unsafe extern "C" fn(
    sbuf: *mut c_void,
    rbuf: *mut c_void,
    msglen: usize,
    coll_info: *mut c_void,
    req: *mut *mut c_void,
) -> DocaError;
/// Whether an all-gather is over: `SUCCESS`, `IN_PROGRESS`, or why it failed. Not called again
/// after `SUCCESS`.
pub type OobReqTestFn = unsafe extern "C" fn(req: *mut c_void) -> DocaError;
/// Ends a request, once, whether it is over or not.
pub type OobReqFreeFn = unsafe extern "C" fn(req: *mut c_void) -> DocaError;

/// Room for a device's name, its NUL included (`DOCA_DEVINFO_IBDEV_NAME_SIZE`).
pub const IBDEV_NAME_SIZE: usize = 64;
/// Room for the name of a network interface, its NUL included (`DOCA_DEVINFO_IFACE_NAME_SIZE`).
#[doc(hidden)]
pub const IFACE_NAME_SIZE: usize = 256;
/// Room for a PCI address, `dddd:bb:dd.f` and its NUL (`DOCA_DEVINFO_PCI_ADDR_SIZE`).
pub const PCI_ADDR_SIZE: usize = 13;

/// How the processes of a domain exchange bytes when it starts
/// (`struct doca_urom_domain_oob_coll`). The functions are called only by the thread that starts,
/// progresses, stops or destroys the domain.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OobColl {
    /// See [`OobAllgatherFn`].
    pub allgather: Option<OobAllgatherFn>,
    /// See [`OobReqTestFn`].
    pub req_test: Option<OobReqTestFn>,
    /// See [`OobReqFreeFn`].
    pub req_free: Option<OobReqFreeFn>,
    /// The caller's own; goes to `allgather`.
    pub coll_info: *mut c_void,
    /// How many participants there are.
    pub n_oob_indexes: u32,
    /// Which of them this process is, from 0.
    pub oob_index: u32,
}

assert_layout!(OobColl, 40, align 8, {
    allgather @ 0, req_test @ 8, req_free @ 16, coll_info @ 24, n_oob_indexes @ 32, oob_index @ 36,
});
