//! Detects whether a path still leads to the same file.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Change time of the inode: a replacement may keep the modification time.
    changed: (i64, i64),
}

impl FileIdentity {
    pub(crate) fn of(file: &Path) -> io::Result<FileIdentity> {
        let metadata = fs::metadata(file)?;
        if !metadata.is_file() {
            // Opening a pipe, for example, would block for ever.
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
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
            FileIdentity::of(file.path()).unwrap()
        };
        let first = write("one");
        assert_eq!(FileIdentity::of(file.path()).unwrap(), first);
        // The file system's clock is coarse.
        let begin = std::time::Instant::now();
        while write("two") == first {
            assert!(begin.elapsed().as_secs() < 10, "only the inode's time tells");
        }
    }
}
