//! The log that this project's worker gives a plugin of this kit before it opens the plugin.
//!
//! DOCA has one log in a process, `doca_log`. A host program that embeds its service in Rust has none, and
//! no `doca_log` says up to which level it writes. So a plugin of this kit exports one more function,
//! `urom_plugin_set_log`. Other workers do not look for it; in theirs the plugin uses `doca_log`.

use std::borrow::Cow;

/// The name under which a plugin of this kit exports its [`SetLogFn`].
pub const SET_LOG_SYMBOL: &str = "urom_plugin_set_log";

/// Takes a [`WorkerLog`] that stays where it is until the process ends. NULL is ignored. The first log
/// stays; the worker calls it before `open`.
pub type SetLogFn = unsafe extern "C" fn(log: *const WorkerLog);

/// The functions of a worker's log. Any thread may call them, at any time.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerLog {
    /// The size of this structure, which later releases make longer.
    pub size: usize,
    /// The least grave level that is written now, a number of `enum doca_log_level`.
    pub limit: extern "C" fn() -> u32,
    /// Writes a line. It may borrow the line only for the call.
    pub write: unsafe extern "C" fn(line: *const PluginLine),
    /// Writes the name of the host behind a connection (`dest_id`) into `room` bytes at `name`, cut where
    /// they end, and returns how many bytes it wrote: 0 for a connection that it does not know.
    ///
    /// It knows connections on the thread that calls the plugin's methods.
    pub host: unsafe extern "C" fn(dest_id: u64, name: *mut u8, room: usize) -> usize,
}

/// One line of a plugin.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PluginLine {
    /// A number of `enum doca_log_level`.
    pub level: u32,
    /// The line in `file`.
    pub line: u32,
    /// The source file; empty for a line that has no place in the plugin's code.
    pub file: Text,
    /// The plugin's name.
    pub plugin: Text,
    /// What in the plugin wrote the line, such as a module; empty for the plugin itself.
    pub target: Text,
    /// What it says.
    pub text: Text,
}

/// A text that lies in the other side's memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    ptr: *const u8,
    len: usize,
}

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
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(self.ptr, self.len) };
        String::from_utf8_lossy(bytes)
    }
}

/// The source of a line as logs show it: the plugin, and its part when that is another crate. A module of
/// the plugin's own crate, which has the plugin's name, says both.
///
/// ```
/// use urom_abi::worker_log::source;
/// assert_eq!(source("worker_sum", ""), "worker_sum");
/// assert_eq!(source("worker_sum", "worker_sum::table"), "worker_sum::table");
/// assert_eq!(source("worker_sum", "hyper::proto"), "worker_sum hyper::proto");
/// ```
pub fn source<'a>(plugin: &'a str, target: &'a str) -> Cow<'a, str> {
    match target.strip_prefix(plugin) {
        Some(rest) if rest.is_empty() || rest.starts_with("::") => Cow::Borrowed(target),
        _ if target.is_empty() => Cow::Borrowed(plugin),
        _ => Cow::Owned(format!("{plugin} {target}")),
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
    fn a_crate_whose_name_begins_like_the_plugins_is_another() {
        assert_eq!(source("worker_sum", "worker_sums"), "worker_sum worker_sums");
    }
}
