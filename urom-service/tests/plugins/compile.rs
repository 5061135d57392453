//! Compiles the plugins of this directory, and others that include its `plugin.h`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of this file. The tests of `libdoca-host` compile these plugins, too.
fn sources() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut places = package.ancestors().map(|place| place.join("urom-service/tests/plugins"));
    places.find(|place| place.is_dir()).expect("the plugins' sources")
}

/// Makes `NAME.so` in `directory`. The compiler's warnings are errors.
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
