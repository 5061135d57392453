//! The log that this project's worker passes to a plugin as one of its
//! [services](crate::extension::WorkerServices). Plugins in other workers use `doca_log`.

use std::borrow::Cow;

use crate::log::Line;

/// The functions of a worker's log, valid until the process ends, callable on any thread.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerLog {
    /// The size of this structure, which later releases extend.
    pub size: usize,
    /// Returns the current limit, a number of `enum doca_log_level`.
    pub limit: extern "C" fn() -> u32,
    pub write: unsafe extern "C" fn(line: *const Line),
    /// Writes the host's name of a connection (`dest_id`) to `name`, truncated to `max` bytes, and
    /// returns its length: 0 for an unknown connection. Only on the thread of the plugin's methods.
    pub host: unsafe extern "C" fn(dest_id: u64, name: *mut u8, max: usize) -> usize,
}

/// Returns the source of a line: the plugin, and the target if it is another crate. A module of
/// the plugin's crate already contains the plugin's name.
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
