//! The file of `uromd --address-file`: the service's address, then its process.

use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use urom_os::named_file;
use urom_wire::control::Failure;

use super::text::split;
use super::{AddressSource, DaemonAddress};
use crate::failure::{fail_if, failure};

const MOST: usize = 4096;

/// Reads an address file. `origin` is the source of its name, such as `from --service`.
pub(super) fn read(file: &Path, origin: &str) -> Result<DaemonAddress, Failure> {
    let shown = file.display();
    let text = read_own(file).map_err(|error| match error.kind() {
        ErrorKind::NotFound => failure!(
            NOT_FOUND,
            "the address file {shown} ({origin}) does not exist: its service has not started yet, \
             or has ended; uromd --address-file writes it"
        ),
        _ => failure!(
            IO_FAILED,
            "the address file {shown} ({origin}) cannot be read: {error}; name the file of uromd \
             --address-file"
        ),
    })?;
    fail_if!(
        text.is_empty(),
        NOT_FOUND,
        "the address file {shown} ({origin}) is empty: its service is about to write it; try \
             again"
    );
    // A line without a newline is incomplete.
    let lines = text.split_once('\n').and_then(|(address, rest)| Some((split(address)?, rest)));
    let Some(((host, Some(port)), rest)) = lines else {
        return Err(failure!(
            BAD_CONFIG,
            "{shown} ({origin}) does not begin with a line HOST:PORT: name the file of uromd \
             --address-file"
        ));
    };
    let process = rest.lines().next().unwrap_or("an unknown process");
    let origin = format!("from the address file {shown} of {process}, {origin}");
    let source = AddressSource::Daemon;
    Ok(DaemonAddress { host, port, origin, remedy: "the address file", source })
}

/// Reads a file of root or this user. Other users could redirect the host.
fn read_own(file: &Path) -> io::Result<String> {
    let file = named_file::open(file, 0)?;
    let owner = file.metadata()?.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("it belongs to user {owner}")));
    }
    let bytes = named_file::contents(file, MOST)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("its bytes are not UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use urom_abi::DocaError;

    use super::*;

    fn written(text: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("service");
        fs::write(&file, text).unwrap();
        (directory, file)
    }

    #[test]
    fn a_service_is_found_with_its_process() {
        for (text, host, process) in [
            ("10.0.0.2:7\nprocess 42 on node7\n", "10.0.0.2", "process 42 on node7"),
            ("[::1]:7\nprocess 42 on node7\n", "::1", "process 42 on node7"),
            ("node7:7\n", "node7", "an unknown process"),
        ] {
            let (_directory, file) = written(text.as_bytes());
            let found = read(&file, "from --service").unwrap();
            let shown = file.display();
            let origin = format!("from the address file {shown} of {process}, from --service");
            assert_eq!((&*found.host, found.port, found.origin), (host, 7, origin));
        }
    }

    #[test]
    fn a_file_that_is_no_address_is_named_with_what_it_should_be() {
        let long = [b'1'; MOST + 1];
        for (text, code, part) in [
            (&b""[..], DocaError::NOT_FOUND, "is empty"),
            (b"10.0.0.2:7", DocaError::BAD_CONFIG, "HOST:PORT"),
            (b"10.0.0.2:70000\n", DocaError::BAD_CONFIG, "HOST:PORT"),
            (b"10.0.0.2\n", DocaError::BAD_CONFIG, "HOST:PORT"),
            (b"\n10.0.0.2:7\n", DocaError::BAD_CONFIG, "HOST:PORT"),
            (b"#!/bin/sh\nexit 1\n", DocaError::BAD_CONFIG, "HOST:PORT"),
            (b"\xff:7\n", DocaError::IO_FAILED, "UTF-8"),
            (&long, DocaError::IO_FAILED, "more than 4096 bytes"),
        ] {
            let (_directory, file) = written(text);
            let failure = read(&file, "from --service").unwrap_err();
            assert_eq!(failure.code, code, "{failure}");
            for part in [part, &file.display().to_string(), "(from --service)"] {
                assert!(failure.text.contains(part), "{part} in {failure}");
            }
        }
    }

    #[test]
    fn a_path_without_a_file_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let missing = read(&directory.path().join("missing"), "from --service").unwrap_err();
        assert_eq!(missing.code, DocaError::NOT_FOUND);
        assert!(missing.text.contains("has not started yet, or has ended"), "{missing}");
        let pipe = directory.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [directory.path(), &pipe, Path::new("/dev/zero")] {
            let failure = read(path, "from --service").unwrap_err();
            assert_eq!(failure.code, DocaError::IO_FAILED, "{failure}");
            assert!(failure.text.contains("not a regular file"), "{failure}");
        }
    }

    #[test]
    fn a_file_of_another_user_is_refused_with_its_owner() {
        let (_directory, file) = written(b"127.0.0.1:7\nprocess 42 on node7\n");
        // Only root can change a file's owner.
        if std::os::unix::fs::chown(&file, Some(12345), None).is_ok() {
            let failure = read(&file, "from --service").unwrap_err();
            assert!(failure.text.contains("belongs to user 12345"), "{failure}");
        }
    }
}
