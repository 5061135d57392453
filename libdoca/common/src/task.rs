//! What only C programs do with tasks: `doca_task_try_submit`, `doca_task_free`.

use urom_abi::DocaError;
use urom_abi::host::Task;
use urom_log::guard_or;

use crate::join::joined;

/// As `doca_task_submit`, which leaves no check out.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn doca_task_try_submit(task: *mut Task) -> DocaError {
    let Some(urom) = joined() else { return DocaError::INVALID_VALUE };
    // SAFETY: the caller's promises are the same.
    unsafe { (urom.api.doca_task_submit)(task) }
}

/// Releases a task of any kind, also inside its callback. One that is in flight stays, and a log
/// line says so.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn doca_task_free(task: *mut Task) {
    let mut code = DocaError::INVALID_VALUE;
    if let Some(urom) = joined() {
        // SAFETY: the caller's task, or NULL; a task of another kind is `INVALID_VALUE` and stays
        // as it is.
        code = unsafe { (urom.api.doca_urom_worker_cmd_task_release)(task.cast()) };
        if code == DocaError::INVALID_VALUE {
            // SAFETY: as above; it is not released yet.
            code = unsafe {
                (urom.api.doca_urom_service_get_workers_by_gid_task_release)(task.cast())
            };
        }
    }
    if let Err(code) = code.check() {
        guard_or((), || {
            tracing::error!(target: "urom_library", "doca_task_free: the task at {task:p} is not freed: {code}");
        });
    }
}
