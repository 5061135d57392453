//! `SIGHUP`: reloads the daemon, or stops daemon and workers in order if it comes from a terminal
//! that is closed; ignored if it was ignored at the start (`nohup`). UCX installs its handler before
//! `main`, so the inherited handler must be read earlier.

use std::io::IsTerminal;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::Signal;

static IGNORED: AtomicBool = AtomicBool::new(false);

/// Names the signals on which UCX starts its debugger.
const DEBUG_VARIABLE: &str = "UCX_DEBUG_SIGNO";

/// Makes a program remember whether `SIGHUP` was ignored when it started.
///
/// For executables that call `uromd::main_of`: only an executable can have a `.preinit_array`.
#[macro_export]
macro_rules! remember_hangup {
    () => {
        #[used]
        // SAFETY: the section holds functions of this type, which may run before any constructor.
        #[unsafe(link_section = ".preinit_array")]
        static REMEMBER_HANGUP: extern "C" fn() = $crate::remember_hangup_now;
    };
}

#[doc(hidden)]
pub extern "C" fn remember_hangup_now() {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no handler is set, and `now` is large enough for the result.
    let told = unsafe { libc::sigaction(libc::SIGHUP, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: `now` is zeroed, and all zeros is a valid value.
    let now = unsafe { now.assume_init() };
    IGNORED.store(told == 0 && now.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
}

/// Returns whether this program receives `SIGHUP`. If the signal was ignored at the start,
/// this process and its children ignore it from here on. UCX's debugger also uses the signal.
pub(crate) fn is_received() -> bool {
    if std::env::var_os(DEBUG_VARIABLE).is_some() {
        return false;
    }
    let is_ignored = IGNORED.load(Ordering::Relaxed);
    if is_ignored {
        // SAFETY: no handler is set; UCX's handler is removed, which UCX does not need.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
    !is_ignored
}

/// Returns whether `SIGHUP` ends a daemon: a terminal sends it when it is closed.
pub(crate) fn ends_the_daemon() -> bool {
    std::io::stdin().is_terminal()
}

pub(crate) async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
