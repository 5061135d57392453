//! Libraries loaded at run time: accepted libraries, errors for others, and the environment.

mod environment;
mod files;
mod releases;
mod shim;

use std::path::Path;

use urom_host::{DocaError, Error, Library};

fn load(path: impl AsRef<Path>) -> urom_host::Result<Library> {
    // SAFETY: the files are this project's library, shims that `shim` compiles, and files that the
    // loader refuses.
    unsafe { Library::load(path) }
}

fn refused(path: &Path, code: DocaError) -> Error {
    let error = load(path).expect_err("it cannot be used");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    error
}
