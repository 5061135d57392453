//! The log of daemon and workers: one line an event, in DOCA's format, on standard error.
//!
//! Code logs with [`tracing`]; this is the small subscriber behind it. Levels are DOCA's numbers. An event of this crate
//! is held to the program's level, one of any other crate (UCX's safe layer, tokio) to the SDK level.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber, dispatcher};

/// A level of DOCA's scale (`enum doca_log_level`), 10 to 70.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogLevel(u8);

impl LogLevel {
    /// Nothing (10).
    pub const DISABLE: LogLevel = LogLevel(10);
    /// Only what ends the program (20). Such errors are written whatever the level is.
    pub const CRIT: LogLevel = LogLevel(20);
    /// Errors (30).
    pub const ERROR: LogLevel = LogLevel(30);
    /// Warnings (40).
    pub const WARNING: LogLevel = LogLevel(40);
    /// What happens (50): the default.
    pub const INFO: LogLevel = LogLevel(50);
    /// Details (60).
    pub const DEBUG: LogLevel = LogLevel(60);
    /// Everything (70).
    pub const TRACE: LogLevel = LogLevel(70);

    /// The number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The same level in UCX's words, for `UCX_LOG_LEVEL`.
    pub fn ucx_name(self) -> &'static str {
        match self.0 {
            ..30 => "fatal",
            30..40 => "error",
            40..50 => "warn",
            50..60 => "info",
            60..70 => "debug",
            _ => "trace",
        }
    }

    fn filter(self) -> LevelFilter {
        match self.0 {
            ..30 => LevelFilter::OFF,
            30..40 => LevelFilter::ERROR,
            40..50 => LevelFilter::WARN,
            50..60 => LevelFilter::INFO,
            60..70 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a log level is a number from 10 to 70: 10 disable, 20 crit, 30 error, 40 warning, 50 info, 60 debug, 70 trace"
)]
pub struct ParseLogLevelError;

impl FromStr for LogLevel {
    type Err = ParseLogLevelError;

    fn from_str(text: &str) -> Result<LogLevel, ParseLogLevelError> {
        let number = text.parse().ok().filter(|number| (10..=70).contains(number));
        number.map(LogLevel).ok_or(ParseLogLevelError)
    }
}

/// Writes events to standard error.
#[derive(Debug, Clone)]
pub struct Log {
    name: String,
    program: LevelFilter,
    sdk: LevelFilter,
}

impl Log {
    /// A log whose lines carry `name`; events of this crate up to `program`, of other crates up to `sdk`.
    pub fn new(name: impl Into<String>, program: LogLevel, sdk: LogLevel) -> Log {
        Log { name: name.into(), program: program.filter(), sdk: sdk.filter() }
    }

    /// Makes this the log of the whole process. The first call wins.
    pub fn install(self) {
        // A second log in one process is no reason to fail: the first one goes on.
        let _ = dispatcher::set_global_default(Dispatch::new(self));
    }

    /// Makes this the log of the current thread for as long as the guard lives, unless the program has a subscriber of
    /// its own.
    pub(crate) fn install_if_none(self) -> Option<dispatcher::DefaultGuard> {
        let none = dispatcher::get_default(|current| current.is::<NoSubscriber>());
        none.then(|| dispatcher::set_default(&Dispatch::new(self)))
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let ours = metadata.target().starts_with(env!("CARGO_CRATE_NAME"));
        metadata.is_event() && *metadata.level() <= if ours { self.program } else { self.sdk }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.program.max(self.sdk))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = line(&self.name, since_epoch.as_micros(), event);
        // There is nowhere left to report that standard error is closed.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// One event as a line: `[HH:MM:SS:uuuuuu][process][name][INF][file:line] text`, the time in UTC.
fn line(name: &str, micros: u128, event: &Event<'_>) -> String {
    let metadata = event.metadata();
    let (second, micro) = (micros / 1_000_000 % 86_400, micros % 1_000_000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let file = metadata.file().map_or("?", |path| path.rsplit('/').next().unwrap_or(path));
    let mut text = format!(
        "[{hour:02}:{minute:02}:{second:02}:{micro:06}][{}][{name}][{}][{file}:{}] ",
        std::process::id(),
        tag(metadata.level()),
        metadata.line().unwrap_or(0),
    );
    event.record(&mut Fields(&mut text));
    // What came from outside stays on its line.
    let mut text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.push('\n');
    text
}

fn tag(level: &Level) -> &'static str {
    match *level {
        Level::ERROR => "ERR",
        Level::WARN => "WRN",
        Level::INFO => "INF",
        Level::DEBUG => "DBG",
        Level::TRACE => "TRC",
    }
}

/// The message as it is; other fields as `name=value` behind it.
struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn levels_are_docas_numbers() {
        assert_eq!("50".parse(), Ok(LogLevel::INFO));
        assert_eq!("70".parse(), Ok(LogLevel::TRACE));
        for text in ["", "9", "71", "info", "-10", "50.0"] {
            assert_eq!(text.parse::<LogLevel>(), Err(ParseLogLevelError), "{text}");
        }
    }

    #[test]
    fn this_crate_and_others_have_levels_of_their_own() {
        let log = Log::new("test", LogLevel::ERROR, LogLevel::DEBUG);
        let seen = Arc::new(Mutex::new(Vec::new()));
        struct Capture(Log, Arc<Mutex<Vec<String>>>);
        impl Subscriber for Capture {
            fn enabled(&self, metadata: &Metadata<'_>) -> bool {
                self.0.enabled(metadata)
            }
            fn new_span(&self, span: &Attributes<'_>) -> Id {
                self.0.new_span(span)
            }
            fn record(&self, _: &Id, _: &Record<'_>) {}
            fn record_follows_from(&self, _: &Id, _: &Id) {}
            fn event(&self, event: &Event<'_>) {
                self.1.lock().unwrap().push(line("test", 3_661_000_002, event));
            }
            fn enter(&self, _: &Id) {}
            fn exit(&self, _: &Id) {}
        }
        tracing::subscriber::with_default(Capture(log, seen.clone()), || {
            tracing::info!("too quiet");
            tracing::error!(code = 7, "two\nlines");
            tracing::debug!(target: "ucx", "of a library");
            tracing::trace!(target: "ucx", "too much");
        });
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 2);
        assert!(seen[0].starts_with("[01:01:01:000002]["), "{}", seen[0]);
        assert!(seen[0].contains("][test][ERR][log.rs:"), "{}", seen[0]);
        assert!(seen[0].ends_with("] two lines code=7\n"), "{}", seen[0]);
        assert!(seen[1].contains("[DBG]"), "{}", seen[1]);
    }
}
