//! The log that this project's worker gives a plugin with its
//! [services](crate::extension::WorkerServices).
//!
//! `doca_log` does not say up to which level it writes, and an embedded service has none. In other
//! workers a plugin of this kit uses `doca_log`.

use std::borrow::Cow;

use crate::log::Line;

/// The functions of a worker's log, which stay until the process ends. Any thread may call them, at
/// any time.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerLog {
    /// The size of this structure, which later releases make longer.
    pub size: usize,
    /// The least grave level that is written now, a number of `enum doca_log_level`.
    pub limit: extern "C" fn() -> u32,
    /// Writes a line. It may borrow the line only for the call.
    pub write: unsafe extern "C" fn(line: *const Line),
    /// Writes the name of the host behind a connection (`dest_id`) into `room` bytes at `name`, cut
    /// where they end, and returns how many bytes it wrote: 0 for a connection that it does not
    /// know.
    ///
    /// It knows connections on the thread that calls the plugin's methods.
    pub host: unsafe extern "C" fn(dest_id: u64, name: *mut u8, room: usize) -> usize,
}

/// The source of a line as logs show it: the plugin, and its part when that is another crate. A
/// module of the plugin's own crate, which has the plugin's name, says both.
pub fn source<'a>(plugin: &'a str, target: &'a str) -> Cow<'a, str> {
    match target.strip_prefix(plugin) {
        Some(rest) if rest.is_empty() || rest.starts_with("::") => Cow::Borrowed(target),
        _ if target.is_empty() => Cow::Borrowed(plugin),
        _ => Cow::Owned(format!("{plugin} {target}")),
    }
}

assert_layout!(WorkerLog, 32, align 8, { size @ 0, limit @ 8, write @ 16, host @ 24 });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_whose_name_begins_like_the_plugins_is_another() {
        assert_eq!(source("worker_sum", "worker_sums"), "worker_sum worker_sums");
    }
}
