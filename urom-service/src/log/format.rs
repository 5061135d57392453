//! Formats of the service's lines. DOCA's own format, with the time of day only, is for programs
//! that use `doca_log`; a service runs for days, so its lines have the date.

use std::fmt;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::time::SystemTime;

use tracing::Event;
use urom_abi::log::Level;
use urom_log::{Origin, text_of};

/// The value of `--log-format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// DOCA's brackets, with date, time and zone.
    #[default]
    Text,
    /// One object per line.
    #[cfg(feature = "operators")]
    Json,
    /// For systemd's journal, which adds the time: `<N>` is the line's priority.
    Journal,
}

const FORMATS: &[(&str, LogFormat)] = &[
    ("text", LogFormat::Text),
    #[cfg(feature = "operators")]
    ("json", LogFormat::Json),
    ("journal", LogFormat::Journal),
];

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
            #[cfg(feature = "operators")]
            LogFormat::Json => return super::json::line(origin, name, text),
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
        match self {
            #[cfg(feature = "operators")]
            LogFormat::Json => super::json::line_of_event(origin, name, event),
            _ => self.line(origin, name, &text_of(event)),
        }
    }
}

pub(super) fn now() -> humantime::Rfc3339Timestamp {
    humantime::format_rfc3339_micros(SystemTime::now())
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<LogFormat, &'static str> {
        let found = FORMATS.iter().find(|(name, _)| *name == text);
        found.map(|(_, format)| *format).ok_or("expected text, json or journal")
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = FORMATS.iter().find(|(_, format)| format == self);
        f.write_str(found.map_or("", |(name, _)| name))
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
    use super::*;
    use crate::log::{OWN, PLUGINS};

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
    fn a_format_is_one_of_three_words() {
        for (name, format) in FORMATS {
            assert_eq!((name.parse(), &*format.to_string()), (Ok(*format), *name));
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
