//! The variables `UCX_*` of this process, for errors: UCX's messages do not name them.

use std::env;

use crate::status::Status;

/// The length to which an error cuts a value.
const MOST: usize = 64;

/// The part of an error about variables that may have caused it. Empty if none could.
pub(crate) fn blamed(status: Status) -> String {
    // Another process ended the connection, or this one did.
    if matches!(status, Status::CONNECTION_RESET | Status::CANCELED) {
        return String::new();
    }
    let set = set();
    let unreachable = status == Status::UNREACHABLE;
    if set.is_empty() && !unreachable {
        return String::new();
    }
    let program = env::current_exe().ok();
    let program = program.as_deref().and_then(|program| program.file_name());
    let program = program.map_or_else(
        || "this process".to_owned(),
        |name| format!("process {} (`{}`)", std::process::id(), name.to_string_lossy()),
    );
    let set = if set.is_empty() { "no variable UCX_*".to_owned() } else { set };
    let advice = if unreachable {
        ": UCX_TLS and UCX_NET_DEVICES of both sides must leave a common transport"
    } else {
        ", which may be the cause"
    };
    format!("; {program} runs with {set}{advice}")
}

/// All variables but UCX's log, as `UCX_NET_DEVICES=lo UCX_TLS=tcp`.
fn set() -> String {
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
