//! The key that a service and its hosts share, read from a file that only one user can read. Each
//! kind of stream has a [`Secret`] derived from the key, and workers one for each id. So a worker,
//! which runs plugins, cannot pass for the daemon or another id, only for the next worker with its
//! id.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hmac_sha256::HMAC;
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use urom_os::named_file::{self, NotRegular};

pub const KEY_FILE_VARIABLE: &str = "UROM_KEY_FILE";

/// The shortest key in bytes: the size of the derived secrets.
pub const MIN_KEY: usize = 32;

pub const MAX_KEY: usize = 4096;

const MODE: u32 = 0o600;

/// Proves that a host may connect to a daemon, and to the host that the daemon is genuine.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    bytes: Arc<[u8]>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret([u8; 32]);

#[derive(Debug, thiserror::Error)]
#[error("the key file {path} {problem}", path = .path.display())]
pub struct KeyFileError {
    path: PathBuf,
    /// Part of the text, so it is not repeated as the source.
    problem: KeyProblem,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A link may come from another user.
    #[error("is a symbolic link: name the file itself")]
    Link,
    #[error("is not a regular file")]
    NotAFile,
    /// Its owner can read and change it.
    #[error(
        "belongs to user {owner} and not to user {user}, who runs this program: make a copy of that user's own"
    )]
    Owner { owner: u32, user: u32 },
    #[error(
        "has mode {mode:04o}, and a key must have {MODE:04o}: run `chmod 600` on it or on a copy, and make a new key if others could read it"
    )]
    Mode { mode: u32 },
    #[error(
        "has {0} bytes, and a key has at least {MIN_KEY}: make one with `(umask 077; head -c 32 /dev/urandom > FILE)`"
    )]
    Short(usize),
    #[error("has more than {MAX_KEY} bytes, and is something else than a key")]
    Long,
}

impl KeyFileError {
    pub fn problem(&self) -> &KeyProblem {
        &self.problem
    }
}

impl Key {
    /// Reads a key from a file that belongs to this process's user and has mode 0600.
    pub fn read(path: &Path) -> Result<Key, KeyFileError> {
        read(path).map_err(|problem| KeyFileError { path: path.to_owned(), problem })
    }

    /// A random key, for a service with hosts in its own process. Fails without random numbers.
    pub fn random() -> io::Result<Key> {
        let mut bytes = [0; MIN_KEY];
        fill_random(&mut bytes)?;
        Ok(Key { bytes: Arc::from(bytes) })
    }

    pub fn daemon_secret(&self) -> Secret {
        self.derive(b"urom: host and daemon", &[])
    }

    pub fn worker_secret(&self, id: u64) -> Secret {
        self.derive(b"urom: host and worker", &id.to_le_bytes())
    }

    fn derive(&self, purpose: &[u8], detail: &[u8]) -> Secret {
        Secret(mac(&self.bytes, &[purpose, detail]).finalize())
    }
}

impl Secret {
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.0, parts).finalize()
    }

    /// Whether `proof` is the signature of these bytes, in constant time.
    pub fn verify(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        proof.try_into().is_ok_and(|proof| mac(&self.0, parts).finalize_verify(proof))
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> HMAC {
    let mut mac = HMAC::new(key);
    parts.iter().for_each(|part| mac.update(part));
    mac
}

pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

pub fn key_file_of_environment() -> Option<PathBuf> {
    std::env::var_os(KEY_FILE_VARIABLE)
        .filter(|path: &OsString| !path.is_empty())
        .map(PathBuf::from)
}

fn read(path: &Path) -> Result<Key, KeyProblem> {
    // The checks apply to the open file, regardless of its name.
    let file = match named_file::open(path, OFlags::NOFOLLOW.bits().cast_signed()) {
        Ok(file) => file,
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) && path.is_symlink() => {
            return Err(KeyProblem::Link);
        }
        Err(error) if error.get_ref().is_some_and(|source| source.is::<NotRegular>()) => {
            return Err(KeyProblem::NotAFile);
        }
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    let user = rustix::process::geteuid().as_raw();
    check_access(metadata.uid(), user, metadata.mode() & 0o7777)?;
    let mut bytes = Vec::with_capacity(MIN_KEY);
    file.take(MAX_KEY as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() {
        len @ 0..MIN_KEY => Err(KeyProblem::Short(len)),
        MIN_KEY..=MAX_KEY => Ok(Key { bytes: bytes.into() }),
        _ => Err(KeyProblem::Long),
    }
}

fn check_access(owner: u32, user: u32, mode: u32) -> Result<(), KeyProblem> {
    if owner != user {
        return Err(KeyProblem::Owner { owner, user });
    }
    if mode != MODE {
        return Err(KeyProblem::Mode { mode });
    }
    Ok(())
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
