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

/// This project's extensions, NUL-terminated.
const EXTENSIONS: &[&str] = urom_abi::host_extensions!(names);

pub fn doca_library() -> Result<PathBuf> {
    Ok(prefix()?.lib().join("libdoca_urom.so"))
}

/// Makes the library without this project's extensions, like DOCA's, in `directory`, with all
/// functions in one file.
pub fn plain_doca_library(directory: &Path) -> Result<PathBuf> {
    const NAME: &[u8] = b"liburom_doca.so\0";
    let mut bytes = std::fs::read(prefix()?.lib().join("liburom_doca.so"))?;
    // A unique name: the loader treats equal names as the same library.
    static MADE: AtomicU32 = AtomicU32::new(0);
    let other = format!("lib{:04}_doca.so\0", MADE.fetch_add(1, Ordering::Relaxed));
    let at = bytes.windows(NAME.len()).position(|bytes| bytes == NAME);
    let at = at.context("the library has its name")?;
    bytes[at..at + NAME.len()].copy_from_slice(other.as_bytes());
    let mut found = [false; EXTENSIONS.len()];
    for at in 1..bytes.len() {
        if (bytes[at - 1], bytes[at]) == (0, b'u')
            && let Some(name) =
                EXTENSIONS.iter().position(|name| bytes[at..].starts_with(name.as_bytes()))
        {
            // Renamed symbols cannot be found.
            bytes[at] = b'x';
            found[name] = true;
        }
    }
    ensure!(
        found == [true; EXTENSIONS.len()],
        "the library does not export all of its extensions: {found:?}"
    );
    let file = directory.join("libdoca_urom.so");
    std::fs::write(&file, bytes)?;
    Ok(file)
}
