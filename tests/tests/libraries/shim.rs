//! Libraries compiled with `cc` whose DOCA functions all fail.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;
use urom_abi::DocaError;
use urom_abi::host::Api;

pub(crate) struct Shim {
    directory: TempDir,
}

impl Shim {
    /// Defines all functions except `missing`; `version` is a C expression for DOCA's version.
    pub(crate) fn new(version: Option<&str>, missing: &[&str]) -> Result<Shim> {
        let mut code = String::new();
        if let Some(version) = version {
            code += &format!("const char *doca_version_runtime(void) {{ return {version}; }}\n");
        }
        for name in Api::SYMBOLS.iter().filter(|name| !missing.contains(name)) {
            code += &format!("unsigned {name}(void) {{ return {}; }}\n", DocaError::DRIVER.code());
        }
        Shim::compile(&code, &[])
    }

    pub(crate) fn compile(code: &str, libraries: &[&Path]) -> Result<Shim> {
        let shim = Shim { directory: tempfile::tempdir()? };
        let source = shim.directory.path().join("shim.c");
        std::fs::write(&source, code)?;
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"]).arg(shim.path());
        urom_tests::run(cc.arg(&source).args(libraries))?;
        Ok(shim)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("libdoca_urom.so")
    }
}
