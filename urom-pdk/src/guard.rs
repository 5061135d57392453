//! Panics stop here: none crosses into C, and none takes another command with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::log;

/// Runs `body`; a panic is logged under `label` and becomes `None`.
///
/// What `body` borrows may be left half-changed: callers discard it (a future that panicked is dropped, never polled).
/// On the way without a panic this costs nothing, so commands may pass through it.
#[inline]
pub(crate) fn catch<R>(label: &str, body: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => Some(result),
        Err(payload) => {
            caught(label, payload);
            None
        }
    }
}

/// Runs the body of a function that C calls; a panic is logged under `label` and becomes `on_panic`.
///
/// Every `extern "C"` function is nothing but a call of this. Should an unwind escape all the same, Rust aborts the
/// process at the `extern "C"` edge.
#[inline]
pub(crate) fn guard<R>(label: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    catch(label, body).unwrap_or(on_panic)
}

/// Everything about a panic that does not depend on where it was caught.
#[cold]
#[inline(never)]
fn caught(label: &str, payload: Box<dyn Any + Send>) {
    let text = if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a value that is no text"
    };
    log::error(format_args!("{label} panicked: {text}"));
    discard(payload);
}

/// Drops what a panic carried, which is foreign code and may panic in turn, and so on: in the end it is leaked.
pub(crate) fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..4 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
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
