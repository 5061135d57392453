//! Tells `tracing` that the levels changed: it caches for each place whether its events are wanted.

use tracing::callsite;

/// Events that nobody wants are skipped where they stand. Call this after `output` came to want
/// others than before.
pub fn limits_changed() {
    callsite::rebuild_interest_cache();
}
