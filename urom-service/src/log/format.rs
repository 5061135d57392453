//! Formats of the service's lines. DOCA's own format, with the time of day only, is for programs
//! that use `doca_log`; a service runs for days, so its lines have the date.

use std::fmt;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Map, Value};
use tracing::Event;
use tracing::field::{Field, Visit};
use urom_abi::log::Level;
use urom_log::{Origin, text_of};

/// The value of `--log-format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// DOCA's brackets, with date, time and zone.
    #[default]
    Text,
    /// One object per line.
    Json,
    /// For systemd's journal, which adds the time: `<N>` is the line's priority.
    Journal,
}

const FORMATS: [(&str, LogFormat); 3] =
    [("text", LogFormat::Text), ("json", LogFormat::Json), ("journal", LogFormat::Journal)];

type Fields = Map<String, Value>;

impl LogFormat {
    /// Returns the format for standard error: `Journal` if systemd has connected it to the journal.
    pub(crate) fn of_stderr() -> LogFormat {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        LogFormat::of_stream(&stream, std::io::stderr())
    }

    /// The variable may be older than a redirection, so it counts for its own file only.
    fn of_stream(journal: &str, stream: impl AsFd) -> LogFormat {
        let Ok(stat) = rustix::fs::fstat(stream) else { return LogFormat::Text };
        let is_journal = journal == format!("{}:{}", stat.st_dev, stat.st_ino);
        if is_journal { LogFormat::Journal } else { LogFormat::Text }
    }

    pub(super) fn line(self, origin: &Origin<'_>, name: &str, text: &str) -> String {
        let start = match self {
            LogFormat::Text => format!("[{}]", now()),
            LogFormat::Json => return json(origin, name, text, Fields::new()),
            LogFormat::Journal => format!("<{}>", priority(origin.level)),
        };
        let (process, text) = (std::process::id(), text.trim_end_matches(['\n', '\r']));
        match super::trace() {
            None => origin.line_behind(&start, process, name, text),
            Some(id) => {
                origin.line_behind(&start, process, name, &format!("{text} trace={id:032x}"))
            }
        }
    }

    pub(super) fn line_of_event(
        self,
        origin: &Origin<'_>,
        name: &str,
        event: &Event<'_>,
    ) -> String {
        if self != LogFormat::Json {
            return self.line(origin, name, &text_of(event));
        }
        let mut parts = EventParts::default();
        event.record(&mut parts);
        json(origin, name, &parts.message, parts.fields)
    }
}

fn now() -> humantime::Rfc3339Timestamp {
    humantime::format_rfc3339_micros(SystemTime::now())
}

fn json(origin: &Origin<'_>, name: &str, text: &str, fields: Fields) -> String {
    let file = origin.file_name();
    let line = JsonLine {
        time: now().to_string(),
        level: level_name(origin.level),
        pid: std::process::id(),
        name,
        file,
        line: file.map(|_| origin.line),
        function: origin.function,
        message: text.trim_end_matches(['\n', '\r']),
        trace_id: super::trace().map(|id| format!("{id:032x}")),
        fields,
    };
    // Its keys are strings, so this cannot fail.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

#[derive(Serialize)]
struct JsonLine<'a> {
    time: String,
    level: &'static str,
    pid: u32,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(flatten)]
    fields: Fields,
}

/// The keys of [`JsonLine`]. An event's field of the same name gets a `_` behind it.
const KEYS: [&str; 9] =
    ["time", "level", "pid", "name", "file", "line", "function", "message", "trace_id"];

#[derive(Default)]
struct EventParts {
    message: String,
    fields: Fields,
}

impl EventParts {
    fn add(&mut self, field: &Field, value: Value) {
        let is_taken = KEYS.contains(&field.name());
        self.fields.insert(field.name().to_owned() + if is_taken { "_" } else { "" }, value);
    }
}

impl Visit for EventParts {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            _ => self.add(field, format!("{value:?}").into()),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = value.to_owned(),
            _ => self.add(field, value.into()),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<LogFormat, &'static str> {
        let found = FORMATS.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, format)| format).ok_or("expected text, json or journal")
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = FORMATS.into_iter().find(|(_, format)| format == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Crit => "crit",
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    }
}

/// The priority of `sd-daemon(3)`.
fn priority(level: Level) -> u8 {
    match level {
        Level::Crit => 2,
        Level::Error => 3,
        Level::Warning => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::span::{Attributes, Id, Record};
    use tracing::{Metadata, Subscriber};

    use super::*;

    const PLUGINS: Origin<'_> =
        Origin { level: Level::Warning, file: "a/b.rs", line: 12, function: Some("sum") };
    const OWN: Origin<'_> = Origin { level: Level::Info, file: "", line: 0, function: None };

    fn fields() -> Fields {
        Fields::from_iter([("slot".to_owned(), 3.into()), ("host".to_owned(), "a b".into())])
    }

    fn parsed(line: &str) -> Value {
        let object = line.strip_suffix('\n').unwrap();
        assert!(!object.contains('\n'), "{line}");
        serde_json::from_str(object).unwrap()
    }

    #[test]
    fn a_line_of_text_has_date_time_and_zone() {
        let line = LogFormat::Text.line(&PLUGINS, "worker 3", "five\nlinks\n");
        let (time, rest) = line.strip_prefix('[').unwrap().split_once(']').unwrap();
        assert_eq!(time.len(), "2026-11-30T12:01:01.000007Z".len(), "{time}");
        let read = humantime::parse_rfc3339(time).unwrap();
        assert!(read <= SystemTime::now(), "{time}");
        let pid = std::process::id();
        let expected = "[worker 3][WRN][b.rs:12][sum] five links\n";
        assert_eq!(rest, format!("[{pid}]{expected}"));
    }

    #[test]
    fn a_line_for_the_journal_begins_with_its_priority_and_has_no_time() {
        let pid = std::process::id();
        let line = LogFormat::Journal.line(&OWN, "uromd", "starts");
        assert_eq!(line, format!("<6>[{pid}][uromd][INF] starts\n"));
        let priorities = Level::ALL.map(priority);
        assert_eq!(priorities, [2, 3, 4, 6, 7, 7]);
    }

    #[test]
    fn a_line_of_json_is_one_object_in_one_line() {
        let text = "a \"b\"\n\u{1b}\u{85}ü\n";
        let line = json(&PLUGINS, "worker 3", text, fields());
        let object = parsed(&line);
        assert!(humantime::parse_rfc3339(object["time"].as_str().unwrap()).is_ok(), "{line}");
        assert_eq!(object["pid"], std::process::id());
        for (key, value) in [
            ("level", "warning".into()),
            ("name", "worker 3".into()),
            ("file", "b.rs".into()),
            ("line", 12.into()),
            ("function", "sum".into()),
            ("message", Value::from(text.trim_end())),
            ("slot", 3.into()),
            ("host", "a b".into()),
        ] {
            assert_eq!(object[key], value, "{line}");
        }
        let object = parsed(&LogFormat::Json.line(&OWN, "uromd", ""));
        let keys: Vec<_> = object.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["level", "message", "name", "pid", "time"]);
    }

    /// Returns the line of an event that `log` makes.
    fn line_of(format: LogFormat, log: impl FnOnce()) -> String {
        struct Capture(LogFormat, Arc<Mutex<String>>);
        impl Subscriber for Capture {
            fn enabled(&self, _: &Metadata<'_>) -> bool {
                true
            }
            fn new_span(&self, _: &Attributes<'_>) -> Id {
                Id::from_u64(1)
            }
            fn record(&self, _: &Id, _: &Record<'_>) {}
            fn record_follows_from(&self, _: &Id, _: &Id) {}
            fn event(&self, event: &Event<'_>) {
                *self.1.lock().unwrap() = self.0.line_of_event(&OWN, "test", event);
            }
            fn enter(&self, _: &Id) {}
            fn exit(&self, _: &Id) {}
        }
        let line = Arc::new(Mutex::default());
        tracing::subscriber::with_default(Capture(format, Arc::clone(&line)), log);
        let line = line.lock().unwrap();
        line.clone()
    }

    #[test]
    fn fields_of_an_event_are_keys_and_never_replace_those_of_the_line() {
        let log = || {
            tracing::info!(
                slot = 3,
                left = -1,
                share = 0.5,
                is_late = true,
                host = "a \"b\"",
                status = %"x",
                level = 9,
                "{} failed",
                "it"
            );
        };
        let object = parsed(&line_of(LogFormat::Json, log));
        for (key, value) in [
            ("message", Value::from("it failed")),
            ("level", "info".into()),
            ("slot", 3.into()),
            ("left", (-1).into()),
            ("share", 0.5.into()),
            ("is_late", true.into()),
            ("host", "a \"b\"".into()),
            ("status", "x".into()),
            ("level_", 9.into()),
        ] {
            assert_eq!(object[key], value, "{key} of {object}");
        }
        let text = line_of(LogFormat::Text, log);
        assert!(text.contains("[INF] it failed slot=3 left=-1"), "{text}");
    }

    #[test]
    fn every_key_of_a_line_is_kept_from_events() {
        crate::log::set_trace(Some(1));
        let object = parsed(&LogFormat::Json.line(&PLUGINS, "", ""));
        crate::log::set_trace(None);
        assert_eq!(object["trace_id"], "00000000000000000000000000000001");
        let mut keys = KEYS;
        keys.sort_unstable();
        assert!(object.as_object().unwrap().keys().eq(keys), "{object}");
    }

    #[test]
    fn a_format_is_one_of_three_words() {
        for (name, format) in FORMATS {
            assert_eq!((name.parse(), format.to_string()), (Ok(format), name.to_owned()));
        }
        for text in ["", "TEXT", "json ", "syslog", "0"] {
            assert_eq!(text.parse::<LogFormat>(), Err("expected text, json or journal"), "{text}");
        }
    }

    #[test]
    fn only_the_stream_that_the_variable_names_is_the_journal() {
        let (_read, write) = std::io::pipe().unwrap();
        let stat = rustix::fs::fstat(&write).unwrap();
        let (device, inode) = (stat.st_dev, stat.st_ino);
        let of = |variable: String| LogFormat::of_stream(&variable, &write);
        assert_eq!(of(format!("{device}:{inode}")), LogFormat::Journal);
        for other in [
            format!("{device}:{}", inode + 1),
            format!("{}:{inode}", device + 1),
            format!("{device}"),
            format!("{device}:{inode}:"),
            "x:y".to_owned(),
            String::new(),
        ] {
            assert_eq!(of(other.clone()), LogFormat::Text, "{other}");
        }
    }
}
