//! Lines of the crates `log` and `tracing`, whose events become `log` records.

use std::fmt;

use log::kv::{Error, Key, Value, VisitSource};
use log::{LevelFilter, Metadata, Record};
use urom_abi::log::Level;

use crate::panic::CodeLocation;
use crate::trace;

/// The target of tracing's lines `-> NAME;` and `<- NAME;` for a span that is entered or left.
const SPANS: &str = "tracing::span::active";

pub(super) fn install() {
    if log::set_logger(&WorkerLogger).is_ok() {
        // The worker's limit may change, so it is checked for each line.
        log::set_max_level(LevelFilter::Trace);
    }
}

struct WorkerLogger;

fn level_of(metadata: &Metadata<'_>) -> Level {
    Level::from_crates(metadata.level().as_str())
}

impl log::Log for WorkerLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match metadata.target() {
            SPANS => trace::is_running(),
            _ => super::wants(level_of(metadata)),
        }
    }

    fn log(&self, record: &Record<'_>) {
        // tracing's own lines for spans.
        if record.target().starts_with("tracing::span") {
            if record.target() == SPANS {
                trace::on_line(*record.args());
            }
            return;
        }
        let at = record.file().zip(record.line()).map(|(file, line)| CodeLocation { file, line });
        let text = format_args!("{}{}", record.args(), RecordFields(record));
        super::write(level_of(record.metadata()), at, record.target(), text);
    }

    fn flush(&self) {}
}

/// The key-value pairs of a line: each as ` name=value`.
struct RecordFields<'a>(&'a Record<'a>);

impl fmt::Display for RecordFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Pairs<'f, 'g>(&'f mut fmt::Formatter<'g>);

        impl<'kvs> VisitSource<'kvs> for Pairs<'_, '_> {
            fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
                Ok(write!(self.0, " {key}={value:?}")?)
            }
        }

        self.0.key_values().visit(&mut Pairs(f)).map_err(|_| fmt::Error)
    }
}
