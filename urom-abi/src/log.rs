//! Log levels (`enum doca_log_level`), and log lines that libraries pass to each other.

use std::borrow::Cow;

/// The level of a log line; smaller is more severe. Lines up to the limit are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Level {
    /// A fatal error (`DOCA_LOG_LEVEL_CRIT`).
    Crit = 20,
    /// An error (`DOCA_LOG_LEVEL_ERROR`).
    Error = 30,
    /// A problem that does not stop work (`DOCA_LOG_LEVEL_WARNING`).
    Warning = 40,
    /// A notable event (`DOCA_LOG_LEVEL_INFO`).
    Info = 50,
    /// Details for debugging (`DOCA_LOG_LEVEL_DEBUG`).
    Debug = 60,
    /// Everything (`DOCA_LOG_LEVEL_TRACE`).
    Trace = 70,
}

/// The limit that disables all lines (`DOCA_LOG_LEVEL_DISABLE`).
#[doc(hidden)]
pub const DISABLE: u32 = 10;

impl Level {
    /// All levels, the most severe first.
    pub const ALL: [Level; 6] =
        [Level::Crit, Level::Error, Level::Warning, Level::Info, Level::Debug, Level::Trace];

    /// Returns DOCA's number.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Returns the level with this number; `None` for other numbers, including [`DISABLE`].
    #[doc(hidden)]
    pub fn from_number(number: u32) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.number() == number)
    }

    /// Converts a level name of the crates `log` and `tracing`, which lack a fatal level.
    #[doc(hidden)]
    pub fn from_crates(name: &str) -> Level {
        match name {
            "ERROR" => Level::Error,
            "WARN" => Level::Warning,
            "INFO" => Level::Info,
            "DEBUG" => Level::Debug,
            _ => Level::Trace,
        }
    }

    /// Returns the level's three letters in a log line.
    pub const fn tag(self) -> &'static str {
        match self {
            Level::Crit => "CRT",
            Level::Error => "ERR",
            Level::Warning => "WRN",
            Level::Info => "INF",
            Level::Debug => "DBG",
            Level::Trace => "TRC",
        }
    }
}

/// A log line, valid during the call that passes it on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Line {
    pub level: u32,
    pub line: u32,
    pub file: Text,
    /// The origin: the name of a plugin or a function; may be empty.
    pub source: Text,
    /// The part of the source, such as a module; may be empty.
    pub target: Text,
    pub text: Text,
}

/// A text in the other side's memory.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    ptr: *const u8,
    len: usize,
}

assert_layout!(Text, 16, align 8, { ptr @ 0, len @ 8 });
assert_layout!(Line, 72, align 8, {
    level @ 0, line @ 4, file @ 8, source @ 24, target @ 40, text @ 56,
});

impl Text {
    pub fn new(text: &str) -> Text {
        Text { ptr: text.as_ptr(), len: text.len() }
    }

    /// Returns the text. NULL is an empty text, and invalid UTF-8 becomes U+FFFD.
    ///
    /// # Safety
    /// `len` bytes are readable at `ptr`, or `ptr` is NULL, and they do not change during `'a`.
    pub unsafe fn get<'a>(self) -> Cow<'a, str> {
        if self.ptr.is_null() {
            return Cow::Borrowed("");
        }
        // SAFETY: the caller promises `len` bytes at `ptr` that are unchanged during `'a`.
        let bytes = unsafe { std::slice::from_raw_parts(self.ptr, self.len) };
        String::from_utf8_lossy(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_any_bytes_is_read() {
        // SAFETY: a text of this frame.
        assert_eq!(unsafe { Text::new("five links").get() }, "five links");
        // SAFETY: NULL.
        assert_eq!(unsafe { Text { ptr: std::ptr::null(), len: 5 }.get() }, "");
        // SAFETY: bytes of this frame.
        assert_eq!(unsafe { Text { ptr: [b'a', 0xff].as_ptr(), len: 2 }.get() }, "a\u{fffd}");
    }

    #[test]
    fn numbers_and_levels_are_one_to_one() {
        for level in Level::ALL {
            assert_eq!(Level::from_number(level.number()), Some(level));
        }
        for number in [0, DISABLE, 19, 45, 71, u32::MAX] {
            assert_eq!(Level::from_number(number), None, "{number}");
        }
    }
}
