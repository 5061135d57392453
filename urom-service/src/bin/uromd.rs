//! `uromd`, the UROM service daemon. It starts itself as `uromd worker` for each worker.

use std::process::ExitCode;

urom_service::export_doca_log!();
urom_service::remember_hangup!();

fn main() -> ExitCode {
    urom_service::uromd::main()
}
