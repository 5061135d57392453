//! Libraries that are loaded at run time: which are taken, what is said of the others, and what the environment chooses.

mod environment;
mod files;
mod releases;
mod shim;

use urom_host::{DocaError, Error, Library};

/// The error of a library that must not load.
fn refused(path: &std::path::Path, code: DocaError) -> Error {
    let error = Library::load(path).expect_err("it cannot be used");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    error
}
