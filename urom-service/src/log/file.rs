//! A log file, which a rotation may move away while processes write to it.
//!
//! The daemon and each worker open the file by its path, and look at most once a second whether the
//! path still leads to it. So a rotation needs no message to the workers, which would have to come
//! from a daemon that may just have ended, and pass a worker that is in a plugin's call.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;

const MODE: u32 = 0o640;

const INTERVAL: Duration = Duration::from_secs(1);

/// Which process's standard streams lead to the file, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// The daemon's stay: standard output has its address.
    Kept,
    /// UCX and plugins of a worker write to standard output and standard error.
    Redirected,
}

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    streams: Streams,
    file: File,
    identity: FileNumbers,
    looked: Instant,
    has_failed: bool,
}

/// Where lines go.
#[derive(Debug)]
pub(super) enum Destination {
    Closed,
    Stream(File),
    File(LogFile),
}

impl Destination {
    pub(super) fn file(&self) -> Option<&File> {
        match self {
            Destination::Closed => None,
            Destination::Stream(file) => Some(file),
            Destination::File(log) => Some(log.file()),
        }
    }

    pub(super) fn is_moved(&mut self) -> bool {
        match self {
            Destination::File(log) => log.is_moved(),
            _ => false,
        }
    }
}

type FileNumbers = (u32, u32, u64);

/// Opens a file for appending. A pipe without a reader is an error, and does not block.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true).mode(MODE).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}

impl LogFile {
    pub(super) fn open(path: &Path, streams: Streams) -> io::Result<LogFile> {
        let file = open(path)?;
        if streams == Streams::Redirected {
            rustix::stdio::dup2_stdout(&file)?;
            rustix::stdio::dup2_stderr(&file)?;
        }
        let identity = numbers(file.as_fd(), Path::new(""), AtFlags::EMPTY_PATH)?;
        let (path, looked) = (path.to_owned(), Instant::now());
        Ok(LogFile { path, streams, file, identity, looked, has_failed: false })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Returns whether the path leads elsewhere. Does not wait for a file system's server.
    pub(super) fn is_moved(&mut self) -> bool {
        if self.looked.elapsed() < INTERVAL {
            return false;
        }
        let is_moved = self.leads_elsewhere();
        // A thread that may wait opens the file. It looks again.
        if !is_moved {
            self.looked = Instant::now();
        }
        is_moved
    }

    fn leads_elsewhere(&self) -> bool {
        match numbers(CWD, &self.path, AtFlags::STATX_DONT_SYNC) {
            Ok(found) => found != self.identity,
            Err(error) => error == Errno::NOENT,
        }
    }

    /// Opens the file again if the path leads elsewhere, `now` or when a look is due. Returns the
    /// first of several errors; lines then go to the old file.
    pub(super) fn follow(&mut self, now: bool) -> Option<String> {
        if !(now && self.leads_elsewhere() || self.is_moved()) {
            return None;
        }
        match LogFile::open(&self.path, self.streams) {
            Ok(new) => {
                *self = new;
                None
            }
            Err(error) => {
                self.looked = Instant::now();
                let path = self.path.display();
                let text = format!(
                    "cannot open {path} again, so lines go to the file that was moved: {error}"
                );
                (!std::mem::replace(&mut self.has_failed, true)).then_some(text)
            }
        }
    }
}

fn numbers(at: BorrowedFd<'_>, path: &Path, flags: AtFlags) -> Result<FileNumbers, Errno> {
    let stat = statx(at, path, flags, StatxFlags::INO)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::sync::Arc;

    use super::super::writer::Lines;
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    fn logged() -> (tempfile::TempDir, PathBuf, Arc<Lines>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let lines = Lines::to_file(&path, Streams::Kept).unwrap();
        (directory, path, lines)
    }

    /// Moves the file away, as logrotate does.
    fn rotate(path: &Path) -> PathBuf {
        let old = path.with_extension("1");
        fs::rename(path, &old).unwrap();
        old
    }

    fn read(path: &Path, lines: &Lines) -> String {
        lines.flush();
        fs::read_to_string(path).unwrap()
    }

    fn wait_for(path: &Path, mut step: impl FnMut()) {
        let start = Instant::now();
        while !path.exists() {
            assert!(start.elapsed() < TIMEOUT, "no {}", path.display());
            step();
            std::thread::yield_now();
        }
    }

    #[test]
    fn lines_are_appended_to_a_file_that_others_cannot_read() {
        let (_directory, path, lines) = logged();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o137, 0);
        lines.write("one\n".to_owned());
        lines.flush();
        let again = Lines::to_file(&path, Streams::Kept).unwrap();
        again.write("two\n".to_owned());
        assert_eq!(read(&path, &again), "one\ntwo\n");
    }

    #[test]
    fn after_a_rotation_lines_behind_a_reopen_are_in_the_new_file() {
        let (_directory, path, lines) = logged();
        lines.write("one\n".to_owned());
        lines.flush();
        let old = rotate(&path);
        lines.reopen();
        lines.write("two\n".to_owned());
        wait_for(&path, || {});
        assert_eq!(read(&path, &lines), "two\n");
        assert_eq!(read(&old, &lines), "one\n");
    }

    #[test]
    fn a_process_that_gets_no_message_finds_the_new_file() {
        let (_directory, path, lines) = logged();
        let old = rotate(&path);
        let mut count = 0;
        wait_for(&path, || {
            lines.write(format!("{count}\n"));
            count += 1;
        });
        let all = read(&old, &lines) + &read(&path, &lines);
        assert!(all.lines().eq((0..count).map(|at: usize| at.to_string())), "each line once");
    }

    #[test]
    fn a_reopen_without_a_rotation_keeps_the_file() {
        let (_directory, path, lines) = logged();
        let inode = fs::metadata(&path).unwrap().ino();
        lines.reopen();
        lines.write("one\n".to_owned());
        assert_eq!(read(&path, &lines), "one\n");
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    }

    #[test]
    fn a_file_that_cannot_be_opened_again_costs_one_line_and_the_old_file_goes_on() {
        let (_directory, path, lines) = logged();
        let old = rotate(&path);
        fs::create_dir(&path).unwrap();
        for line in ["one\n", "two\n"] {
            lines.reopen();
            lines.write(line.to_owned());
            lines.flush();
        }
        let all = read(&old, &lines);
        assert_eq!(all.matches("cannot open").count(), 1, "{all}");
        assert!(all.contains("one\n") && all.contains("two\n"), "{all}");
    }

    #[test]
    fn a_file_in_no_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().join("no/log"), directory.path().to_owned()] {
            assert!(Lines::to_file(&path, Streams::Kept).is_err(), "{}", path.display());
        }
    }
}
