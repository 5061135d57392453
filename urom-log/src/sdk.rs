//! A library's `tracing` events, in a C host program, go to the SDK backends.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber, dispatcher};
use urom_abi::log::Level;

use crate::Output;
use crate::backend::{BACKENDS, BackendKind};
pub use crate::changes::limits_changed;
use crate::line::{Origin, filter_of, level_of, origin_of, text_of};

/// The SDK backends of this copy of the crate.
#[derive(Debug, Clone, Copy)]
pub struct SdkBackends;

impl Output for SdkBackends {
    fn wants(&self, level: Level) -> bool {
        BACKENDS.takers(BackendKind::Sdk, level).next().is_some()
    }

    fn write(&self, origin: &Origin<'_>, text: &str) {
        crate::call::write(BackendKind::Sdk, origin, text);
    }
}

/// Makes `output` the subscriber of this copy of `tracing`, unless it already has one.
pub fn install(output: &'static dyn Output) {
    let _ = dispatcher::set_global_default(Dispatch::new(EventSubscriber(output)));
}

/// Returns whether [`install`] made `current`.
pub fn is_log_of(current: &Dispatch) -> bool {
    current.is::<EventSubscriber>()
}

struct EventSubscriber(&'static dyn Output);

impl Subscriber for EventSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && self.0.wants(level_of(metadata))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let most = Level::ALL.into_iter().rev().find(|level| self.0.wants(*level));
        Some(most.map_or(LevelFilter::OFF, filter_of))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        // An event does not contain its function, so the module is used.
        let origin =
            Origin { function: event.metadata().module_path(), ..origin_of(event.metadata()) };
        self.0.write(&origin, &text_of(event));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
