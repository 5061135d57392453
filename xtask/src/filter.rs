//! The libraries with DOCA's names, as filters of the real library.
//!
//! Programs record the filter's name. The loader loads the real library with it, and takes the
//! functions from there. The filter's own functions trap.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use fs_err as fs;

use crate::pkgconfig::{self, RELEASE};
use crate::shell;
use crate::target::BuildTarget;

pub(crate) const REAL: &str = "liburom_doca.so";

/// The library of a function in DOCA, without `lib` and `.so`.
fn owner(function: &str) -> &'static str {
    match function {
        _ if function.starts_with("doca_argp_") => "doca_argp",
        _ if function.starts_with("doca_urom_") || function.starts_with("urom_") => "doca_urom",
        _ => "doca_common",
    }
}

pub(crate) fn make(directory: &Path, target: Option<BuildTarget>) -> Result<()> {
    let host = BuildTarget::host()?;
    let cc = target.unwrap_or(host).program("LINKER", host).unwrap_or("cc");
    let nm = shell::read(Command::new(cc).arg("-print-prog-name=nm"))?;
    let real = directory.join(REAL);
    let listed = shell::read(Command::new(nm.trim()).args(["-D", "--defined-only"]).arg(real))?;
    let functions = listed.lines().filter_map(|line| line.split(' ').nth(2));
    let functions: Vec<&str> =
        functions.filter(|name| name.starts_with("doca_") || name.starts_with("urom_")).collect();
    for library in pkgconfig::libraries() {
        let own = functions.iter().filter(|name| owner(name) == library);
        let code: String =
            own.map(|name| format!("void {name}(void) {{ __builtin_trap(); }}\n")).collect();
        ensure!(!code.is_empty(), "{REAL} lacks a function of lib{library}");
        let source = tempfile::Builder::new().suffix(".c").tempfile()?;
        fs::write(source.path(), code)?;
        let file = directory.join(format!("lib{library}.so"));
        let mut command = Command::new(cc);
        command.args(["-shared", "-fPIC", "-nostdlib", "-fno-builtin", "-Wl,--enable-new-dtags"]);
        command.arg(format!("-Wl,-soname,{}", soname(&library)));
        command.arg(format!("-Wl,--filter={REAL},-rpath,$ORIGIN,-z,nodelete"));
        shell::quietly(command.arg("-o").arg(file).arg(source.path()))?;
    }
    Ok(())
}

/// The name that programs record, such as `libdoca_urom.so.2`.
pub(crate) fn soname(library: &str) -> String {
    let major = RELEASE.split_once('.').map_or(RELEASE, |(major, _)| major);
    format!("lib{library}.so.{major}")
}
