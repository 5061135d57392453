//! Reads the file that a variable, an option or a call names. The name may lead to a pipe without a
//! writer, or to a device without an end.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The source of the [`io::Error`] for a pipe, a device, a directory or a socket.
#[derive(Debug)]
pub struct NotRegular;

impl fmt::Display for NotRegular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not a regular file")
    }
}

impl std::error::Error for NotRegular {}

/// Opens a regular file for reading, with these `O_..` flags as well. It never waits.
///
/// # Errors
/// [`NotRegular`] for any other kind of file, else the operating system's.
pub fn open(path: &Path, flags: i32) -> io::Result<File> {
    let flags = flags | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        // A socket, or a device without a driver.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
            return Err(io::Error::other(NotRegular));
        }
        opened => opened?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(NotRegular)),
    }
}

/// Reads a regular file of at most `most` bytes. Files of `/proc` state the size 0, so the limit
/// also holds for the bytes read.
///
/// # Errors
/// As [`open`], and for a longer file.
pub fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    contents(open(path, 0)?, most)
}

/// Reads a file that is open, in the same way.
///
/// # Errors
/// The operating system's, and for a longer file.
pub fn contents(file: File, most: usize) -> io::Result<Vec<u8>> {
    let too_long = || io::Error::other(format!("it has more than {most} bytes"));
    let len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if len > most {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(len);
    let read = file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if read > most { Err(too_long()) } else { Ok(bytes) }
}

/// Reads a text in the same way.
///
/// # Errors
/// As [`read`], and for bytes outside UTF-8.
pub fn read_text(path: &Path, most: usize) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::other("its bytes are not UTF-8"))
}

#[cfg(test)]
// Miri cannot make named pipes.
#[cfg(not(miri))]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "four").unwrap();
        assert_eq!(read_text(&file, 4).unwrap(), "four");
        assert_eq!(read(&file, 3).unwrap_err().to_string(), "it has more than 3 bytes");
        // The kernel states the size 0.
        assert!(read(Path::new("/proc/self/status"), 1 << 20).unwrap().starts_with(b"Name"));
        assert!(read(Path::new("/proc/self/status"), 10).is_err());
        File::options().write(true).open(&file).unwrap().set_len(1 << 40).unwrap();
        assert!(read(&file, 1 << 20).unwrap_err().to_string().contains("1048576"));
        fs::write(&file, [0xff]).unwrap();
        assert!(read_text(&file, 4).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn whatever_is_not_a_regular_file_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let (pipe, socket) = (directory.path().join("pipe"), directory.path().join("socket"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _listener = UnixListener::bind(&socket).unwrap();
        for path in [&*pipe, &socket, directory.path(), Path::new("/dev/zero")] {
            let error = read(path, 4).unwrap_err();
            let source = error.get_ref().expect("a source");
            assert!(source.is::<NotRegular>(), "{}: {error}", path.display());
        }
        let missing = read(&directory.path().join("missing"), 4).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
