//! What these tests share: plugins compiled from C, a `uromd` of one's own, and a raw client that speaks the service's
//! private protocol directly.

pub(crate) mod client;
pub(crate) mod link;
pub(crate) mod plugins;
#[path = "../../sanitized/mod.rs"]
pub(crate) mod sanitized;
pub(crate) mod uromd;

use std::time::Duration;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
