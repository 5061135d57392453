//! Under a sanitizer (`cargo xtask sanitize`) workers have to be told what their daemon was, where
//! reports go above all: of its environment they find only what was asked for.

use std::process::Command;

/// What tells a sanitizer what to do.
pub(crate) const OPTIONS: [&str; 3] = ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"];

/// Has the daemon that `command` starts hand them on.
pub(crate) fn for_workers(command: &mut Command) {
    if std::env::var_os("UROM_SANITIZED").is_some() {
        command.args(OPTIONS.iter().flat_map(|name| ["--worker-env", name]));
    }
}
