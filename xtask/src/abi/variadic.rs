//! `doca_log` as the C file behind it defines it. Rust only declares and exports that function, so
//! the comparison of the headers with Rust says nothing of the definition: the C compiler compares
//! it with the header.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The definition, from the workspace's root.
pub(super) const SOURCE: &str = "urom-log/c/doca_log.c";

/// The difference between `doca_log` in the headers and its definition in `source`, if there is
/// one.
pub(super) fn difference(source: &Path, headers: &Path) -> Result<Option<String>> {
    let text = format!(
        "#include <doca_log.h>\n#include \"{}\"\n\
         _Static_assert(_Generic(&urom_doca_log, __typeof__(&doca_log): 1, default: 0), \"another signature\");\n",
        source.display()
    );
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-fsyntax-only", "-x", "c", "-I"]).arg(headers).arg("-");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut compiler = command.spawn().context("could not start cc")?;
    compiler.stdin.take().context("cc has no input")?.write_all(text.as_bytes())?;
    let output = compiler.wait_with_output()?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(said.contains("another signature"), "{} does not compile:\n{said}", source.display());
    Ok(Some(format!(
        "function doca_log: {} defines it with another signature than the headers",
        source.display()
    )))
}
