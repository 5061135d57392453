//! The tests' plugins in C, compiled as C is for use.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Compiles `NAME_plugin.c` into `directory`, linked with the `libdoca_common.so` beside this program.
///
/// # Errors
/// When it does not compile, with the compiler's words.
pub(crate) fn compile(name: &str, directory: &Path) -> Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let libraries = beside()?;
    let common = libraries.join("libdoca_common.so");
    ensure!(
        common.exists(),
        "{} is not there: run `cargo build --release -p libdoca-common`",
        common.display()
    );
    // Under the name that the plugin will look for.
    let soname = directory.join("libdoca_common.so.2");
    if !soname.exists() {
        symlink(&common, &soname).with_context(|| format!("cannot make {}", soname.display()))?;
    }
    let output = directory.join(format!("{name}.so"));
    let mut command = Command::new("cc");
    command
        .args(["-std=gnu11", "-O2", "-shared", "-fPIC", "-DDOCA_ALLOW_EXPERIMENTAL_API=", "-o"])
        .arg(&output);
    command.arg("-I").arg(workspace.join("urom-abi/include"));
    command.arg(workspace.join("tests/c").join(format!("{name}_plugin.c")));
    command.arg(&soname).arg(rpath(directory));
    if name == "sandbox" {
        let ucx = Path::new(UCX_LIBRARIES);
        if !UCX_LIBRARIES.is_empty() {
            command.arg("-isystem").arg(ucx.join("../include")).arg("-L").arg(ucx).arg(rpath(ucx));
        }
        command.args(["-lucp", "-lucs"]);
    }
    let result = command.output().context("cannot start cc: `cargo xtask setup` installs it")?;
    if !result.status.success() {
        bail!(
            "{command:?} ended with {}:\n{}",
            result.status,
            String::from_utf8_lossy(&result.stderr)
        );
    }
    Ok(output)
}

/// Where UCX was when this program was built; empty when the linker finds it by itself.
const UCX_LIBRARIES: &str = env!("CODEC_UCX_LIBRARIES");

fn rpath(directory: &Path) -> String {
    format!("-Wl,-rpath,{}", directory.display())
}

/// The directory of this program, where cargo puts the shared objects of the same build, too.
///
/// # Errors
/// When the system does not say where that is.
pub(crate) fn beside() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(program.parent().context("this program's file has no directory")?.to_owned())
}
