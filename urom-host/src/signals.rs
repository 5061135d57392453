//! Threads that leave signals to the program's own.

use std::mem::MaybeUninit;

/// Runs `spawn` with every signal blocked on this thread: a thread it starts inherits that, and signals keep going to
/// the threads of the program, which may have arranged for them.
pub(crate) fn blocked<T>(spawn: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is a local variable; the call fills it.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the first set is filled; the second is a local variable that the call fills.
    let masked = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    let result = spawn();
    if masked == 0 {
        // SAFETY: the set was filled by the call that gave 0.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
    result
}
