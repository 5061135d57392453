//! Compiles the plugins of this directory, and others that include its `plugin.h`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes `NAME.so` in `directory`. The compiler's warnings are errors.
pub(crate) fn compile(directory: &Path, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
    let (package, output) =
        (Path::new(env!("CARGO_MANIFEST_DIR")), directory.join(format!("{name}.so")));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror"]).args(flags);
    for include in ["tests/plugins", "../urom-abi/include"] {
        cc.arg("-I").arg(package.join(include));
    }
    cc.arg(format!("-DNAME=\"{name}\""))
        .arg("-o")
        .arg(&output)
        .arg(package.join("tests/plugins").join(source));
    let result = cc.output().unwrap();
    assert!(result.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&result.stderr));
    output
}
