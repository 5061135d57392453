//! Log lines of a plugin. A worker of this project passes its log to the plugin. In other workers
//! lines go through `doca_log`, which is looked up and not linked, or else to standard error in
//! DOCA's format, down to `INFO`. These functions neither panic nor fail, on any thread.

#[cfg(feature = "log")]
mod by_log;
mod doca;
mod out;

use std::fmt;
use std::sync::OnceLock;

use urom_abi::log::Level;

use self::out::LogLine;
pub(crate) use self::out::{host_of, to_worker};
use crate::Error;
use crate::panic::{CodeLocation, contain};

/// Its location is user code or `None`: locations in the kit are not useful.
pub(crate) fn failure(level: Level, at: Option<CodeLocation<'_>>, text: fmt::Arguments<'_>) {
    write(level, at, "", text);
}

static SOURCE: OnceLock<&'static str> = OnceLock::new();

/// The first name stays; a plugin library has only one. A test's logger or subscriber stays.
pub(crate) fn begin(name: &'static str) {
    SOURCE.get_or_init(|| {
        #[cfg(feature = "log")]
        by_log::install();
        name
    });
}

fn source() -> &'static str {
    SOURCE.get().copied().unwrap_or("plugin")
}

fn wants(level: Level) -> bool {
    level.number() <= out::limit(source())
}

/// Formats with foreign code. Text from before a panic or failure stays.
pub(crate) fn contained(text: fmt::Arguments<'_>) -> String {
    let mut written = String::new();
    let why = match contain(|| fmt::write(&mut written, text)) {
        Ok(Ok(())) => return written,
        Ok(Err(_)) => "failed".to_owned(),
        Err(panic) => panic.to_string(),
    };
    let space = if written.is_empty() || written.ends_with(' ') { "" } else { " " };
    written + space + &format!("(the rest of this text is missing: its Display {why})")
}

/// Formats an error. The code is included even if a source's text panics.
pub(crate) fn shown(error: &Error) -> String {
    let (code, text) = (error.code().name(), contained(format_args!("{error}")));
    if text.ends_with(&format!("({code})")) { text } else { format!("{text} ({code})") }
}

fn write(level: Level, at: Option<CodeLocation<'_>>, target: &str, text: fmt::Arguments<'_>) {
    if !wants(level) {
        return;
    }
    let text = contained(text);
    let at = at.unwrap_or(CodeLocation { file: "", line: 0 });
    out::write(&LogLine { level, at, source: source(), target, text: &text });
}

#[cfg(test)]
mod tests {
    use urom_abi::DocaError;

    use super::*;

    struct Unprintable;

    impl fmt::Display for Unprintable {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("as the test asks");
        }
    }

    impl fmt::Debug for Unprintable {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Unprintable")
        }
    }

    impl std::error::Error for Unprintable {}

    struct Failing;

    impl fmt::Display for Failing {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("half")?;
            Err(fmt::Error)
        }
    }

    #[test]
    fn a_message_that_panics_does_not_spread_and_keeps_what_was_written_before() {
        failure(Level::Error, None, format_args!("{Unprintable}"));
        let text = contained(format_args!("Put failed: {Unprintable} ({})", 7));
        assert!(
            text.starts_with("Put failed: (the rest of this text is missing: its Display "),
            "{text}"
        );
        assert!(text.contains("as the test asks"), "{text}");
        let text = contained(format_args!("{Failing}, {}", 7));
        assert_eq!(text, "half (the rest of this text is missing: its Display failed)");
        assert_eq!(contained(format_args!("a {}", 7)), "a 7");
    }

    #[test]
    fn an_error_whose_source_cannot_be_shown_keeps_its_code() {
        let error = Error::new(DocaError::NOT_FOUND, "no such key").with_source(Unprintable);
        let text = shown(&error);
        assert!(
            text.starts_with("no such key: (the rest of this text is missing: its Display "),
            "{text}"
        );
        assert!(text.ends_with("(DOCA_ERROR_NOT_FOUND)"), "{text}");
        let error = Error::new(DocaError::NOT_FOUND, "no such key");
        assert_eq!(shown(&error), error.to_string());
    }
}
