//! The file with a daemon's address and process, for hosts of the same job: the port is not fixed.
//! The daemon locks it until its process ends; the next daemon takes over an unlocked file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use urom_os::named_file::NotRegular;

/// Size limit in bytes: an address, a process and a machine's name.
const MOST: u64 = 512;

#[derive(Debug)]
pub(super) struct AddressFile {
    path: PathBuf,
    file: File,
}

impl AddressFile {
    pub(super) fn claim(path: &Path) -> Result<AddressFile> {
        let shown = path.display();
        for _ in 0..TRIES {
            let mut file = open(path).with_context(|| {
                format!(
                    "cannot write the address file {shown}: --address-file takes a file in a \
                     directory that exists, and that this user may write to"
                )
            })?;
            let mut text = String::new();
            // A foreign file may be long and binary.
            let read = Read::by_ref(&mut file).take(MOST).read_to_string(&mut text);
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => bail!("another uromd runs here: {}", holder(&text, path)),
                locked => locked.with_context(|| {
                    format!("cannot lock {shown}: choose a directory of this machine")
                })?,
            }
            if !is_at(&file, path) {
                continue;
            }
            ensure!(
                read.is_ok() && (text.is_empty() || is_of_a_daemon(&text)),
                "{shown} is not an address file and stays: --address-file names a file that \
                 uromd may write and remove"
            );
            file.set_len(0)?;
            return Ok(AddressFile { path: path.to_owned(), file });
        }
        bail!("{shown} was removed or replaced {TRIES} times while this program locked it")
    }

    /// Writes the address. For all addresses, it names the machine.
    pub(super) fn write(&self, address: SocketAddr) -> Result<()> {
        let names = rustix::system::uname();
        let machine = names.nodename().to_string_lossy();
        let (host, port) = (address.ip(), address.port());
        let address = match host.is_unspecified() {
            true => format!("{machine}:{port}"),
            false => address.to_string(),
        };
        let text = format!("{address}\n{PROCESS}{}{ON}{machine}\n", std::process::id());
        let written = self.file.write_all_at(text.as_bytes(), 0);
        let written = written.and_then(|()| self.file.sync_data());
        written.with_context(|| format!("cannot write the address file {}", self.path.display()))
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        if is_at(&self.file, &self.path) {
            // A remaining file is stale: connections fail, and the next daemon takes it over.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Each retry follows a daemon that removed the file at its end.
const TRIES: u32 = 100;

const PROCESS: &str = "process ";
const ON: &str = " on ";

/// Returns whether a daemon wrote this text: `HOST:PORT`, then `process N on NAME`.
fn is_of_a_daemon(text: &str) -> bool {
    let mut lines = text.lines();
    let address = lines.next().and_then(|line| line.rsplit_once(':'));
    let has_port = address.is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains(char::is_whitespace) && port.parse::<u16>().is_ok()
    });
    let process = lines.next().and_then(|line| line.strip_prefix(PROCESS)?.split_once(ON));
    let has_process = process.is_some_and(|(id, name)| {
        id.parse::<u32>().is_ok() && !name.is_empty() && !name.contains(char::is_whitespace)
    });
    has_port && has_process && lines.next().is_none()
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o644);
    // Opening a pipe or a device must not block.
    let file = options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(NotRegular)),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|one| (one.dev(), one.ino()));
    id(file.metadata()) == id(fs::metadata(path))
}

fn holder(text: &str, path: &Path) -> String {
    let shown = path.display();
    match text.split_once('\n') {
        Some((address, process)) => format!(
            "{} listens on {address} and holds the address file {shown}; end it, or name \
             another file with --address-file",
            process.trim_end()
        ),
        None => format!("it has locked the address file {shown}, and starts or ends just now"),
    }
}
