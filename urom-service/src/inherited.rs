//! Signals that a program's parent ignored or blocked, which the program has to hear of all the
//! same.

use std::mem::MaybeUninit;
use std::ptr;

/// Has this thread, and those that it starts, hear of the ends of children and of the signals that
/// end a program in order.
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
