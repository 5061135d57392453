//! Lines as JSON objects, for `--log-format json`.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use tracing::Event;
use tracing::field::{Field, Visit};
use urom_abi::log::Level;
use urom_log::Origin;

use super::format::now;

type Fields = Map<String, Value>;

pub(super) fn line(origin: &Origin<'_>, name: &str, text: &str) -> String {
    object(origin, name, text, Fields::new())
}

/// The fields of the event are keys of the object.
pub(super) fn line_of_event(origin: &Origin<'_>, name: &str, event: &Event<'_>) -> String {
    let mut parts = EventParts::default();
    event.record(&mut parts);
    object(origin, name, &parts.message, parts.fields)
}

fn object(origin: &Origin<'_>, name: &str, text: &str, fields: Fields) -> String {
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::span::{Attributes, Id, Record};
    use tracing::{Metadata, Subscriber};

    use super::*;
    use crate::log::{LogFormat, OWN, PLUGINS};

    fn fields() -> Fields {
        Fields::from_iter([("slot".to_owned(), 3.into()), ("host".to_owned(), "a b".into())])
    }

    fn parsed(line: &str) -> Value {
        let object = line.strip_suffix('\n').unwrap();
        assert!(!object.contains('\n'), "{line}");
        serde_json::from_str(object).unwrap()
    }

    #[test]
    fn a_line_of_json_is_one_object_in_one_line() {
        let text = "a \"b\"\n\u{1b}\u{85}ü\n";
        let line = object(&PLUGINS, "worker 3", text, fields());
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
}
