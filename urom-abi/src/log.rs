//! Log lines: `enum doca_log_level`, which says how grave one is, and a line as it passes from one
//! library to another.

use std::borrow::Cow;

/// The level of one log line. A smaller number is graver; a line is written when its number is at
/// most the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Level {
    /// Ends the program (`DOCA_LOG_LEVEL_CRIT`).
    Crit = 20,
    /// Something failed (`DOCA_LOG_LEVEL_ERROR`).
    Error = 30,
    /// Something is odd, and work goes on (`DOCA_LOG_LEVEL_WARNING`).
    Warning = 40,
    /// Something worth knowing happened (`DOCA_LOG_LEVEL_INFO`).
    Info = 50,
    /// Details for whoever looks for a fault (`DOCA_LOG_LEVEL_DEBUG`).
    Debug = 60,
    /// Everything (`DOCA_LOG_LEVEL_TRACE`).
    Trace = 70,
}

/// The limit under which nothing is written (`DOCA_LOG_LEVEL_DISABLE`).
#[doc(hidden)]
pub const DISABLE: u32 = 10;

impl Level {
    /// All levels, the gravest first.
    pub const ALL: [Level; 6] =
        [Level::Crit, Level::Error, Level::Warning, Level::Info, Level::Debug, Level::Trace];

    /// DOCA's number.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The level with this number; `None` for a number that names none, [`DISABLE`] among them.
    #[doc(hidden)]
    pub fn from_number(number: u32) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.number() == number)
    }

    /// The level that the crates `log` and `tracing` call so. They have none for what ends a
    /// program.
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

    /// Its three letters in a line.
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

/// A log line, for the time of the call that passes it on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Line {
    /// A number of `enum doca_log_level`.
    pub level: u32,
    /// The line in `file`.
    pub line: u32,
    /// The source file; empty for a line without a place.
    pub file: Text,
    /// Who wrote it: a plugin's name, or a function's where that is named; empty for nothing.
    pub source: Text,
    /// What in the source wrote it, such as a module; empty for the source itself.
    pub target: Text,
    /// What it says.
    pub text: Text,
}

/// A text that lies in the other side's memory.
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
    /// Of a text that outlives the use of this.
    pub fn new(text: &str) -> Text {
        Text { ptr: text.as_ptr(), len: text.len() }
    }

    /// The text. NULL is the empty one, and bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Safety
    /// `len` bytes lie at `ptr`, or `ptr` is NULL, and they do not change during `'a`.
    pub unsafe fn get<'a>(self) -> Cow<'a, str> {
        if self.ptr.is_null() {
            return Cow::Borrowed("");
        }
        // SAFETY: the caller vouches for `len` bytes at `ptr` that stay during `'a`.
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
