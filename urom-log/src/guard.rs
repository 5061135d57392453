//! The border to C: no panic crosses it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use urom_abi::DocaError;

/// Runs a call that ends with a code; a panic is logged and becomes `UNEXPECTED`.
#[track_caller]
#[inline]
pub fn guard(call: impl FnOnce() -> Result<(), DocaError>) -> DocaError {
    guard_or(DocaError::UNEXPECTED, || DocaError::of(call()))
}

/// Runs a call that ends with something else; a panic is logged and becomes `otherwise`.
#[track_caller]
#[inline]
pub fn guard_or<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    let place = Location::caller();
    // What a panic may leave half done is behind cells whose every value is valid.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        discard(place, panic);
        otherwise
    })
}

/// Logs a panic and drops what it carries. Both run the program's code, which may panic in turn:
/// what that panic carries is leaked.
#[cold]
fn discard(place: &Location<'_>, panic: Box<dyn Any + Send>) {
    let discarded = catch_unwind(AssertUnwindSafe(|| {
        report(place, &*panic);
        drop(panic);
    }));
    std::mem::forget(discarded);
}

fn report(place: &Location<'_>, panic: &(dyn Any + Send)) {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without text");
    tracing::error!(target: "urom_library", "a function that C calls ({place}) panicked: {text}; please report it");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(guard(|| panic!("on purpose")), DocaError::UNEXPECTED);
        assert_eq!(guard_or(7, || std::panic::panic_any(3)), 7);
    }

    struct Grenade;

    impl Drop for Grenade {
        fn drop(&mut self) {
            std::panic::panic_any(Grenade);
        }
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        assert_eq!(guard_or(7, || std::panic::panic_any(Grenade)), 7);
    }

    #[test]
    fn results_pass() {
        assert_eq!(guard(|| Ok(())), DocaError::SUCCESS);
        assert_eq!(guard(|| Err(DocaError::FULL)), DocaError::FULL);
    }
}
