//! What the library itself has to say, in a host program with `libdoca_urom.so`: its `tracing` events go to the SDK
//! backends.
//!
//! A Rust host that has this crate built in has a subscriber of its own, and none of this.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber, callsite, dispatcher};
use urom_abi::log::Level;

use super::backend::{BACKENDS, Kind};
use crate::log::{LogLevel, Origin, level_of, text_of};

/// Makes the SDK backends the log of all events in this copy of the library. A subscriber that is there already stays.
pub fn install() {
    let _ = dispatcher::set_global_default(Dispatch::new(ToBackends));
}

/// Whether events go to the SDK backends.
pub(crate) fn is_to_backends(current: &Dispatch) -> bool {
    current.is::<ToBackends>()
}

/// Events that nobody wants are skipped where they stand, so `tracing` has to ask again when that changes.
pub(super) fn limits_changed() {
    callsite::rebuild_interest_cache();
}

struct ToBackends;

fn wanted(level: Level) -> bool {
    BACKENDS.takers(Kind::Sdk, level).next().is_some()
}

impl Subscriber for ToBackends {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && wanted(level_of(metadata))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let most = Level::ALL.into_iter().rev().find(|level| wanted(*level));
        Some(most.map_or(LogLevel::DISABLE, LogLevel::of).filter())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        // An event has no function; the module says as much.
        let origin = Origin { function: event.metadata().module_path(), ..Origin::of(event.metadata()) };
        super::call::write(Kind::Sdk, &origin, &text_of(event));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
