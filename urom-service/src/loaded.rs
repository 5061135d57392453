//! Which files this process has loaded as plugins, and what each showed of itself then.
//!
//! The loader takes a path it knows for the file it knows. So a file in the place of a loaded one
//! is loaded by another spelling of the path, and what a loaded file shows is kept: by then another
//! one may lie there.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::plugin_elf::PluginElf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Of its inode: a copy may keep the time, and take the place, of what it replaces.
    changed: (i64, i64),
}

impl Identity {
    pub(crate) fn of(file: &Path) -> io::Result<Identity> {
        let metadata = fs::metadata(file)?;
        if !metadata.is_file() {
            // Opening, say, a pipe would wait for ever.
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    fn is_same_place(self, other: Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

#[derive(Debug)]
struct File {
    identity: Identity,
    elf: PluginElf,
}

/// By the paths with which they were loaded, as text: different spellings of a path compare as
/// equal paths.
static FILES: LazyLock<Mutex<HashMap<OsString, File>>> = LazyLock::new(Mutex::default);

fn files() -> MutexGuard<'static, HashMap<OsString, File>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path by which `file` is loaded, which is noted as loaded by it.
pub(crate) fn spelling(
    file: &Path,
    identity: Identity,
    elf: &PluginElf,
) -> Result<PathBuf, String> {
    let mut files = files();
    let mut spelling = file.to_owned();
    while let Some(known) = files.get(spelling.as_os_str()) {
        if known.identity == identity
            || (known.identity.is_same_place(identity) && known.elf == *elf)
        {
            return Ok(spelling);
        }
        if known.identity.is_same_place(identity) {
            return Err("it was overwritten after this process had loaded it: restart the program; a new file that is moved \
                 into its place needs no restart"
                .to_owned());
        }
        spelling = respell(&spelling);
    }
    files.insert(spelling.clone().into(), File { identity, elf: elf.clone() });
    Ok(spelling)
}

pub(crate) fn forget(spelling: &Path) {
    files().remove(spelling.as_os_str());
}

pub(crate) fn shown(spelling: &Path) -> Option<PluginElf> {
    files().get(spelling.as_os_str()).map(|file| file.elf.clone())
}

/// The same file by a path that was not used before: with one more `./` in it.
fn respell(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let name_at = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (directory, name) = bytes.split_at(name_at);
    OsString::from_vec([directory, b"./", name].concat()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_keeps_the_time_of_what_it_overwrites_is_another_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |text: &str| {
            fs::write(&file, text).unwrap();
            file.as_file().set_modified(std::time::UNIX_EPOCH).unwrap();
            Identity::of(file.path()).unwrap()
        };
        let first = write("one");
        assert_eq!(Identity::of(file.path()).unwrap(), first);
        // The file system's clock has ticks.
        let begin = std::time::Instant::now();
        while write("two") == first {
            assert!(begin.elapsed().as_secs() < 10, "only the inode's time tells");
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_loaded_one_has_a_path_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let (place, beside) = (directory.path().join("a.so"), directory.path().join("b.so"));
        let one = PluginElf { missing: Vec::new(), description: None };
        let other = PluginElf { missing: vec!["x"], ..one.clone() };
        let spelled = |elf: &PluginElf| spelling(&place, Identity::of(&place).unwrap(), elf);
        let touch = |seconds: u64| {
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options().write(true).open(&place).unwrap().set_modified(at).unwrap();
        };
        fs::write(&place, "one").unwrap();
        assert_eq!(shown(&place), None);
        assert_eq!(spelled(&one).unwrap(), place);
        touch(1);
        assert_eq!(spelled(&one).unwrap(), place, "the same but for its time");
        touch(2);
        let error = spelled(&other).unwrap_err();
        assert!(error.contains("overwritten") && error.contains("restart"), "{error}");
        fs::write(&beside, "two").unwrap();
        // The old file is kept, as the loader keeps what it has loaded.
        let _old = fs::File::open(&place).unwrap();
        fs::rename(&beside, &place).unwrap();
        let second = spelled(&other).unwrap();
        assert_eq!(second, directory.path().join("./a.so"));
        assert_ne!(second.as_os_str(), place.as_os_str());
        assert_eq!((shown(&place), shown(&second)), (Some(one), Some(other)));
    }
}
