//! Fake directory trees for the tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Sample(tempfile::TempDir);

impl Sample {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        // The temporary directory may itself be a link, and some answers are canonical.
        fs::canonicalize(self.0.path()).expect("it is there").join(relative)
    }

    pub(crate) fn ucx(&self, relative: &str, version: (u32, u32), arch: &str) -> PathBuf {
        let root = self.path(relative);
        self.library(root.join("lib"), arch);
        self.header(root.join("include"), version);
        root
    }

    pub(crate) fn library(&self, directory: impl AsRef<Path>, arch: &str) -> PathBuf {
        let directory = self.path(directory);
        fs::create_dir_all(&directory).expect("a directory");
        let machine = crate::unpacked::machine(arch).expect("a known one");
        fs::write(directory.join("libucp.so"), elf(machine)).expect("a file");
        directory
    }

    pub(crate) fn header(&self, include: impl AsRef<Path>, (major, minor): (u32, u32)) {
        let directory = self.path(include).join("ucp/api");
        fs::create_dir_all(&directory).expect("a directory");
        let text = format!("#define UCP_API_MAJOR    {major}\n#define UCP_API_MINOR    {minor}\n");
        fs::write(directory.join("ucp_version.h"), text).expect("a file");
    }

    pub(crate) fn program(&self, relative: &str, script: &str) -> PathBuf {
        let (path, text) = (self.path(relative), self.path(format!("{relative}.text")));
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).expect("it is ours");
        // `cp` writes the program. A child of another test may inherit a file open for writing
        // here, and the kernel refuses to run it until the child closes it.
        let copied = Command::new("cp").arg("-p").args([&text, &path]).status().expect("cp starts");
        assert!(copied.success());
        path
    }
}

/// The start of a shared library for `machine`.
pub(crate) fn elf(machine: u16) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([3, 0]);
    bytes.extend(machine.to_le_bytes());
    bytes.resize(64, 0);
    bytes
}
