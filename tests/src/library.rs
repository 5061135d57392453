//! The `libdoca_urom.so` that tests load.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};

use crate::c::prefix;

macro_rules! names {
    ($($(#[$doc:meta])* fn $name:ident($($argument:tt)*) $(-> $answer:ty)?;)*) => {
        &[$(concat!(stringify!($name), "\0")),*]
    };
}

/// This project's extensions, each with a NUL behind it.
const EXTENSIONS: &[&str] = urom_abi::host_extensions!(names);

/// The `libdoca_urom.so` of the prefix beside the running test.
pub fn doca_library() -> Result<PathBuf> {
    Ok(prefix()?.lib().join("libdoca_urom.so"))
}

/// The same library without this project's extensions, which is what any other libdoca_urom is;
/// made in `directory`, with a `libdoca_common` that is its own.
pub fn plain_doca_library(directory: &Path) -> Result<PathBuf> {
    let mut bytes = std::fs::read(doca_library()?)?;
    const COMMON: &[u8] = b"libdoca_common.so.2\0";
    // As long as the real name, for which the file has room; no other copy in the process has it.
    static MADE: AtomicU32 = AtomicU32::new(0);
    let other = format!("libdoca_{:06}.so.2\0", MADE.fetch_add(1, Ordering::Relaxed));
    let mut found = [false; EXTENSIONS.len()];
    for at in 1..bytes.len() {
        if (bytes[at - 1], bytes[at]) == (0, b'u')
            && let Some(name) =
                EXTENSIONS.iter().position(|name| bytes[at..].starts_with(name.as_bytes()))
        {
            // Nobody finds a symbol that has another name.
            bytes[at] = b'x';
            found[name] = true;
        }
    }
    ensure!(
        found == [true; EXTENSIONS.len()],
        "the library does not export all of its extensions: {found:?}"
    );
    let mut common = std::fs::read(prefix()?.lib().join("libdoca_common.so"))?;
    for library in [&mut bytes, &mut common] {
        let starts = |at: &usize| library[*at..].starts_with(COMMON);
        let at = (0..library.len()).find(starts).context("the libraries have DOCA's names")?;
        library[at..at + other.len()].copy_from_slice(other.as_bytes());
    }
    std::fs::write(directory.join(other.trim_end_matches('\0')), common)?;
    let file = directory.join("libdoca_urom.so");
    std::fs::write(&file, bytes)?;
    Ok(file)
}
