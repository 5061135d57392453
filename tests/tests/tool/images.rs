//! `cargo urom check` for the operating systems of BlueFields.

use std::path::Path;

use anyhow::Result;

use crate::check::{assert_has, check, codes, the};
use crate::common::{copy_of, for_the_other_machine, patch};

/// A plugin for BlueField by its file: one of this machine with another machine's header.
fn bluefield_plugin(directory: &Path) -> Result<std::path::PathBuf> {
    let file = copy_of("worker_graph", directory, "worker_graph.so")?;
    if std::env::consts::ARCH != "aarch64" {
        for_the_other_machine(&file)?;
        // The other machine's loader is longer; this library has that length and is in every image.
        patch(&file, b"ld-linux-x86-64.so.2\0", b"libnl-route-3.so.200\0")?;
    }
    Ok(file)
}

#[test]
fn a_newer_glibc_than_an_image_has_is_an_error_for_this_image() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = bluefield_plugin(directory.path())?;
    patch(&file, b"GLIBC_2.34\0", b"GLIBC_2.38\0")?;
    let some = check(&file, &[])?;
    let (severity, text) = the(&some, "glibc")?;
    assert_eq!(severity, "warning", "some images have it");
    assert_has(text, &["2.38", "Ubuntu 22.04 has 2.35", "Debian 12 has 2.36", "Oracle Linux 9"]);
    assert!(!text.contains("24.04"), "{text}");
    let old = check(&file, &["--image", "ubuntu-22.04"])?;
    assert_eq!(the(&old, "glibc")?.0, "error");
    let new = check(&file, &["--image", "ubuntu-24.04"])?;
    assert!(!codes(&new).contains(&"glibc"), "{new:#}");
    patch(&file, b"GLIBC_2.38\0", b"GLIBC_2.99\0")?;
    assert_eq!(the(&check(&file, &[])?, "glibc")?.0, "error", "no image has it");
    Ok(())
}

#[test]
fn libraries_that_an_image_may_lack_are_told() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = bluefield_plugin(directory.path())?;
    let report = check(&file, &["--image", "ubuntu-22.04"])?;
    assert!(!codes(&report).contains(&"library"), "{report:#}");
    patch(&file, b"libgcc_s.so.1\0", b"libmagic.so.1\0")?;
    let (severity, text) = {
        let report = check(&file, &["--image", "ubuntu-22.04"])?;
        let (severity, text) = the(&report, "library")?;
        (severity.to_owned(), text.to_owned())
    };
    assert_eq!(severity, "warning");
    assert_has(&text, &["libmagic.so.1", "Ubuntu 22.04"]);
    patch(&file, b"libmagic.so.1\0", b"libasan.so.08\0")?;
    assert_eq!(the(&check(&file, &["--image", "ubuntu-22.04"])?, "build-library")?.0, "error");
    Ok(())
}
