//! DOCA core functions outside the tables: task release, error texts, version.

use std::ffi::c_char;

use urom_abi::DocaStatus;
use urom_abi::host::Task;
use urom_abi::version::C_RELEASE;
use urom_log::guard_or;

/// Releases a task of any kind, also inside its callback. Logs an error for a task in flight.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn doca_task_free(task: *mut Task) {
    // SAFETY: the caller's task, or NULL.
    if let Err(code) = unsafe { libdoca_host::task_release(task) }.check() {
        guard_or((), || {
            tracing::error!(target: "urom_library", "doca_task_free: the task at {task:p} is not freed: {code}");
        });
    }
}

/// Returns the name of a code, such as `DOCA_ERROR_NOT_FOUND`. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_name(error: DocaStatus) -> *const c_char {
    error.c_name().as_ptr()
}

/// Returns the meaning of a code. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_descr(error: DocaStatus) -> *const c_char {
    error.c_description().as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_version_runtime() -> *const c_char {
    C_RELEASE.as_ptr()
}
