//! Signals: a program unblocks inherited ones, and a library's threads leave the process's signals
//! to the program's own threads.
//!
//! A program arranges handlers and `sigwait` for its own threads. A signal to the process may go to
//! any thread that does not block it, so every thread of a library blocks it: [`blocked`] starts
//! such threads, which pass the mask on to their own.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread::{Builder, JoinHandle};

/// Signals that a thread causes itself. They must reach the thread, so that a crash report or a
/// sanitizer sees the address, and a profiler the time.
const OF_A_THREAD: [libc::c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGPROF,
];

/// Makes this thread and its later threads receive `SIGCHLD` and the signals that end a program. A
/// program inherits ignored and blocked signals from its parent, and then could not wait for its
/// children, or `SIGTERM` would not end it. Call it before other threads run.
pub fn receive_ends() {
    // SAFETY: no handler is set. By default the signal does nothing.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the call fills the set, a local variable.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: the set is filled.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: the set is filled, and nothing is written.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut()) };
}

/// Runs `start` with the signals of the process blocked on this thread; threads that it starts
/// inherit the mask. It leaves out signals that a thread causes itself, such as `SIGSEGV`.
pub fn blocked<T>(start: impl FnOnce() -> T) -> T {
    let _restored = Restore(block());
    start()
}

/// Starts a thread by [`blocked`].
///
/// # Errors
/// [`no_thread`].
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    blocked(|| Builder::new().name(name.to_owned()).spawn(work)).map_err(no_thread)
}

/// The error for a thread that cannot be started, with the limit that is the usual reason.
pub fn no_thread(error: io::Error) -> io::Error {
    let text = format!(
        "there can be no more threads: {error}; see the limit (`ulimit -u`, TasksMax=, `--pids-limit` of a container)"
    );
    io::Error::new(error.kind(), text)
}

/// The thread's mask from before; `None` when it could not be changed.
struct Restore(Option<libc::sigset_t>);

impl Drop for Restore {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: a mask that this thread had; nothing else is written.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
        }
    }
}

fn block() -> Option<libc::sigset_t> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the call fills the set, a local variable.
    unsafe { libc::sigfillset(set.as_mut_ptr()) };
    for signal in OF_A_THREAD {
        // SAFETY: the set is filled.
        unsafe { libc::sigdelset(set.as_mut_ptr(), signal) };
    }
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the first set is filled; the call fills the second, a local variable.
    let failed =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: filled by the call that gave 0.
    (failed == 0).then(|| unsafe { before.assume_init() })
}

#[cfg(test)]
// Miri cannot block signals.
#[cfg(not(miri))]
mod tests {
    use super::*;

    fn is_blocked(signal: libc::c_int) -> bool {
        let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: asks only; the call fills the set.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr()) };
        // SAFETY: the set is filled.
        unsafe { libc::sigismember(mask.as_ptr(), signal) == 1 }
    }

    #[test]
    fn a_thread_started_inside_leaves_the_signals_of_the_process_alone() {
        let seen = || [libc::SIGINT, libc::SIGUSR1, libc::SIGSEGV, libc::SIGPROF].map(is_blocked);
        let threads = [blocked(|| std::thread::spawn(seen)), spawn("test", seen).unwrap()];
        for thread in threads {
            assert_eq!(thread.join().unwrap(), [true, true, false, false]);
        }
    }

    #[test]
    fn the_mask_is_what_it_was_afterwards_and_after_a_panic_too() {
        assert!(!is_blocked(libc::SIGINT));
        blocked(|| blocked(|| assert!(is_blocked(libc::SIGINT))));
        assert!(!is_blocked(libc::SIGINT));
        std::panic::catch_unwind(|| blocked(|| panic!("on purpose"))).unwrap_err();
        assert!(!is_blocked(libc::SIGINT));
    }
}
