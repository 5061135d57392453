//! `SIGHUP`: ends daemon and workers in order, unless it was ignored when the program was started,
//! as by `nohup`.
//!
//! UCX installs its own handler while it is loaded, before `main`, so the inherited one must be
//! read earlier.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::Signal;

static IGNORED: AtomicBool = AtomicBool::new(false);

/// UCX takes the signal for a wish to be debugged where this names it.
const DEBUG_VARIABLE: &str = "UCX_DEBUG_SIGNO";

/// Makes a program remember whether `SIGHUP` was ignored when it started.
///
/// For executables that call `uromd::main_of`: they alone may have what runs
/// before all libraries.
#[macro_export]
macro_rules! remember_hangup {
    () => {
        #[used]
        // SAFETY: the section holds such functions, and this one may be called before any
        // constructor.
        #[unsafe(link_section = ".preinit_array")]
        static REMEMBER_HANGUP: extern "C" fn() = $crate::remember_hangup_now;
    };
}

#[doc(hidden)]
pub extern "C" fn remember_hangup_now() {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed, and there is room for what is told.
    let told = unsafe { libc::sigaction(libc::SIGHUP, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: all zero is a valid value, whether it was written or not.
    let now = unsafe { now.assume_init() };
    IGNORED.store(told == 0 && now.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
}

/// Whether this program ends in order at `SIGHUP`. Not if the signal was ignored when it started:
/// then it and the processes that it starts ignore it from here on. Nor with UCX's debugger, which
/// uses the signal.
pub(crate) fn ends_the_program() -> bool {
    if std::env::var_os(DEBUG_VARIABLE).is_some() {
        return false;
    }
    let is_ignored = IGNORED.load(Ordering::Relaxed);
    if is_ignored {
        // SAFETY: no handler is set, and the one that goes is UCX's, which needs it for nothing.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
    !is_ignored
}

pub(crate) async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
