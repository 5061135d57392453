//! The way of lines out of the process, such as those of the log. A reader that does not read holds nobody up.
//!
//! A line is written at once where the kernel takes it without waiting. Any other waits in a bounded buffer, which a
//! thread empties: it may wait for a full pipe, a stopped terminal or a slow file system. Lines that find the buffer full
//! are dropped and counted, and the next line that is written says how many.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{ReadWriteFlags, pwritev2, retry_on_intr};
use urom_abi::log::Level;
use urom_abi::{Count, signals};
use urom_log::Origin;

/// How many bytes of lines may wait.
const ROOM: usize = 256 << 10;

/// How long [`flush`] waits for a reader.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Lines to a descriptor whose reader may be slow or gone, and those that wait for it.
#[derive(Debug)]
pub(crate) struct Lines {
    out: Option<File>,
    waiting: Mutex<Waiting>,
    /// Told when lines begin to wait, and when they no longer do.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: VecDeque<u8>,
    dropped: u64,
    /// The thread is there.
    started: bool,
    /// The thread has taken the bytes that waited, and writes them.
    writing: bool,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.writing && self.dropped == 0
    }

    fn push(&mut self, line: &[u8]) {
        // The rest of a line that was begun always has room.
        if !self.bytes.is_empty() && self.bytes.len() + line.len() > ROOM {
            self.dropped += 1;
        } else {
            self.bytes.extend(line);
        }
    }
}

/// That of standard error.
static PROCESS: LazyLock<Arc<Lines>> = LazyLock::new(|| Lines::to(std::io::stderr()));

/// Writes a line to standard error without waiting for its reader.
pub(crate) fn write(line: &str) {
    PROCESS.write(line);
}

/// Waits until standard error has every line, but not long: for a process that is about to end.
pub(super) fn flush() {
    PROCESS.flush();
}

impl Lines {
    /// Nothing is written where `out` is closed.
    pub(crate) fn to(out: impl AsFd) -> Arc<Lines> {
        let out = out.as_fd().try_clone_to_owned().ok().map(File::from);
        Arc::new(Lines { out, waiting: Mutex::default(), changed: Condvar::new() })
    }

    pub(crate) fn write(self: &Arc<Self>, line: &str) {
        let Some(out) = &self.out else { return };
        let mut waiting = self.lock();
        let mut rest = line.as_bytes();
        if waiting.is_empty() {
            rest = &rest[write_at_once(out, rest)..];
        }
        if rest.is_empty() {
            return;
        }
        waiting.push(rest);
        if !waiting.started {
            let writer = Arc::clone(self);
            let work = move || writer.work();
            let thread = || Builder::new().name("urom-log".to_owned()).spawn(work);
            // It is tried again for the next line.
            waiting.started = signals::blocked(thread).is_ok();
        }
        drop(waiting);
        self.changed.notify_all();
    }

    /// The thread's work, which never ends.
    fn work(&self) {
        let Some(out) = &self.out else { return };
        let mut waiting = self.lock();
        loop {
            while waiting.bytes.is_empty() && waiting.dropped == 0 {
                waiting.writing = false;
                self.changed.notify_all();
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            waiting.writing = true;
            let bytes = std::mem::take(&mut waiting.bytes);
            let dropped = std::mem::take(&mut waiting.dropped);
            // Whoever logs meanwhile does not wait for what follows.
            drop(waiting);
            let mut bytes = Vec::from(bytes);
            if dropped != 0 {
                bytes.extend(dropped_line(dropped).into_bytes());
            }
            // There is nowhere left to report that standard error is closed.
            let _ = write_all(out, &bytes);
            waiting = self.lock();
        }
    }

    pub(crate) fn flush(&self) {
        let is_full = |waiting: &mut Waiting| waiting.started && !waiting.is_empty();
        // Whatever was not read by now is lost.
        let _ = self.changed.wait_timeout_while(self.lock(), LAST_LINES, is_full);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn dropped_line(dropped: u64) -> String {
    let origin = Origin { level: Level::Warning, file: "", line: 0, function: None };
    let lines = Count(usize::try_from(dropped).unwrap_or(usize::MAX), "line");
    origin.line(
        std::process::id(),
        "log",
        &format!("{lines} dropped here: the log is read too slowly"),
    )
}

/// Waits for the reader, also where whoever shares the file has made it non-blocking.
fn write_all(mut out: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                retry_on_intr(|| poll(&mut [PollFd::new(out, PollFlags::OUT)], None))?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How many bytes the kernel takes without waiting. None where it cannot be asked that: terminals, and pipes before Linux 6.4.
fn write_at_once(out: &File, bytes: &[u8]) -> usize {
    /// The file's own position.
    const HERE: u64 = u64::MAX;
    pwritev2(out, &[IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, PipeReader, Read};

    use super::*;

    /// A writer into a pipe, and the pipe's other end.
    fn piped() -> (Arc<Lines>, PipeReader) {
        let (read, write) = std::io::pipe().unwrap();
        (Lines::to(write), read)
    }

    #[test]
    fn lines_that_are_read_come_in_order() {
        let (writer, read) = piped();
        let reader = std::thread::spawn(move || {
            BufReader::new(read).lines().map(Result::unwrap).take(50_000).collect::<Vec<_>>()
        });
        for number in 0..50_000 {
            let line = format!("line {number}\n");
            // The reader may be slower than this loop, and nothing is to be dropped here.
            while writer.lock().bytes.len() > ROOM / 2 {
                std::thread::yield_now();
            }
            writer.write(&line);
        }
        let lines = reader.join().unwrap();
        assert!(lines.iter().enumerate().all(|(at, line)| *line == format!("line {at}")));
    }

    #[test]
    fn a_reader_that_does_not_read_holds_nobody_up_and_learns_how_many_were_dropped() {
        const LINES: usize = 20_000;
        let (writer, read) = piped();
        let line = format!("{}\n", "x".repeat(99));
        for _ in 0..LINES {
            writer.write(&line);
        }
        let mut reader = BufReader::new(read);
        let mut read_line = || {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            line
        };
        let (mut whole, mut dropped) = (0, 0);
        while whole + dropped < LINES {
            let read = read_line();
            match read
                .split_once("[WRN] ")
                .map(|(_, text)| text.split_once(" lines dropped").unwrap().0)
            {
                Some(number) => dropped += number.parse::<usize>().unwrap(),
                None => {
                    assert_eq!(read, line);
                    whole += 1;
                }
            }
        }
        assert!(
            dropped > LINES / 2 && whole * line.len() >= ROOM / 2,
            "{whole} came, {dropped} did not"
        );
        // It works again.
        writer.write("at last\n");
        assert_eq!(read_line(), "at last\n");
    }

    #[test]
    fn lines_wait_for_the_reader_of_a_pipe_that_does_not_block() {
        let (read, write) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&write, true).unwrap();
        let writer = Lines::to(write);
        let line = format!("{}\n", "z".repeat(999));
        // More than a pipe holds, and less than what may wait beside it.
        const LINES: usize = 200;
        for _ in 0..LINES {
            writer.write(&line);
        }
        let read = BufReader::new(read).lines().take(LINES).map(Result::unwrap);
        assert!(read.eq(std::iter::repeat_n(line.trim_end(), LINES)));
    }

    #[test]
    fn a_process_that_ends_waits_for_a_reader_but_not_for_ever() {
        let (writer, mut read) = piped();
        let line = "y".repeat(200 << 10);
        writer.write(&line);
        writer.flush();
        assert!(!writer.lock().is_empty(), "nobody read");
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; 200 << 10];
            read.read_exact(&mut bytes).unwrap();
            (bytes, read)
        });
        let (bytes, _open) = reader.join().unwrap();
        assert_eq!(bytes, line.as_bytes());
        writer.flush();
        assert!(writer.lock().is_empty());
    }

    #[test]
    fn where_standard_error_is_closed_lines_go_nowhere() {
        let (writer, read) = piped();
        drop(read);
        for _ in 0..10 {
            writer.write("nobody\n");
        }
        writer.flush();
        assert!(writer.lock().is_empty());
        let writer = Lines { out: None, waiting: Mutex::default(), changed: Condvar::new() };
        Arc::new(writer).write("nobody\n");
    }

    #[test]
    fn a_file_takes_lines_at_once_or_by_the_thread() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let writer = Lines::to(file.as_file());
        for number in 0..100 {
            writer.write(&format!("{number}\n"));
        }
        writer.flush();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text.lines().count(), 100);
    }
}
