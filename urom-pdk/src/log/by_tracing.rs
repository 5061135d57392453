//! Events of the crate `tracing` in the plugin's code. Spans are not shown.

use std::fmt::{self, Write};

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, Metadata, Subscriber, dispatcher};
use urom_abi::log::Level;

use crate::panic::Place;

/// Makes the plugin's log the subscriber of this library.
pub(super) fn install() {
    // A test may have one of its own.
    let _ = dispatcher::set_global_default(Dispatch::new(ToWorker));
}

struct ToWorker;

fn level_of(metadata: &Metadata<'_>) -> Level {
    Level::from_crates(metadata.level().as_str())
}

impl Subscriber for ToWorker {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // The worker's limit may change, so it is asked for each event.
        if metadata.is_event() { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && super::wants(level_of(metadata))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let at = metadata.file().zip(metadata.line()).map(|(file, line)| Place { file, line });
        super::write(level_of(metadata), at, metadata.target(), format_args!("{}", Fields(event)));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn current_span(&self) -> Current {
        Current::none()
    }
}

/// An event's message, and ` name=value` of each other field behind it.
struct Fields<'a>(&'a Event<'a>);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[derive(Default)]
        struct Texts {
            message: String,
            others: String,
        }

        impl Visit for Texts {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                // Writing to a string cannot fail.
                let _ = if field.name() == "message" {
                    write!(self.message, "{value:?}")
                } else {
                    write!(self.others, " {}={value:?}", field.name())
                };
            }
        }

        let mut texts = Texts::default();
        self.0.record(&mut texts);
        let Texts { message, others } = texts;
        f.write_str(format!("{message}{others}").trim_start())
    }
}
