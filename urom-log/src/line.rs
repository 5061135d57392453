//! Text and levels of `tracing` events.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata};
use urom_abi::log::Level;
pub use urom_abi::log_line::Origin;

/// Returns the origin of a `tracing` event.
pub fn origin_of<'a>(metadata: &Metadata<'a>) -> Origin<'a> {
    let level = level_of(metadata);
    let (file, line) = (metadata.file().unwrap_or("?"), metadata.line().unwrap_or(0));
    Origin { level, file, line, function: None }
}

/// Returns the level of a `tracing` event; `tracing` lacks a level for fatal errors.
pub fn level_of(metadata: &Metadata<'_>) -> Level {
    Level::from_crates(metadata.level().as_str())
}

/// Returns the `tracing` filter that passes events up to `level`.
pub fn filter_of(level: Level) -> LevelFilter {
    match level {
        Level::Crit => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warning => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

/// Returns the text of a `tracing` event: the message, then other fields as `name=value`.
pub fn text_of(event: &Event<'_>) -> String {
    struct EventFields(String);

    impl Visit for EventFields {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            let _ = if field.name() == "message" {
                write!(self.0, "{value:?}")
            } else {
                write!(self.0, " {}={value:?}", field.name())
            };
        }
    }

    let mut fields = EventFields(String::new());
    event.record(&mut fields);
    fields.0
}
