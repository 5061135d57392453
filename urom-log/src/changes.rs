//! Notifies `tracing` of changed levels: it caches for each callsite whether events are enabled.

use tracing::callsite;

/// Rebuilds the callsite cache. Call this after the levels of `output` changed.
pub fn limits_changed() {
    callsite::rebuild_interest_cache();
}
