//! Compiles the plugins of this directory, and others that include its `plugin.h`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// This file's directory, also for the tests of `libdoca-host`.
fn sources() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut directories = package.ancestors().map(|path| path.join("urom-service/tests/plugins"));
    directories.find(|path| path.is_dir()).expect("the plugins' sources")
}

pub(crate) fn compile(directory: &Path, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
    let (here, output) = (sources(), directory.join(format!("{name}.so")));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror"]).args(flags);
    for include in [&here, &here.join("../../../urom-abi/include")] {
        cc.arg("-I").arg(include);
    }
    cc.arg(format!("-DNAME=\"{name}\"")).arg("-o").arg(&output).arg(here.join(source));
    let result = cc.output().unwrap();
    assert!(result.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&result.stderr));
    output
}

/// Operations of `obedient.c`: the first word of a command.
#[allow(dead_code, reason = "no test uses all of them")]
pub(crate) mod op {
    pub(crate) const ECHO: u64 = 0;
    /// Answer with as many bytes as the second word.
    pub(crate) const BIG: u64 = 1;
    /// Answer at `RELEASE`.
    pub(crate) const HOLD: u64 = 2;
    /// Answer all held commands, then this.
    pub(crate) const RELEASE: u64 = 3;
    pub(crate) const TWICE: u64 = 4;
    pub(crate) const FAIL_TAKEN: u64 = 5;
    /// Leave the command on the list, and return an error.
    pub(crate) const FAIL_LEFT: u64 = 6;
    /// Answer with the second word as status.
    pub(crate) const STATUS: u64 = 7;
    pub(crate) const PACK_FAILS: u64 = 8;
    pub(crate) const FORGE: u64 = 9;
    /// Answer with the value of the variable named after the first word.
    pub(crate) const GETENV: u64 = 10;
    pub(crate) const PID: u64 = 11;
    pub(crate) const LOOKUPS: u64 = 12;
    pub(crate) const SLACK: u64 = 13;
    pub(crate) const CRASH: u64 = 14;
    pub(crate) const HANG: u64 = 15;
    pub(crate) const PACKS_TOO_LITTLE: u64 = 16;
    pub(crate) const RELEASE_LATE: u64 = 17;
    pub(crate) const WRONG_CONTEXT: u64 = 18;
    pub(crate) const WRONG_DESTINATION: u64 = 19;
    pub(crate) const POLLS: u64 = 20;
    /// Trigger an error for each sanitizer.
    pub(crate) const FAULT: u64 = 21;
    pub(crate) const FORK: u64 = 22;
}
