//! The payload of a caught panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text of a panic, if it carries one.
#[must_use]
pub fn text(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Drops what a panic carries. The drop runs the program's code, which may panic in turn: after a
/// few such panics the rest is leaked.
pub fn discard(mut payload: Box<dyn Any + Send>) {
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

    struct Grenade;

    impl Drop for Grenade {
        fn drop(&mut self) {
            std::panic::panic_any(Grenade);
        }
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        discard(Box::new(Grenade));
    }

    #[test]
    fn texts_of_both_kinds_are_read() {
        assert_eq!(text(&"literal"), Some("literal"));
        assert_eq!(text(&"formatted".to_owned()), Some("formatted"));
        assert_eq!(text(&7), None);
    }
}
