//! This test program, started once more.

use std::ffi::OsString;
use std::process::Command;

/// Starts one ignored test of this program, behind the emulator that this one runs under: it cannot
/// start its own kind by itself.
pub(crate) fn again(test: &str) -> Command {
    let runner = std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER").unwrap_or_default();
    let runner = runner.split_whitespace().filter(|_| cfg!(target_arch = "aarch64"));
    let mut words: Vec<OsString> = runner.map(Into::into).collect();
    words.push(std::env::current_exe().expect("a test is a file").into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", "--ignored", "--nocapture", test]);
    // Places below the working directory are shown without it.
    command.current_dir("/");
    command
}
