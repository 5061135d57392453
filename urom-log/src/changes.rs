//! Tells `tracing` and the other libraries of the process that the levels changed: `tracing` caches
//! for each place whether its events are wanted.

use std::sync::OnceLock;

use tracing::callsite;

/// Events that nobody wants are skipped where they stand. Call this after `output` came to want
/// others than before.
pub fn limits_changed() {
    callsite::rebuild_interest_cache();
}

static ALSO: OnceLock<extern "C" fn()> = OnceLock::new();

/// Calls `changed` too when the limits of the SDK backends change. The first call wins.
pub fn also_tell(changed: extern "C" fn()) {
    let _ = ALSO.set(changed);
}

pub(crate) fn tell_all() {
    limits_changed();
    if let Some(changed) = ALSO.get() {
        changed();
    }
}
