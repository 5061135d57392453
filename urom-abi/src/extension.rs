//! Services of this kit's workers and plugins beyond DOCA's interface. A plugin exports a
//! [`PluginExtension`] as [`EXTENSION_SYMBOL`]; the worker passes its [`WorkerServices`] to the
//! plugin. Each side uses the common part of both: see [`Words`]. Other workers, such as NVIDIA's,
//! ignore the symbol. In C: `urom_plugin_extension.h`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::error::DocaStatus;
use crate::host_memory::{HostMemory, MemoryOperation};
use crate::plugin::WorkerCtx;
use crate::trace::CONTEXT_LEN;
use crate::worker_log::WorkerLog;

/// The symbol name of a plugin's [`PluginExtension`], a data symbol.
pub const EXTENSION_SYMBOL: &str = "urom_plugin_extension";

/// Maximum length of a failure text for a host, in bytes. Longer texts are truncated.
pub const LONGEST_FAILURE: usize = 2048;

/// A structure of words: first its size in bytes. Releases append words; 0 means a missing word.
///
/// # Safety
/// The type is `repr(C)`, consists of words without padding, begins with its size as a `usize`, and
/// all of it but the size may be zero.
pub unsafe trait Words: Copy {
    const NONE: Self;

    /// Reads a structure of another release. Missing words are zero.
    ///
    /// # Safety
    /// `from` is NULL or points to a structure of the stated size, with zero or valid words.
    unsafe fn read(from: *const Self) -> Self {
        let mut words = Self::NONE;
        if from.is_null() {
            return words;
        }
        let own = (&raw mut words).cast::<usize>();
        let from = from.cast::<usize>();
        // SAFETY: every release's structure begins with its size.
        let size = unsafe { from.read() };
        let common = size.min(size_of::<Self>()) / size_of::<usize>();
        let behind = common.saturating_sub(1);
        // SAFETY: both structures have this many words after the first one, and `words` is new.
        unsafe { ptr::copy_nonoverlapping(from.wrapping_add(1), own.wrapping_add(1), behind) };
        words
    }
}

/// Functions of a plugin for a worker of this kit. A worker calls them on its thread, never inside
/// another call of the plugin, and skips missing functions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PluginExtension {
    pub size: usize,
    pub attach: Option<AttachFn>,
    pub call: Option<CallFn>,
    pub cancel: Option<CancelFn>,
    pub host_left: Option<HostLeftFn>,
    pub arm: Option<ArmFn>,
}

/// Passes the worker's services to the plugin, right before `open` of the same context. They stay
/// valid until `close` of that context has returned, or `open` has failed.
pub type AttachFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, services: *const WorkerServices);

/// Runs a command and answers it now, or, if [pending](Called::PENDING), through `progress`. It
/// replaces `worker_cmd` for a command that need not wait for others of this plugin.
pub type CallFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, call: *mut CommandCall) -> Called;

/// Reports that the host no longer waits for a command, and why. The plugin must still answer it,
/// soon. The command may be unknown to the plugin, because its answer may be in transit.
pub type CancelFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    urom_context: u64,
    reason: CancelReason,
);

/// Reports that all commands of a connection are answered and it sends no more. Connection numbers
/// are never reused. Not called for connections that exist when the worker closes the plugin.
pub type HostLeftFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, dest_id: u64);

/// Asks the plugin, right before the worker sleeps, for its wake-up events. The plugin writes at
/// most `max` descriptors to `fds` and returns their number. Each becomes readable when the plugin
/// has work. The plugin returns [`READY`] if it has work now; the worker then does not sleep.
///
/// The worker polls only the descriptors, which stay open until the next call of the plugin. It
/// polls a plugin without this function with a backoff.
pub type ArmFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, fds: *mut c_int, max: usize) -> usize;

/// Return value of [`ArmFn`] for a plugin that has work now.
pub const READY: usize = usize::MAX;

/// Capacity of the descriptor array that a worker passes to [`ArmFn`].
pub const DESCRIPTORS: usize = 8;

#[derive(Debug)]
#[repr(C)]
pub struct CommandCall {
    pub size: usize,
    pub dest_id: u64,
    pub plugin_id: u64,
    pub urom_context: u64,
    /// The command's bytes, unaligned, valid during the call.
    pub command: *const u8,
    pub command_len: usize,
    /// Buffer for the notification's bytes, without a header, unaligned. It may hold old bytes.
    pub answer: *mut u8,
    /// Capacity of `answer`. A longer notification exceeds the message limit.
    pub answer_capacity: usize,
    /// Number of bytes written. Read when the call returns [`Called::ANSWERED`].
    pub answer_len: usize,
    /// The notification's status; read like `answer_len`.
    pub status: DocaStatus,
    pub reserved: u32,
}

/// The call of a command with a trace context. Its `size` is this structure's.
#[derive(Debug)]
#[repr(C)]
pub struct TracedCall {
    pub call: CommandCall,
    pub context: [u8; CONTEXT_LEN],
    pub reserved: [u8; 7],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Called(pub u32);

impl Called {
    /// Answered, with a status and `answer_len` bytes in `answer`.
    pub const ANSWERED: Called = Called(0);
    /// Started; the answer follows through `progress`.
    pub const PENDING: Called = Called(1);
    /// Not started: the worker passes the command to `worker_cmd`.
    pub const DECLINED: Called = Called(2);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CancelReason(pub u32);

impl CancelReason {
    pub const CANCELLED: CancelReason = CancelReason(0);
    pub const TIMED_OUT: CancelReason = CancelReason(1);
    pub const HOST_LEFT: CancelReason = CancelReason(2);
}

/// Functions of a worker of this kit for a plugin. They take the context that the services were
/// attached with, and may be called only on the worker's thread, also inside the plugin's
/// functions. The log functions may be called on any thread.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WorkerServices {
    pub size: usize,
    pub worker_id: u64,
    /// The worker's group (`doca_urom_worker_set_gid`); 0 by default.
    pub group_id: u64,
    /// The service's message limit in bytes: a header (24 bytes before a command, 32 before a
    /// notification) and everything after it. A connection's limit is not larger.
    pub message_limit: usize,
    /// NULL where the program's log is DOCA's.
    pub log: *const WorkerLog,
    /// Returns the message limit of a connection; 0 for an unknown connection.
    pub connection_limit: Option<unsafe extern "C" fn(ctx: *mut WorkerCtx, dest_id: u64) -> usize>,
    /// Returns an unanswered command's deadline: nanoseconds of `CLOCK_MONOTONIC`, or 0.
    pub deadline:
        Option<unsafe extern "C" fn(ctx: *mut WorkerCtx, dest_id: u64, urom_context: u64) -> u64>,
    /// Sets the reason of a command's failure, before its answer with an error status: UTF-8
    /// without a NUL, at most [`LONGEST_FAILURE`] bytes for the host. A second text replaces it.
    pub explain: Option<
        unsafe extern "C" fn(
            ctx: *mut WorkerCtx,
            dest_id: u64,
            urom_context: u64,
            text: *const c_char,
            len: usize,
        ),
    >,
    pub open_memory: Option<OpenMemoryFn>,
    pub run_memory: Option<RunMemoryFn>,
    pub keep_memory: Option<KeepMemoryFn>,
    pub close_memory: Option<CloseMemoryFn>,
    /// Reports, inside `progress`, that the plugin made progress other than an answer, such as a
    /// message of its own peer. The worker then polls it without a pause.
    pub moved: Option<unsafe extern "C" fn(ctx: *mut WorkerCtx)>,
    /// Begins a span of an unanswered [traced](TracedCall) command: a run of its handler, or a part
    /// of one. The name is UTF-8 and is truncated. Spans nest, and end in reverse order.
    pub enter_span: Option<
        unsafe extern "C" fn(
            ctx: *mut WorkerCtx,
            dest_id: u64,
            urom_context: u64,
            name: *const c_char,
            len: usize,
        ),
    >,
    /// Ends the span that began last.
    pub leave_span: Option<LeaveSpanFn>,
}

pub type LeaveSpanFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, dest_id: u64, urom_context: u64);

/// Opens `len` bytes of a host's shared memory at `offset`. `NOT_FOUND` for memory that this host
/// does not share with this worker, `INVALID_VALUE` for bytes outside it. The plugin must close all
/// memory before `close` returns.
pub type OpenMemoryFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    memory: u64,
    offset: u64,
    len: u64,
    opened: *mut HostMemory,
) -> DocaStatus;

/// Runs an operation on open memory. After `IN_PROGRESS` its `done` will be called; any other code
/// is the operation's result, also in its `status`. `INVALID_VALUE` for bytes outside the memory or
/// unaligned bytes, `NOT_PERMITTED` when the host does not allow it, `NOT_SUPPORTED` when this path
/// lacks the operation, `IO_FAILED` when the host's memory is missing, `CONNECTION_RESET` when the
/// host has left. Reads and writes end in the call, except over the network.
pub type RunMemoryFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    handle: *mut c_void,
    operation: *mut MemoryOperation,
) -> DocaStatus;

pub type KeepMemoryFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, handle: *mut c_void);

/// Closes open memory, once for each open. Pending operations on it continue to their end.
pub type CloseMemoryFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, handle: *mut c_void);

// SAFETY: all words may be zero.
unsafe impl Words for PluginExtension {
    const NONE: PluginExtension = PluginExtension {
        size: size_of::<PluginExtension>(),
        attach: None,
        call: None,
        cancel: None,
        host_left: None,
        arm: None,
    };
}

// SAFETY: all words may be zero.
unsafe impl Words for WorkerServices {
    const NONE: WorkerServices = WorkerServices {
        size: size_of::<WorkerServices>(),
        worker_id: 0,
        group_id: 0,
        message_limit: 0,
        log: ptr::null(),
        connection_limit: None,
        deadline: None,
        explain: None,
        open_memory: None,
        run_memory: None,
        keep_memory: None,
        close_memory: None,
        moved: None,
        enter_span: None,
        leave_span: None,
    };
}

assert_layout!(PluginExtension, 48, align 8, {
    size @ 0, attach @ 8, call @ 16, cancel @ 24, host_left @ 32, arm @ 40,
});
assert_layout!(CommandCall, 80, align 8, {
    size @ 0, dest_id @ 8, plugin_id @ 16, urom_context @ 24, command @ 32, command_len @ 40,
    answer @ 48, answer_capacity @ 56, answer_len @ 64, status @ 72, reserved @ 76,
});
assert_layout!(TracedCall, 112, align 8, { call @ 0, context @ 80, reserved @ 105 });
assert_layout!(WorkerServices, 120, align 8, {
    size @ 0, worker_id @ 8, group_id @ 16, message_limit @ 24, log @ 32,
    connection_limit @ 40, deadline @ 48, explain @ 56, open_memory @ 64, run_memory @ 72,
    keep_memory @ 80, close_memory @ 88, moved @ 96,
    enter_span @ 104, leave_span @ 112,
});

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn host_left(_: *mut WorkerCtx, _: u64) {}

    /// Reads the table of a plugin of any release: a size and words.
    fn read(words: &[usize]) -> PluginExtension {
        // SAFETY: the words are zeros or one function, and the slice has this size.
        unsafe { PluginExtension::read(words.as_ptr().cast()) }
    }

    #[test]
    fn a_table_of_any_size_is_used_as_far_as_it_goes() {
        let function = host_left as *const () as usize;
        let own = size_of::<PluginExtension>();
        let whole = [own, 0, 0, 0, function, 0];
        assert!(read(&whole).host_left.is_some() && read(&whole).attach.is_none());
        let longer = [own + 16, 0, 0, 0, function, 0, usize::MAX, usize::MAX];
        assert_eq!((read(&longer).size, read(&longer).host_left.is_some()), (own, true));
        for size in [0, 1, 8, 39] {
            let cut = [size, 0, 0, 0, function];
            assert!(read(&cut).host_left.is_none(), "{size} bytes");
        }
        // SAFETY: NULL.
        assert!(unsafe { PluginExtension::read(ptr::null()) }.host_left.is_none());
    }
}
