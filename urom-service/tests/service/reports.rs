//! Checks that sanitizer reports of a worker arrive where `cargo xtask sanitize` looks.

use std::path::PathBuf;

use crate::support::client::{attached, op};
use urom_os::test_daemon::TOOLS;

/// The common prefix of the sanitizer's reports; `None` without a sanitizer.
fn log_path() -> Option<String> {
    std::env::var_os("UROM_SANITIZED")?;
    let options = TOOLS.iter().filter_map(|name| std::env::var(name).ok()).collect::<Vec<_>>();
    let path = options
        .iter()
        .flat_map(|options| options.split(':'))
        .find_map(|it| it.strip_prefix("log_path="));
    Some(path.expect("the sanitizer is told where its reports go").to_owned())
}

#[test]
fn a_fault_of_a_plugin_is_reported_by_its_workers_process() {
    let Some(log_path) = log_path() else { return };
    let (_uromd, _client, host) = attached(2);
    let pid = host.pid();
    host.ask(1, op::FAULT, 0);
    let report = PathBuf::from(format!("{log_path}.{pid}"));
    host.progress_until(|| {
        std::fs::read_to_string(&report).is_ok_and(|text| text.contains("SUMMARY: "))
    });
    // An expected report: remove it, as all others are errors.
    std::fs::remove_file(report).unwrap();
}
