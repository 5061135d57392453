//! The installed prefix of the current build.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::built::{built, profile_directory};
use crate::command::run;

/// Advice if the prefix is missing or outdated.
const REMEDY: &str = "run the tests with `cargo xtask test -p urom-tests`, which lays it out";

/// Library that hosts preload to export memory without an RDMA device.
const EMULATION: &str = "liburom_ucx_emulation.so";

#[derive(Debug, Clone)]
pub struct Prefix {
    root: PathBuf,
}

/// The installed prefix of the running test's build: `target/debug/prefix`.
pub fn prefix() -> Result<Prefix> {
    let root = profile_directory()?.join("prefix");
    let prefix = Prefix { root };
    ensure!(prefix.root.is_dir(), "{} is not there: {REMEDY}", prefix.root.display());
    // In the build tree these names belong to the latest build. uromd is not compared: tests of
    // urom-service rebuild it.
    let libraries = ["liburom_doca.so", EMULATION];
    let mut pairs = libraries
        .map(|name| Ok((prefix.lib().join(name), built(name)?)))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../urom-abi/include");
    for header in fs::read_dir(&headers).with_context(|| headers.display().to_string())? {
        let header = header?;
        pairs.push((prefix.include().join(header.file_name()), header.path()));
    }
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
    for (installed, source) in [
        ("lib/systemd/system/uromd.service", "systemd/uromd.service"),
        ("share/urom/deploy/container/Containerfile", "container/Containerfile"),
        ("share/urom/deploy/container/entrypoint", "container/entrypoint"),
        ("share/urom/deploy/container/health", "container/health"),
        ("share/urom/deploy/container/uromd.yaml", "container/uromd.yaml"),
    ] {
        pairs.push((prefix.root.join(installed), deploy.join(source)));
    }
    for (installed, newest) in pairs {
        let changed = |file: &Path| fs::metadata(file).and_then(|metadata| metadata.modified());
        ensure!(
            // A missing file counts as oldest.
            changed(&installed).ok() >= Some(changed(&newest)?),
            "{} is older than {}: {REMEDY} anew",
            installed.display(),
            newest.display()
        );
    }
    Ok(prefix)
}

impl Prefix {
    pub fn at(root: impl Into<PathBuf>) -> Prefix {
        Prefix { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Library that hosts preload to export memory without an RDMA device.
    pub fn emulation(&self) -> PathBuf {
        self.lib().join(EMULATION)
    }

    pub fn uromd(&self) -> PathBuf {
        self.root.join("bin/uromd")
    }

    /// `LD_LIBRARY_PATH` for its programs: its libraries, and its UCX if included.
    pub fn library_path(&self) -> OsString {
        let mut path = self.lib().into_os_string();
        let ucx = self.lib().join("urom-ucx/libucx/lib");
        if ucx.is_dir() {
            path.push(":");
            path.push(ucx);
        }
        path
    }

    /// Runs pkg-config like a user with `PKG_CONFIG_PATH`.
    pub fn pkg_config(&self, options: &[&str], modules: &[&str]) -> Result<Vec<String>> {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", self.lib().join("pkgconfig")).args(options).args(modules);
        Ok(words(&run(&mut command)?))
    }
}

/// Splits pkg-config's output at unescaped spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.extend(characters.next()),
            space if space.is_whitespace() => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)))
            }
            other => word.push(other),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_split_where_a_shell_would_split_it() {
        assert_eq!(words("-I/a\\ b/c  -la \n"), ["-I/a b/c", "-la"]);
        assert_eq!(words("\n"), [""; 0]);
        assert_eq!(words("-l:x.so.2 \\\\"), ["-l:x.so.2", "\\"]);
    }
}
