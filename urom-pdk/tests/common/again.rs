//! Starts this test program again.

use std::ffi::OsString;
use std::process::Command;

/// Starts an ignored test of this program, under the same emulator if there is one.
pub(crate) fn again(test: &str) -> Command {
    let runner = std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER").unwrap_or_default();
    let runner = runner.split_whitespace().filter(|_| cfg!(target_arch = "aarch64"));
    let mut words: Vec<OsString> = runner.map(Into::into).collect();
    words.push(std::env::current_exe().expect("a test is a file").into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", "--ignored", "--nocapture", test]);
    // Paths below the working directory are shown without it.
    command.current_dir("/");
    command
}
