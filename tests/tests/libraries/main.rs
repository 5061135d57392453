//! Libraries loaded at run time: which are taken, what is said of others, and the environment.

mod environment;
mod files;
mod releases;
mod shim;

use urom_host::{DocaError, Error, Library};

fn refused(path: &std::path::Path, code: DocaError) -> Error {
    let error = Library::load(path).expect_err("it cannot be used");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    error
}
