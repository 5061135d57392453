//! Writes lines without waiting for the reader or for another writing thread.
//!
//! A line is written at once if the kernel takes it, so the last line before a crash arrives. Other
//! lines go through a bounded queue to a thread, because a pipe may be full or a file system slow.
//! Lines that do not fit are dropped, and the thread logs their number. It also opens a log file
//! again that was moved.

use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{ReadWriteFlags, pwritev2, retry_on_intr};
use urom_abi::Quantity;
use urom_abi::log::Level;
use urom_log::Origin;
use urom_os::fork::PerProcess;
use urom_os::signals;

use super::file::{Destination, LogFile, Streams};
use super::format;

const QUEUE_BYTES: usize = 256 << 10;

const LAST_LINES: Duration = Duration::from_millis(500);

/// Lines for a descriptor whose reader may be slow or gone, and the queue of waiting lines.
#[derive(Debug)]
pub(crate) struct Lines {
    is_open: bool,
    /// Held while bytes are written. Logging threads only try to lock it.
    turn: Mutex<Destination>,
    queue: Sender<Vec<u8>>,
    queued: Mutex<Option<Receiver<Vec<u8>>>>,
    /// Bytes in the queue or being written by the thread.
    waiting: AtomicUsize,
    /// Lines that were not written: not yet reported, and in all.
    dropped: AtomicU64,
    lost: AtomicU64,
    started: AtomicBool,
    reopens: AtomicBool,
    written: (Mutex<()>, Condvar),
}

static FILE: OnceLock<(PathBuf, Streams)> = OnceLock::new();

static PROCESS: PerProcess<Arc<Lines>> = PerProcess::new(|| {
    let file = FILE.get().and_then(|(path, streams)| Lines::to_file(path, *streams).ok());
    file.unwrap_or_else(|| Lines::to(std::io::stderr()))
});

pub(crate) fn write(line: String) {
    PROCESS.write(line);
}

/// Writes the process's lines to a file. Call it before the first line.
///
/// # Errors
/// The file cannot be opened for appending.
pub(super) fn write_to(path: &Path, streams: Streams) -> io::Result<()> {
    LogFile::open(path, streams)?;
    let _ = FILE.set((path.to_owned(), streams));
    Ok(())
}

/// Returns whether standard error gets other lines than the log.
pub(super) fn is_beside_stderr() -> bool {
    FILE.get().is_some_and(|(_, streams)| *streams == Streams::Kept)
}

pub(super) fn reopen() {
    PROCESS.reopen();
}

#[cfg(feature = "operators")]
pub(super) fn lost() -> u64 {
    PROCESS.lost.load(SeqCst)
}

pub(super) fn flush() {
    PROCESS.flush();
}

impl Lines {
    pub(crate) fn to(out: impl AsFd) -> Arc<Lines> {
        let out = out.as_fd().try_clone_to_owned().map(File::from);
        Arc::new(Lines::new(out.map_or(Destination::Closed, Destination::Stream)))
    }

    pub(super) fn to_file(path: &Path, streams: Streams) -> io::Result<Arc<Lines>> {
        Ok(Arc::new(Lines::new(Destination::File(LogFile::open(path, streams)?))))
    }

    fn new(out: Destination) -> Lines {
        let (queue, queued) = channel();
        Lines {
            is_open: out.file().is_some(),
            turn: Mutex::new(out),
            queue,
            queued: Mutex::new(Some(queued)),
            waiting: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            started: AtomicBool::new(false),
            reopens: AtomicBool::new(false),
            written: Default::default(),
        }
    }

    pub(crate) fn write(self: &Arc<Self>, line: String) {
        if !self.is_open {
            return;
        }
        let mut line = line.into_bytes();
        // Held until the rest of the line is queued, so that lines do not mix.
        let mut turn = self.turn.try_lock();
        if let Ok(out) = &mut turn
            && self.is_done()
            && !out.is_moved()
            && let Some(file) = out.file()
        {
            line.drain(..write_at_once(file, &line));
        }
        if !line.is_empty() {
            self.enqueue(line);
        }
    }

    fn is_done(&self) -> bool {
        let is_written = self.waiting.load(SeqCst) == 0 && self.dropped.load(SeqCst) == 0;
        is_written && !self.reopens.load(SeqCst)
    }

    fn enqueue(self: &Arc<Self>, line: Vec<u8>) {
        let length = line.len();
        let before = self.waiting.fetch_add(length, SeqCst);
        // The queue takes at least one line of any length.
        if (before > 0 && before + length > QUEUE_BYTES) || self.queue.send(line).is_err() {
            self.waiting.fetch_sub(length, SeqCst);
            self.dropped.fetch_add(1, SeqCst);
            self.lost.fetch_add(1, SeqCst);
        }
        self.start();
    }

    /// Looks at once whether a log file was moved; lines written behind the call wait for that. The
    /// thread looks, because opening a file may take long.
    pub(super) fn reopen(self: &Arc<Self>) {
        self.reopens.store(true, SeqCst);
        let _ = self.queue.send(Vec::new());
        self.start();
    }

    fn start(self: &Arc<Self>) {
        if !self.started.swap(true, SeqCst) {
            let lines = Arc::clone(self);
            let thread = signals::spawn("urom-log", move || lines.work());
            self.started.store(thread.is_ok(), SeqCst);
        }
    }

    fn work(&self) {
        let queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(queued) = queued else { return };
        let mut has_failed = false;
        loop {
            let mut bytes = Vec::new();
            // After an error, wait for the next line before reporting dropped lines.
            if has_failed || self.dropped.load(SeqCst) == 0 {
                let Ok(line) = queued.recv() else { return };
                bytes = line;
            }
            queued.try_iter().for_each(|line| bytes.extend(line));
            let length = bytes.len();
            let dropped = self.dropped.swap(0, SeqCst);
            if dropped != 0 {
                bytes.extend(dropped_line(dropped).into_bytes());
            }
            let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let reopens = self.reopens.swap(false, SeqCst);
            if let Destination::File(log) = &mut *turn
                && let Some(problem) = log.follow(reopens)
            {
                bytes.extend(warning(&problem).into_bytes());
            }
            let Some(out) = turn.file() else { return };
            let result = write_all(out, &bytes);
            has_failed = false;
            if let Err((error, rest)) = result {
                let lines = rest.iter().filter(|byte| **byte == b'\n').count() as u64;
                // One of these lines reports dropped lines.
                let lines = lines - u64::from(dropped != 0);
                self.lost.fetch_add(lines, SeqCst);
                // A closed pipe takes no report.
                has_failed = error.kind() != io::ErrorKind::BrokenPipe;
                self.dropped.fetch_add(if has_failed { lines + dropped } else { 0 }, SeqCst);
            }
            drop(turn);
            self.waiting.fetch_sub(length, SeqCst);
            drop(self.written.0.lock());
            self.written.1.notify_all();
        }
    }

    pub(crate) fn flush(&self) {
        let (lock, written) = &self.written;
        let lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |_: &mut ()| self.waiting.load(SeqCst) != 0;
        // Lines that the reader did not take by then are lost.
        drop(written.wait_timeout_while(lock, LAST_LINES, waits));
    }
}

fn dropped_line(dropped: u64) -> String {
    let lines = Quantity(usize::try_from(dropped).unwrap_or(usize::MAX), "line");
    warning(&format!("{lines} dropped here: the log is read too slowly, or its disk is full"))
}

fn warning(text: &str) -> String {
    let origin = Origin { level: Level::Warning, file: "", line: 0, function: None };
    format().line(&origin, "log", text)
}

/// Waits for the reader, even if another process has made the shared file non-blocking.
fn write_all<'a>(mut out: &File, mut bytes: &'a [u8]) -> Result<(), (io::Error, &'a [u8])> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut writable = [PollFd::new(out, PollFlags::OUT)];
                if let Err(error) = retry_on_intr(|| poll(&mut writable, None)) {
                    return Err((error.into(), bytes));
                }
            }
            Err(error) => return Err((error, bytes)),
        }
    }
    Ok(())
}

/// Returns the number of bytes written without waiting: 0 on terminals, and pipes before Linux 6.4.
fn write_at_once(out: &File, line: &[u8]) -> usize {
    const HERE: u64 = u64::MAX;
    pwritev2(out, &[IoSlice::new(line)], HERE, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, PipeReader, Read};

    use super::*;

    fn piped() -> (Arc<Lines>, PipeReader) {
        let (read, write) = std::io::pipe().unwrap();
        (Lines::to(write), read)
    }

    #[test]
    fn a_thread_that_writes_and_gets_no_processor_holds_up_nobody() {
        const LINES: usize = 500;
        let (lines, read) = piped();
        let held = lines.turn.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..LINES).for_each(|at| lines.write(format!("there {at}\n"))));
            (0..LINES).for_each(|at| lines.write(format!("here {at}\n")));
        });
        drop(held);
        let read = BufReader::new(read).lines().take(2 * LINES).map(Result::unwrap);
        let (here, there): (Vec<_>, Vec<_>) = read.partition(|line| line.starts_with("here"));
        for (lines, name) in [(here, "here"), (there, "there")] {
            assert!(lines.into_iter().eq((0..LINES).map(|at| format!("{name} {at}"))));
        }
    }

    #[test]
    fn many_threads_write_and_no_line_is_left_behind() {
        const THREADS: usize = 4;
        const LINES: usize = 20_000;
        let (lines, read) = piped();
        let reader = std::thread::spawn(move || {
            let mut next = [0; THREADS];
            let mut read = BufReader::new(read).lines().map(Result::unwrap);
            while next.iter().any(|next| *next < LINES) {
                let line = read.next().unwrap();
                let (thread, number) = line.split_once(' ').unwrap();
                let next = &mut next[thread.parse::<usize>().unwrap()];
                assert_eq!(number.parse(), Ok(*next), "in order, and none is dropped");
                *next += 1;
            }
        });
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let lines = &lines;
                scope.spawn(move || {
                    for number in 0..LINES {
                        while lines.waiting.load(SeqCst) > QUEUE_BYTES / 2 {
                            std::thread::yield_now();
                        }
                        lines.write(format!("{thread} {number}\n"));
                    }
                });
            }
        });
        reader.join().unwrap();
    }

    #[test]
    fn a_reader_that_does_not_read_holds_nobody_up_and_learns_how_many_were_dropped() {
        const LINES: usize = 20_000;
        let (writer, read) = piped();
        let line = format!("{}\n", "x".repeat(99));
        for _ in 0..LINES {
            writer.write(line.clone());
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
            dropped > LINES / 2 && whole * line.len() >= QUEUE_BYTES / 2,
            "{whole} came, {dropped} did not"
        );
        assert_eq!(writer.lost.load(SeqCst), dropped as u64);
        writer.write("at last\n".to_owned());
        assert_eq!(read_line(), "at last\n");
    }

    #[test]
    fn lines_wait_for_the_reader_of_a_pipe_that_does_not_block() {
        let (read, write) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&write, true).unwrap();
        let writer = Lines::to(write);
        let line = format!("{}\n", "z".repeat(999));
        // More than the pipe's buffer, less than the queue's limit.
        const LINES: usize = 200;
        for _ in 0..LINES {
            writer.write(line.clone());
        }
        let read = BufReader::new(read).lines().take(LINES).map(Result::unwrap);
        assert!(read.eq(std::iter::repeat_n(line.trim_end(), LINES)));
    }

    #[test]
    fn a_process_that_ends_waits_for_a_reader_but_not_for_ever() {
        let (writer, mut read) = piped();
        let line = "y".repeat(200 << 10);
        writer.write(line.clone());
        writer.flush();
        assert!(!writer.is_done(), "nobody read");
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; 200 << 10];
            read.read_exact(&mut bytes).unwrap();
            (bytes, read)
        });
        let (bytes, _open) = reader.join().unwrap();
        assert_eq!(bytes, line.as_bytes());
        writer.flush();
        assert!(writer.is_done());
    }

    #[test]
    fn where_standard_error_is_closed_lines_go_nowhere() {
        let (writer, read) = piped();
        drop(read);
        for _ in 0..10 {
            writer.write("nobody\n".to_owned());
        }
        writer.flush();
        assert!(writer.is_done());
        assert_eq!(writer.lost.load(SeqCst), 10);
        Arc::new(Lines::new(Destination::Closed)).write("nobody\n".to_owned());
    }

    #[test]
    fn lines_that_a_full_disk_does_not_take_are_counted() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let writer = Lines::to(full);
        for _ in 0..10 {
            writer.write("lost\n".to_owned());
        }
        writer.flush();
        assert_eq!(writer.waiting.load(SeqCst), 0);
        assert_eq!([&writer.dropped, &writer.lost].map(|count| count.load(SeqCst)), [10; 2]);
    }
}
