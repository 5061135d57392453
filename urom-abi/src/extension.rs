//! What a worker and a plugin of this kit can do for each other beyond DOCA's interface.
//!
//! A plugin exports a [`PluginExtension`] under the name [`EXTENSION_SYMBOL`]; the worker passes
//! its [`WorkerServices`] to the plugin. Both begin with their size and consist of words, so each
//! side uses what both have: see [`Words`]. In another worker, such as that of NVIDIA's service,
//! nobody looks at the symbol and the plugin works without. `urom_plugin_extension.h` is the same
//! in C.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::error::DocaError;
use crate::host_memory::{HostMemory, MemoryOperation};
use crate::plugin::WorkerCtx;
use crate::worker_log::WorkerLog;

/// The name under which a plugin exports its [`PluginExtension`], as data.
pub const EXTENSION_SYMBOL: &str = "urom_plugin_extension";

/// The longest text that a host gets about a failure, in bytes. What is longer is cut.
pub const LONGEST_FAILURE: usize = 2048;

/// A structure of words of which the first is its size in bytes. Releases only append words, and a
/// word of zeros is the same as none.
///
/// # Safety
/// The type is `repr(C)`, consists of words without padding, begins with its size as a `usize`, and
/// all of it but the size may be zero.
pub unsafe trait Words: Copy {
    const NONE: Self;

    /// Reads a structure of another release: what it lacks is zero.
    ///
    /// # Safety
    /// `from` is NULL or points to a structure of this kind, as long as its first word says, whose
    /// words are zero or what their types ask for.
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
        // SAFETY: both structures have as many words behind their first one, and `words` is new.
        unsafe { ptr::copy_nonoverlapping(from.wrapping_add(1), own.wrapping_add(1), behind) };
        words
    }
}

/// What a plugin offers to a worker of this kit. A worker calls each function on its thread, never
/// inside another call of the plugin, and only what is there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PluginExtension {
    /// `sizeof(struct urom_plugin_extension)`.
    pub size: usize,
    /// See [`AttachFn`].
    pub attach: Option<AttachFn>,
    /// See [`CallFn`].
    pub call: Option<CallFn>,
    /// See [`CancelFn`].
    pub cancel: Option<CancelFn>,
    /// See [`HostLeftFn`].
    pub host_left: Option<HostLeftFn>,
    /// See [`ArmFn`].
    pub arm: Option<ArmFn>,
}

/// Gives the plugin the worker's services, right before `open` of the same context. They stay where
/// they are, and may be called, until `close` of that context has returned, or `open` has failed.
pub type AttachFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, services: *const WorkerServices);

/// Runs a command that arrived, and answers it if that is possible at once.
///
/// The worker calls it instead of `worker_cmd` for a command that need not wait behind others of
/// this plugin. What is [pending](Called::PENDING) is answered through `progress`.
pub type CallFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, call: *mut CommandCall) -> Called;

/// Says that nobody waits for a command any more, and why. The plugin answers it all the same, and
/// should do so soon. The command may be unknown to it: its answer may be under way.
pub type CancelFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    urom_context: u64,
    reason: CancelReason,
);

/// Says that no command of this connection is pending and that none will come. A number is never
/// used for another connection. Not called for connections that exist when the worker closes the
/// plugin.
pub type HostLeftFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, dest_id: u64);

/// Asks the plugin, right before the worker sleeps, what should end the sleep. The plugin writes
/// descriptors, `room` at most, to `fds` and returns their number. Each of them becomes readable
/// when the plugin has something to do. The plugin returns [`READY`] if it has something to do now;
/// the worker then does not sleep.
///
/// The worker polls the descriptors and nothing else. They stay open until the next call of the
/// plugin. A worker also polls a plugin without this function, at a falling rate.
pub type ArmFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, fds: *mut c_int, room: usize) -> usize;

/// What [`ArmFn`] returns for a plugin that has something to do.
pub const READY: usize = usize::MAX;

/// The room for descriptors that a worker gives to [`ArmFn`].
pub const DESCRIPTORS: usize = 8;

/// A command and the place for its answer.
#[derive(Debug)]
#[repr(C)]
pub struct CommandCall {
    /// `sizeof(struct urom_command_call)`.
    pub size: usize,
    /// The connection the command came in on.
    pub dest_id: u64,
    /// The plugin's id, as in [`WorkerCmd`](crate::plugin::WorkerCmd).
    pub plugin_id: u64,
    /// The command's token.
    pub urom_context: u64,
    /// The command's bytes, valid during the call; of any alignment.
    pub command: *const u8,
    /// How many there are.
    pub command_len: usize,
    /// Where the plugin may write the notification's bytes, without a header; of any alignment.
    /// Bytes there are an earlier message's.
    pub answer: *mut u8,
    /// How many bytes fit there: a longer notification is over the message limit.
    pub answer_room: usize,
    /// How many bytes the plugin wrote. Read when the call returns [`Called::ANSWERED`].
    pub answer_len: usize,
    /// The notification's status; read as `answer_len` is.
    pub status: DocaError,
    /// 0.
    pub reserved: u32,
}

/// What a plugin made of a [`CommandCall`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Called(pub u32);

impl Called {
    /// It is answered: by a status and `answer_len` bytes in the call's place.
    pub const ANSWERED: Called = Called(0);
    /// It was begun, and will be answered through `progress`.
    pub const PENDING: Called = Called(1);
    /// The plugin did not begin it: the worker passes it to `worker_cmd`.
    pub const DECLINED: Called = Called(2);
}

/// Why nobody waits for a command any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CancelReason(pub u32);

impl CancelReason {
    /// The host program gave it up.
    pub const CANCELLED: CancelReason = CancelReason(0);
    /// Its deadline passed.
    pub const TIMED_OUT: CancelReason = CancelReason(1);
    /// The host left, or was lost.
    pub const HOST_LEFT: CancelReason = CancelReason(2);
}

/// What a worker of this kit offers to a plugin. The functions take the context that the services
/// were attached with, and may be called on the worker's thread only, also inside the plugin's
/// functions. The log's may be called from any thread.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WorkerServices {
    /// `sizeof(struct urom_worker_services)`.
    pub size: usize,
    /// The worker's id on its service.
    pub worker_id: u64,
    /// The worker's group (`doca_urom_worker_set_gid`); 0 by default.
    pub group_id: u64,
    /// The service's message limit in bytes: a header (24 bytes before a command, 32 before a
    /// notification) and what is behind it. That of a connection is not larger.
    pub message_limit: usize,
    /// The worker's log; NULL where the program's own log is DOCA's.
    pub log: *const WorkerLog,
    /// The message limit of a connection; 0 for one that does not exist.
    pub connection_limit: Option<unsafe extern "C" fn(ctx: *mut WorkerCtx, dest_id: u64) -> usize>,
    /// The time by which a command that is not answered must be, in nanoseconds of
    /// `CLOCK_MONOTONIC`; 0 when its host set none.
    pub deadline:
        Option<unsafe extern "C" fn(ctx: *mut WorkerCtx, dest_id: u64, urom_context: u64) -> u64>,
    /// Says why a command fails, before its answer with a status other than success: UTF-8 without
    /// a NUL, of which the host gets [`LONGEST_FAILURE`] bytes at most. A second text replaces the
    /// first.
    pub explain: Option<
        unsafe extern "C" fn(
            ctx: *mut WorkerCtx,
            dest_id: u64,
            urom_context: u64,
            text: *const c_char,
            len: usize,
        ),
    >,
    /// See [`OpenMemoryFn`].
    pub open_memory: Option<OpenMemoryFn>,
    /// See [`RunMemoryFn`].
    pub run_memory: Option<RunMemoryFn>,
    /// See [`KeepMemoryFn`].
    pub keep_memory: Option<KeepMemoryFn>,
    /// See [`CloseMemoryFn`].
    pub close_memory: Option<CloseMemoryFn>,
    /// Says, inside `progress`, that the plugin moved something that is no answer, such as a
    /// message of a peer of its own: the worker goes on polling it without a pause, as it does
    /// while there are commands.
    pub moved: Option<unsafe extern "C" fn(ctx: *mut WorkerCtx)>,
}

/// Opens `len` bytes of memory that the host of a connection shares, `offset` bytes behind its
/// beginning. `NOT_FOUND` for memory that this host does not share with this worker,
/// `INVALID_VALUE` for bytes that are not all in it. Whatever was opened is closed before `close`
/// returns.
pub type OpenMemoryFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    memory: u64,
    offset: u64,
    len: u64,
    opened: *mut HostMemory,
) -> DocaError;

/// Runs an operation on open memory. `IN_PROGRESS` when its `done` will be called; with any other
/// code, also its `status`, it has ended. `INVALID_VALUE` for bytes that are not all in it or not
/// aligned, `NOT_PERMITTED` when the host does not allow it, `NOT_SUPPORTED` when this path has no
/// such operation, `IO_FAILED` when the host's memory is not there, `CONNECTION_RESET` when the
/// host is gone. Reads and writes of memory that is not reached over the network end in the call.
pub type RunMemoryFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    handle: *mut c_void,
    operation: *mut MemoryOperation,
) -> DocaError;

/// Opens open memory once more, under the same handle.
pub type KeepMemoryFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, handle: *mut c_void);

/// Closes open memory, once for each time that it was opened. Operations on it that have not ended
/// go on and end.
pub type CloseMemoryFn = unsafe extern "C" fn(ctx: *mut WorkerCtx, handle: *mut c_void);

// SAFETY: words throughout, which may all be zero.
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

// SAFETY: words throughout, which may all be zero.
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
    };
}

assert_layout!(PluginExtension, 48, align 8, {
    size @ 0, attach @ 8, call @ 16, cancel @ 24, host_left @ 32, arm @ 40,
});
assert_layout!(CommandCall, 80, align 8, {
    size @ 0, dest_id @ 8, plugin_id @ 16, urom_context @ 24, command @ 32, command_len @ 40,
    answer @ 48, answer_room @ 56, answer_len @ 64, status @ 72, reserved @ 76,
});
assert_layout!(WorkerServices, 104, align 8, {
    size @ 0, worker_id @ 8, group_id @ 16, message_limit @ 24, log @ 32,
    connection_limit @ 40, deadline @ 48, explain @ 56, open_memory @ 64, run_memory @ 72,
    keep_memory @ 80, close_memory @ 88, moved @ 96,
});

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn host_left(_: *mut WorkerCtx, _: u64) {}

    /// The table of a plugin of any release: a size and words.
    fn read(words: &[usize]) -> PluginExtension {
        // SAFETY: words of zeros and one function, and a size that the slice has.
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
