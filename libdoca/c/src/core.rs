//! Functions of DOCA's core outside the tables: the end of tasks, the texts of errors, the release.

use std::ffi::c_char;

use urom_abi::DocaError;
use urom_abi::host::Task;
use urom_abi::version::C_RELEASE;
use urom_log::guard_or;

/// Releases a task of any kind, also inside its callback. A task in flight stays, with a line in
/// the log.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn doca_task_free(task: *mut Task) {
    // SAFETY: the caller's task, or NULL.
    if let Err(code) = unsafe { libdoca_host::task_release(task) }.check() {
        guard_or((), || {
            tracing::error!(target: "urom_library", "doca_task_free: the task at {task:p} is not freed: {code}");
        });
    }
}

/// The name of a code, such as `DOCA_ERROR_NOT_FOUND`; `DOCA_ERROR_UNRECOGNIZED` for an unlisted
/// code. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_name(error: DocaError) -> *const c_char {
    error.c_name().as_ptr()
}

/// The meaning of a code; `unrecognized error code` for an unlisted code. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_descr(error: DocaError) -> *const c_char {
    error.c_description().as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_version_runtime() -> *const c_char {
    C_RELEASE.as_ptr()
}
