//! The boundary to C: no panic crosses it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use urom_abi::{DocaError, DocaStatus};
use urom_os::panics;

/// Runs a call that returns a status; a panic is logged and becomes `UNEXPECTED`.
#[track_caller]
#[inline]
pub fn guard(call: impl FnOnce() -> Result<(), DocaError>) -> DocaStatus {
    guard_or(DocaStatus::UNEXPECTED, || call().into())
}

/// Runs a call with another result; a panic is logged and becomes `otherwise`.
#[track_caller]
#[inline]
pub fn guard_or<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    let location = Location::caller();
    // A panic may interrupt updates only of cells whose every value is valid.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        discard(location, panic);
        otherwise
    })
}

/// Logs a panic and drops its payload. Both run the program's code, which may panic again.
#[cold]
fn discard(location: &Location<'_>, panic: Box<dyn Any + Send>) {
    let reported = catch_unwind(AssertUnwindSafe(|| report(location, &*panic)));
    if let Err(second) = reported {
        panics::discard(second);
    }
    panics::discard(panic);
}

fn report(location: &Location<'_>, panic: &(dyn Any + Send)) {
    let text = panics::text(panic).unwrap_or("a panic without text");
    tracing::error!(target: "urom_library", "a function that C calls ({location}) panicked: {text}; please report it");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(guard(|| panic!("on purpose")), DocaError::UNEXPECTED);
        assert_eq!(guard_or(7, || std::panic::panic_any(3)), 7);
    }

    #[test]
    fn results_pass() {
        assert_eq!(guard(|| Ok(())), DocaStatus::SUCCESS);
        assert_eq!(guard(|| Err(DocaError::FULL)), DocaError::FULL);
    }
}
