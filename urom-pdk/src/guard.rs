//! Guards of the functions that C calls: they catch every panic and log it once, with its location.
//! The panic hook prints nothing for guarded panics.

mod backtrace;

use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Instant;

use urom_abi::log::Level;

use crate::lines::LineWindow;
use crate::log;
use crate::panic::{self, KeepOutcome, Panic, contain};

#[inline]
pub(crate) fn catch<R>(label: &str, body: impl FnOnce() -> R) -> Option<R> {
    contain(body).map_err(|panic| report(label, &panic)).ok()
}

/// Runs the body of a function that C calls. A panic is logged and becomes `on_panic`. Every
/// `extern "C"` function that could panic only calls this or [`GuardedCalls::guard`].
pub(crate) fn guard<R>(label: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    let before = GUARDED.replace(true);
    let result = catch(label, body).unwrap_or(on_panic);
    GUARDED.set(before);
    result
}

/// The calls of one open plugin. Its [`guard`] avoids a costly thread-local access.
#[derive(Debug)]
pub(crate) struct GuardedCalls(Arc<AtomicBool>);

impl GuardedCalls {
    pub(crate) fn of_this_thread() -> GuardedCalls {
        let runs = Arc::new(AtomicBool::new(false));
        // A thread that ends opens no plugin.
        let _ = OPEN.try_with(|open| open.borrow_mut().push(Arc::clone(&runs)));
        GuardedCalls(runs)
    }

    #[inline]
    pub(crate) fn guard<R>(&self, label: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
        self.0.store(true, Ordering::Relaxed);
        let result = catch(label, body).unwrap_or(on_panic);
        self.0.store(false, Ordering::Relaxed);
        result
    }
}

impl Drop for GuardedCalls {
    fn drop(&mut self) {
        let _ = OPEN.try_with(|open| open.borrow_mut().retain(|runs| !Arc::ptr_eq(runs, &self.0)));
    }
}

fn is_guarded() -> bool {
    let in_calls = |open: &RefCell<Vec<Arc<AtomicBool>>>| {
        open.try_borrow().is_ok_and(|open| open.iter().any(|runs| runs.load(Ordering::Relaxed)))
    };
    GUARDED.try_with(Cell::get).unwrap_or(false) || OPEN.try_with(in_calls).unwrap_or(false)
}

/// Logs a panic that only ended the work named `label`, up to a limit for each thread.
#[cold]
#[inline(never)]
pub(crate) fn report(label: &str, panic: &Panic) {
    let unlogged = PANICS.with_borrow_mut(|window| {
        let now = Instant::now();
        window.get_or_insert_with(|| LineWindow::new(now)).note(now)
    });
    if let Some(unlogged) = unlogged {
        log::failure(Level::Error, panic.location(), format_args!("{label} {panic}{unlogged}"));
        log_backtrace(panic, None);
    }
}

thread_local! {
    static PANICS: RefCell<Option<LineWindow>> = const { RefCell::new(None) };
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static OPEN: RefCell<Vec<Arc<AtomicBool>>> = const { RefCell::new(Vec::new()) };
}

/// Logs the plugin's functions in a `RUST_BACKTRACE`. The outermost is `method`, if known.
pub(crate) fn log_backtrace(panic: &Panic, method: Option<&str>) {
    let printed = panic.backtrace().unwrap_or_default();
    for frame in backtrace::of_plugin(&printed, method) {
        log::failure(Level::Error, None, format_args!("  in {frame}"));
    }
}

/// Keeps Rust's hook from printing guarded panics. Other panics go to the previous hook.
pub(crate) fn install_hook() {
    static ONCE: Once = Once::new();
    // Without unwinding the process ends, and the hook's line is its last output.
    if cfg!(panic = "abort") {
        return;
    }
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_guarded() || !keep(info) {
                before(info);
            }
        }));
    });
}

/// Returns false if the panic must be printed, perhaps as the process's last.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    match panic::keep(info) {
        KeepOutcome::Kept => true,
        // The earlier panic is uncaught: this one is from a destructor during unwinding, which ends
        // the process. Or the handler caught the earlier one, and an extra line is harmless.
        KeepOutcome::Replaced(earlier) => {
            log::failure(Level::Error, earlier.location(), format_args!("{earlier}"));
            log_backtrace(&earlier, None);
            false
        }
        KeepOutcome::NotKept => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;

    struct Grenade;

    impl Drop for Grenade {
        fn drop(&mut self) {
            panic!("while the payload is dropped");
        }
    }

    #[test]
    fn a_value_passes_and_a_panic_becomes_the_given_one() {
        assert_eq!(guard("it", 1, || 2), 2);
        assert_eq!(guard("it", 1, || panic!("as the test asks")), 1);
        assert_eq!(guard("it", 1, || panic!("as the test asks: {}", 7)), 1);
        assert_eq!(catch::<()>("it", || panic_any(7u8)), None);
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        assert_eq!(catch::<()>("it", || panic_any(Grenade)), None);
    }
}
