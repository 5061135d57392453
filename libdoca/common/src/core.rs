//! DOCA's core functions: each goes to the same function of `libdoca_urom`, which documents and
//! guards it. Without a `libdoca_urom` in the process there is no object that anybody could mean.
//!
//! Behind them are the end of tasks, the texts of errors, and the release.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use urom_abi::DocaError;
use urom_abi::host::join::OfUrom;
use urom_abi::host::{
    Buf, BufInventory, BufPool, Ctx, CtxState, Data, Dev, DevInfo, Dpa, FreeCallback, Graph,
    GraphCallback, GraphInstance, GraphNode, Mmap, MmapAdvise, MmapAdviseTaskInvalidateCache, Pe,
    StateChangedCallback, SyncEvent, SyncEventRemoteNet, SyncEventTaskGet, SyncEventTaskNotifyAdd,
    SyncEventTaskNotifySet, SyncEventTaskWaitEq, SyncEventTaskWaitNeq, Task, TaskCallback,
    UserNodeCallback,
};
use urom_abi::version::C_RELEASE;
use urom_log::guard_or;

use crate::join::{self, joined};

/// What a function returns that does nothing.
trait Refusal: Sized {
    /// It was given no object of this library's.
    const REFUSAL: Self;
    /// There is no `libdoca_urom` to make one.
    const NO_UROM: Self = Self::REFUSAL;
}

impl Refusal for DocaError {
    const REFUSAL: Self = DocaError::INVALID_VALUE;
    const NO_UROM: Self = DocaError::INITIALIZATION;
}

impl Refusal for () {
    const REFUSAL: Self = ();
}

impl Refusal for u8 {
    const REFUSAL: Self = 0;
}

impl Refusal for u64 {
    const REFUSAL: Self = 0;
}

impl Refusal for Data {
    const REFUSAL: Self = Data { u64: 0 };
}

impl<T> Refusal for *mut T {
    const REFUSAL: Self = ptr::null_mut();
}

/// Those that make the first object of a program. They load `libdoca_urom` for one that is not
/// linked with it.
const FIRST: [&str; 5] = [
    "doca_pe_create",
    "doca_devinfo_create_list",
    "doca_mmap_create",
    "doca_buf_inventory_create",
    "doca_sync_event_create",
];

macro_rules! export {
    ($table:ident: $($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
                let Some(urom) = joined() else {
                    return without_urom(stringify!($name), |urom| {
                        // SAFETY: the caller's promises are the same.
                        unsafe { (urom.$table.$name)($($arg),*) }
                    });
                };
                // SAFETY: the caller's promises are the same.
                unsafe { (urom.$table.$name)($($arg),*) }
            }
        )*
    };
}

/// What a function does in a process that has no `libdoca_urom` yet.
#[cold]
fn without_urom<T: Refusal>(name: &str, call: impl FnOnce(&OfUrom) -> T) -> T {
    guard_or(T::NO_UROM, || match FIRST.contains(&name) {
        true => join::load(name).map_or(T::NO_UROM, call),
        false => T::REFUSAL,
    })
}

macro_rules! functions {
    (urom { $($urom:tt)* } core { $($core:tt)* }) => { export!(api: $($core)*); };
}

macro_rules! memory {
    ($($list:tt)*) => { export!(memory: $($list)*); };
}

urom_abi::host_functions!(functions);
urom_abi::host_memory!(memory);

/// Releases a task of any kind, also inside its callback. One that is in flight stays, and a log
/// line says so.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn doca_task_free(task: *mut Task) {
    // SAFETY: the caller's task, or NULL.
    let release = |urom: &OfUrom| unsafe { (urom.task_release)(task) };
    if let Err(code) = joined().map_or(DocaError::INVALID_VALUE, release).check() {
        guard_or((), || {
            tracing::error!(target: "urom_library", "doca_task_free: the task at {task:p} is not freed: {code}");
        });
    }
}

/// The name of a code, such as `DOCA_ERROR_NOT_FOUND`; `DOCA_ERROR_UNRECOGNIZED` for one that DOCA
/// does not list. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_name(error: DocaError) -> *const c_char {
    error.c_name().as_ptr()
}

/// What a code means; `unrecognized error code` for one that DOCA does not list. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_descr(error: DocaError) -> *const c_char {
    error.c_description().as_ptr()
}

/// The release of this library. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_version_runtime() -> *const c_char {
    C_RELEASE.as_ptr()
}
