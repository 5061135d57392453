//! Finds artifacts of the same cargo build as the running test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Directory of the running program's profile, such as `target/debug`.
pub fn profile_directory() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut directory = program.parent().context("this program's file lacks a directory")?;
    if directory.ends_with("deps") || directory.ends_with("examples") {
        directory = directory.parent().context("cargo's deps directory lacks a parent")?;
    }
    Ok(directory.to_owned())
}

pub fn built(name: &str) -> Result<PathBuf> {
    // The service of another release: cargo xtask upgrade.
    if let ("uromd", Some(other)) = (name, std::env::var_os("UROM_TEST_UROMD")) {
        return Ok(other.into());
    }
    let file = profile_directory()?.join(name);
    ensure!(
        file.exists(),
        "{} is not there: run the tests with `cargo xtask test`, which builds it first (or `cargo build --workspace`)",
        file.display()
    );
    Ok(file)
}

/// A directory for `UROM_PLUGIN_PATH` with plugins, named as for the service.
#[derive(Debug)]
pub struct PluginDirectory {
    directory: tempfile::TempDir,
}

impl PluginDirectory {
    /// Links each plugin, given as its file name without `.so`, into a new directory.
    pub fn with(plugins: &[&str]) -> Result<PluginDirectory> {
        let directory = PluginDirectory { directory: tempfile::tempdir()? };
        for plugin in plugins {
            directory.link(&built(&format!("lib{plugin}.so"))?, plugin)?;
        }
        Ok(directory)
    }

    /// Links a plugin file under its own name, such as a C plugin.
    pub fn add(&mut self, plugin: &Path) -> Result<()> {
        let name = plugin
            .file_stem()
            .and_then(|name| name.to_str())
            .context("a plugin is a file NAME.so")?;
        self.link(plugin, name)
    }

    fn link(&self, file: &Path, name: &str) -> Result<()> {
        std::os::unix::fs::symlink(file, self.path().join(format!("{name}.so")))
            .with_context(|| format!("cannot add {} to the plugins", file.display()))
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The value of `UROM_PLUGIN_PATH` for only this directory.
    pub fn variable(&self) -> OsString {
        self.path().as_os_str().to_owned()
    }
}
