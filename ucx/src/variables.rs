//! The `UCX_*` variables of this process, for errors: UCX's messages do not name them.

use std::env;

const MOST: usize = 64;

/// Returns the `UCX_*` variables of this process except `UCX_LOG_*`, formatted for errors:
/// ``process 17 (`host`) runs with UCX_TLS=tcp``.
#[must_use]
pub fn variables() -> String {
    let set = set();
    let set = if set.is_empty() { "no variable UCX_*" } else { &set };
    let program = env::current_exe().ok();
    let program = program.as_deref().and_then(|program| program.file_name());
    let program = program.map(|name| format!(" (`{}`)", name.to_string_lossy()));
    format!("process {}{} runs with {set}", std::process::id(), program.unwrap_or_default())
}

pub(crate) fn set() -> String {
    let mut set: Vec<String> = env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.to_str()?;
            let counts = name.starts_with("UCX_") && !name.starts_with("UCX_LOG_");
            let value = value.to_string_lossy();
            let value: String = value.escape_debug().take(MOST).collect();
            counts.then(|| format!("{name}={value}"))
        })
        .collect();
    set.sort_unstable();
    set.join(" ")
}
