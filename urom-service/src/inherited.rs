//! What a program inherits from its parent: signals that the parent ignored or blocked, and
//! descriptors that it left open.

use std::mem::MaybeUninit;
use std::ptr;

/// Makes this thread, and those that it starts, receive the signals for ended children and those
/// that end a program in order.
///
/// Programs inherit what their parent ignores and blocks. One that ignores `SIGCHLD` cannot wait
/// for its children, and one that blocks `SIGTERM` is not ended by it. Call it before other threads
/// run.
#[doc(hidden)]
pub fn hear_signals() {
    // SAFETY: no handler is set. By default the signal does nothing.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the call fills the set, a local variable.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: the set is filled.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: the set is filled, and nothing is written. It fails for no set that is one.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut()) };
}

/// Keeps the descriptors that this process has open, except the standard streams, from the programs
/// that it starts.
///
/// Service managers, shells and test harnesses leave descriptors open. Plugins could use them.
pub(crate) fn close_at_exec() {
    // Kernels before 5.11 have no call for all of them.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: the call changes a flag of a descriptor, and no memory. One that is closed by now
        // gives an error.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
