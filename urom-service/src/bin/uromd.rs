//! `uromd`: the UROM service daemon; as `uromd worker`, started by itself, one of its workers.

use std::process::ExitCode;

// What plugins of a worker log with.
urom_service::export_doca_log!();
urom_service::remember_hangup!();

fn main() -> ExitCode {
    urom_service::uromd::main()
}
