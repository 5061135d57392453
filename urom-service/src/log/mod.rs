//! The log of daemon and workers, a [`tracing`] subscriber: one line per event, in one of three
//! formats, on standard error or in a file. The program level limits events of this crate and plugin lines, the SDK level
//! other crates. Events show their source location at level 60 and above, plugin lines always.

/// Logs a line of a kind that peers can cause at any rate. Each call site has its own
/// [`LineBudget`](urom_log::LineBudget) in a process. Fields stand in braces before the text.
macro_rules! limited {
    ($level:ident, { $($fields:tt)+ }, $($text:tt)+) => {{
        static BUDGET: $crate::log::Budget = $crate::log::Budget::new(std::sync::Mutex::default);
        if let Some(more) = $crate::log::line_of(&BUDGET) {
            tracing::$level!($($fields)+, "{}{more}", format_args!($($text)+));
        }
    }};
    ($level:ident, $($text:tt)+) => {{
        static BUDGET: $crate::log::Budget = $crate::log::Budget::new(std::sync::Mutex::default);
        if let Some(more) = $crate::log::line_of(&BUDGET) {
            tracing::$level!("{}{more}", format_args!($($text)+));
        }
    }};
}

mod file;
mod format;
#[cfg(feature = "operators")]
mod json;
mod limit;
mod writer;

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Event, Metadata, Subscriber, dispatcher};
use urom_abi::log::Level;
use urom_log::{LeftOut, LineBudget, Origin, Output, level_of, origin_of};
use urom_os::fork::PerProcess;

pub(crate) use file::Streams;
pub(crate) use format::LogFormat;
pub(crate) use limit::LogLevel;
pub(crate) use writer::{Lines, write};

pub(crate) type Budget = PerProcess<Mutex<LineBudget>>;

pub(crate) fn line_of(budget: &Budget) -> Option<LeftOut> {
    budget.lock().unwrap_or_else(PoisonError::into_inner).line()
}

#[derive(Debug, Clone)]
pub(crate) struct Log {
    name: String,
    program: LogLevel,
    plugins: LogLevel,
    sdk: LogLevel,
}

const OURS: [&str; 2] = [env!("CARGO_CRATE_NAME"), "urom_wire"];

static PROCESS: OnceLock<Log> = OnceLock::new();

thread_local! {
    static TRACE: Cell<Option<u128>> = const { Cell::new(None) };
}

/// Sets the trace of this thread's next lines.
pub(crate) fn set_trace(trace: Option<u128>) {
    TRACE.set(trace);
}

pub(crate) fn trace() -> Option<u128> {
    TRACE.get()
}

static FORMAT: OnceLock<LogFormat> = OnceLock::new();

fn format() -> LogFormat {
    FORMAT.get().copied().unwrap_or_default()
}

impl Log {
    /// `program` limits events of this crate and plugin lines, `sdk` events of other crates.
    pub(crate) fn new(name: impl Into<String>, program: LogLevel, sdk: LogLevel) -> Log {
        Log { name: name.into(), program, plugins: program, sdk }
    }

    /// The log of an embedded service: its warnings, and plugin lines down to `INFO`.
    pub(crate) fn embedded() -> Log {
        Log {
            plugins: LogLevel::INFO,
            ..Log::new("embedded", LogLevel::WARNING, LogLevel::WARNING)
        }
    }

    pub(crate) fn named(&self, name: impl Into<String>) -> Log {
        Log { name: name.into(), ..self.clone() }
    }

    /// Sets format and file of the process's lines. Call it before [`install`](Self::install).
    ///
    /// # Errors
    /// The file cannot be opened for appending.
    pub(crate) fn set_up(
        format: LogFormat,
        file: Option<&Path>,
        streams: Streams,
    ) -> io::Result<()> {
        let _ = FORMAT.set(format);
        let Some(path) = file else { return Ok(()) };
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("the log {}: {error}", path.display()))
        };
        writer::write_to(path, streams).map_err(named)
    }

    /// Opens a log file for a test.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn check(path: &Path) -> io::Result<()> {
        file::open(path).map(drop)
    }

    /// Looks at once whether the log file was moved. Lines behind the call go to the new file.
    pub(crate) fn reopen() {
        writer::reopen();
    }

    /// Logs why the program ends. Standard error gets the reason too, if it is not the log.
    pub(crate) fn end(why: &str) {
        let origin = Origin { level: Level::Crit, file: "", line: 0, function: None };
        let plain = format!("uromd: {why}\n");
        match Log::of_process() {
            Some(log) => log.write(&origin, why),
            None => return write(plain),
        }
        if writer::is_beside_stderr() {
            let stderr = Lines::to(io::stderr());
            stderr.write(plain);
            stderr.flush();
        }
    }

    /// Makes this the log of the process and of its plugins' `doca_log`. The first call wins.
    pub(crate) fn install(self) {
        // A second log in the process is not an error: the first log stays.
        let log = PROCESS.get_or_init(|| self);
        urom_log::set_process_log(log);
        let _ = dispatcher::set_global_default(Dispatch::new(log.clone()));
    }

    /// Makes this the current thread's log while the guard lives, unless a subscriber is set.
    pub(crate) fn install_if_none(self) -> Option<dispatcher::DefaultGuard> {
        let none = dispatcher::get_default(|current| current.is::<NoSubscriber>());
        none.then(|| dispatcher::set_default(&Dispatch::new(self)))
    }

    pub(crate) fn of_process() -> Option<&'static Log> {
        PROCESS.get()
    }

    /// The number of the process's lines that could not be written.
    #[cfg(feature = "operators")]
    pub(crate) fn lost() -> u64 {
        writer::lost()
    }

    /// Waits a short time until logged lines are written; call before the process ends.
    pub(crate) fn flush() {
        writer::flush();
    }

    pub(crate) fn plugins(&self) -> LogLevel {
        self.plugins
    }
}

impl Output for Log {
    fn wants(&self, level: Level) -> bool {
        self.plugins.allows(level)
    }

    fn write(&self, origin: &Origin<'_>, text: &str) {
        write(format().line(origin, &self.name, text));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let ours = OURS.iter().any(|name| metadata.target().starts_with(name));
        let limit = if ours { self.program } else { self.sdk };
        metadata.is_event() && limit.allows(level_of(metadata))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.program.filter().max(self.sdk.filter()))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let origin = origin_of(event.metadata());
        // The kit's source location only helps to debug the kit, and looks like the plugin's.
        let file = if self.program >= LogLevel::DEBUG { origin.file } else { "" };
        write(format().line_of_event(&Origin { file, ..origin }, &self.name, event));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
const PLUGINS: Origin<'_> =
    Origin { level: Level::Warning, file: "a/b.rs", line: 12, function: Some("sum") };

#[cfg(test)]
const OWN: Origin<'_> = Origin { level: Level::Info, file: "", line: 0, function: None };

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    use urom_log::text_of;

    #[test]
    fn this_crate_and_others_have_levels_of_their_own() {
        let log = Log::new("test", LogLevel::of(Level::Error), LogLevel::DEBUG);
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
                let line = origin_of(event.metadata()).line(7, "test", &text_of(event));
                self.1.lock().unwrap().push(line);
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
        assert!(seen[0].contains("][7][test][ERR][mod.rs:"), "{}", seen[0]);
        assert!(seen[0].ends_with("] two lines code=7\n"), "{}", seen[0]);
        assert!(seen[1].contains("[DBG]"), "{}", seen[1]);
    }
}
