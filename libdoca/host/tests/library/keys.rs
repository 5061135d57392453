//! A host and its key file: when it is read, and the failures.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::ptr::null;

use urom_abi::host::CtxState;
use urom_abi::{DocaError, DocaStatus};

use crate::processes::{Plugins, Uromd};
use crate::support::{At, Engine, OK, TestService, TestWorker, failure, has, new_service, state};

fn key(directory: &Path, name: &str, byte: u8, mode: u32) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, [byte; 32]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn set_key_file(service: &TestService, path: &Path) -> DocaStatus {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    x!(urom_service_set_key_file(service.raw, path.as_ptr()))
}

fn start(
    at: &At<'_>,
    key: Option<&Path>,
    body: impl FnOnce(&Engine, &TestService),
) -> Result<(), (DocaStatus, String)> {
    let engine = Engine::new();
    let service = new_service(at);
    if let Some(key) = key {
        assert_eq!(set_key_file(&service, key), OK);
    }
    service.connect(&engine);
    let code = c!(doca_ctx_start(service.ctx));
    if code != OK {
        assert_eq!(state(service.ctx), CtxState::IDLE);
        return Err((code, failure(service.ctx)));
    }
    body(&engine, &service);
    Ok(())
}

fn one_command(engine: &Engine, service: &TestService) {
    let worker = TestWorker::start(service.raw, engine, 1, 1);
    worker.echo(engine, 1);
    // Each worker has its own key, so a second worker has another.
    let second = TestWorker::start(service.raw, engine, 2, 1);
    second.end(engine);
    worker.end(engine);
}

#[test]
fn a_host_that_holds_the_key_gets_workers_on_every_address() {
    let (plugins, directory) = (Plugins::obedient(), tempfile::tempdir().unwrap());
    let right = key(directory.path(), "right", 1, 0o600);
    // With an unspecified address, workers are at the daemon's address.
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let uromd = Uromd::start_at(listen, &plugins, &["--key-file", right.to_str().unwrap()]);
        let address = ([127, 0, 0, 1], uromd.address.port()).into();
        start(&At::Address(address), Some(&right), one_command).unwrap();
    }
}

#[test]
fn a_missing_or_other_key_fails_the_start_with_advice() {
    let (plugins, directory) = (Plugins::obedient(), tempfile::tempdir().unwrap());
    let right = key(directory.path(), "right", 1, 0o600);
    let wrong = key(directory.path(), "wrong", 2, 0o600);
    let keyed = Uromd::start_with(&plugins, &["--key-file", right.to_str().unwrap()]);
    let open = Uromd::start(&plugins);
    for (uromd, key, part) in [
        (&keyed, None, "requires a key, which this program lacks"),
        (&keyed, Some(&*wrong), "has another key than this program"),
        (&open, Some(&*right), "asks for no key"),
    ] {
        let (code, text) = start(&At::Address(uromd.address), key, |_, _| ()).unwrap_err();
        assert_eq!(code, DocaError::AUTHENTICATION, "{text}");
        assert!(text.contains(part) && text.contains("key file"), "{text}");
        has(&text, &[&uromd.address.to_string(), "the test"]);
    }
}

#[test]
fn a_file_that_is_no_key_fails_the_start_before_anybody_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    key(directory.path(), "open", 1, 0o640);
    fs::write(at("short"), "short").unwrap();
    fs::set_permissions(at("short"), fs::Permissions::from_mode(0o600)).unwrap();
    // Nothing listens there, which would be another failure.
    let address = ([127, 0, 0, 1], 1).into();
    for (name, expected, part) in [
        ("open", DocaError::NOT_PERMITTED, "mode 0640"),
        ("short", DocaError::BAD_CONFIG, "5 bytes"),
        ("", DocaError::BAD_CONFIG, "not a regular file"),
        ("missing", DocaError::NOT_FOUND, "cannot be read"),
    ] {
        let (code, text) = start(&At::Address(address), Some(&at(name)), |_, _| ()).unwrap_err();
        assert_eq!(code, expected, "{text}");
        assert!(text.contains(part) && text.contains(directory.path().to_str().unwrap()), "{text}");
    }
}

#[test]
fn an_embedded_service_has_a_key_of_its_own_and_takes_no_other() {
    let (plugins, directory) = (Plugins::obedient(), tempfile::tempdir().unwrap());
    start(&At::Embedded(plugins.path()), Some(&directory.path().join("missing")), one_command)
        .unwrap();
}

#[test]
fn a_key_file_without_a_name_is_refused_at_once() {
    let service = new_service(&At::Environment);
    assert_eq!(set_key_file(&service, Path::new("")), DocaError::INVALID_VALUE);
    let code = x!(urom_service_set_key_file(service.raw, null()));
    assert_eq!(code, DocaError::INVALID_VALUE);
    service.destroy();
}
