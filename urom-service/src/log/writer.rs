//! Writes lines without waiting for their reader, or for another thread that writes.
//!
//! A line is written at once if the kernel takes it without waiting. Others wait in a bounded
//! buffer that a thread empties: a pipe may be full, a terminal stopped, a file system slow. Lines
//! that do not fit are dropped and counted, and the next line says how many.

use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{Builder, Thread, park};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{ReadWriteFlags, pwritev2, retry_on_intr};
use urom_abi::Count;
use urom_abi::log::Level;
use urom_log::Origin;
use urom_os::fork::PerProcess;
use urom_os::signals;

const ROOM: usize = 256 << 10;

/// How many lines may wait for the thread that hands on those of others.
const AT_ONCE: usize = 1024;

const LAST_LINES: Duration = Duration::from_millis(500);

/// Lines for a descriptor whose reader may be slow or gone, and those that wait for it.
#[derive(Debug)]
pub(crate) struct Lines {
    out: Option<File>,
    /// Lines in order. Whoever holds the lock of `waiting` hands on those of all threads.
    new: ArrayQueue<String>,
    dropped: AtomicU64,
    waiting: Mutex<Waiting>,
    all_written: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    writer: Option<Thread>,
    /// The thread has taken the bytes that waited, and writes them.
    writing: bool,
}

static PROCESS: PerProcess<Arc<Lines>> = PerProcess::new(|| Lines::to(std::io::stderr()));

/// Writes a line to standard error without waiting for its reader.
pub(crate) fn write(line: String) {
    PROCESS.write(line);
}

/// Waits until standard error has every line, but not long: for a process that is about to end.
pub(super) fn flush() {
    PROCESS.flush();
}

impl Lines {
    /// Nothing is written where `out` is closed.
    pub(crate) fn to(out: impl AsFd) -> Arc<Lines> {
        Arc::new(Lines::new(out.as_fd().try_clone_to_owned().ok().map(File::from)))
    }

    fn new(out: Option<File>) -> Lines {
        Lines {
            out,
            new: ArrayQueue::new(AT_ONCE),
            dropped: AtomicU64::new(0),
            waiting: Mutex::default(),
            all_written: Condvar::new(),
        }
    }

    pub(crate) fn write(self: &Arc<Self>, line: String) {
        if self.new.push(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        self.hand_on();
    }

    fn hand_on(self: &Arc<Self>) {
        /// Others may log without end. After that the writer goes on.
        const ROUNDS: usize = 3;
        for round in 1..=ROUNDS {
            if !self.has_new() {
                return;
            }
            let mut waiting = match self.waiting.try_lock() {
                Ok(waiting) => waiting,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            self.take_new(&mut waiting);
            if round == ROUNDS {
                self.wake(&mut waiting);
            }
        }
    }

    /// Whether anything is new. Who asks this after giving the lock back misses no line of another
    /// thread that asked for the lock in vain.
    fn has_new(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.new.is_empty()
    }

    fn take_new(self: &Arc<Self>, waiting: &mut Waiting) {
        let Some(out) = &self.out else {
            while self.new.pop().is_some() {}
            return;
        };
        for line in std::iter::from_fn(|| self.new.pop()).take(AT_ONCE) {
            let at_once = self.is_done(waiting);
            let rest = &line.as_bytes()[if at_once { write_at_once(out, &line) } else { 0 }..];
            // The rest of a line that was begun always has room.
            if waiting.bytes.is_empty() || waiting.bytes.len() + rest.len() <= ROOM {
                waiting.bytes.extend_from_slice(rest);
            } else {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        if !waiting.bytes.is_empty() {
            self.wake(waiting);
        }
    }

    fn is_done(&self, waiting: &Waiting) -> bool {
        waiting.bytes.is_empty() && !waiting.writing && self.dropped.load(Ordering::Relaxed) == 0
    }

    /// Has the thread look, which is started when it is first needed.
    fn wake(self: &Arc<Self>, waiting: &mut Waiting) {
        match &waiting.writer {
            Some(writer) => writer.unpark(),
            None => {
                let lines = Arc::clone(self);
                let thread =
                    || Builder::new().name("urom-log".to_owned()).spawn(move || lines.work());
                // It is tried again for the next line.
                waiting.writer = signals::blocked(thread).ok().map(|join| join.thread().clone());
            }
        }
    }

    /// The thread's work, which never ends.
    fn work(self: &Arc<Self>) {
        let Some(out) = &self.out else { return };
        // It changes places with the one that is filled meanwhile: freeing what another thread has
        // allocated takes a lock that keeps that thread from allocating.
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let mut waiting = self.lock();
            waiting.writing = false;
            self.take_new(&mut waiting);
            std::mem::swap(&mut bytes, &mut waiting.bytes);
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            waiting.writing = !bytes.is_empty() || dropped != 0;
            let has_work = waiting.writing;
            // Whoever logs meanwhile does not wait for what follows.
            drop(waiting);
            if has_work {
                if dropped != 0 {
                    bytes.extend(dropped_line(dropped).into_bytes());
                }
                // There is nowhere left to report that standard error is closed.
                if let Err((error, rest)) = write_all(out, &bytes)
                    && error.kind() == io::ErrorKind::StorageFull
                {
                    let lines = rest.iter().filter(|byte| **byte == b'\n').count() as u64;
                    self.dropped.fetch_add(lines.max(dropped), Ordering::Relaxed);
                    // Not before there is another line.
                    self.rest();
                }
            } else {
                self.rest();
            }
        }
    }

    fn rest(&self) {
        self.lock().writing = false;
        self.all_written.notify_all();
        if !self.has_new() {
            park();
        }
    }

    pub(crate) fn flush(self: &Arc<Self>) {
        let mut waiting = self.lock();
        self.take_new(&mut waiting);
        let is_full = |waiting: &mut Waiting| waiting.writer.is_some() && !self.is_done(waiting);
        // Whatever was not read by now is lost.
        drop(self.all_written.wait_timeout_while(waiting, LAST_LINES, is_full));
        self.hand_on();
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
        &format!("{lines} dropped here: the log is read too slowly, or its disk is full"),
    )
}

/// Waits for the reader, also where whoever shares the file has made it non-blocking.
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

/// How many bytes the kernel takes without waiting. None where it cannot be asked that: terminals,
/// and pipes before Linux 6.4.
fn write_at_once(out: &File, line: &str) -> usize {
    const HERE: u64 = u64::MAX;
    pwritev2(out, &[IoSlice::new(line.as_bytes())], HERE, ReadWriteFlags::NOWAIT).unwrap_or(0)
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

    fn is_done(lines: &Lines) -> bool {
        lines.is_done(&lines.lock())
    }

    #[test]
    fn a_thread_that_writes_and_gets_no_processor_holds_up_nobody() {
        let (lines, read) = piped();
        let held = lines.lock();
        let (others, expected) = (AT_ONCE / 2, AT_ONCE);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..others).for_each(|at| lines.write(format!("there {at}\n"))));
            (0..others).for_each(|at| lines.write(format!("here {at}\n")));
        });
        drop(held);
        lines.hand_on();
        let read = BufReader::new(read).lines().take(expected).map(Result::unwrap);
        let (here, there): (Vec<_>, Vec<_>) = read.partition(|line| line.starts_with("here"));
        for (lines, name) in [(here, "here"), (there, "there")] {
            assert!(lines.into_iter().eq((0..others).map(|at| format!("{name} {at}"))));
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
                        while lines.lock().bytes.len() > ROOM / 2 || lines.new.len() > AT_ONCE / 2 {
                            std::thread::yield_now();
                        }
                        lines.write(format!("{thread} {number}\n"));
                    }
                });
            }
        });
        // Not one of them waits for the next.
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
            dropped > LINES / 2 && whole * line.len() >= ROOM / 2,
            "{whole} came, {dropped} did not"
        );
        // It works again.
        writer.write("at last\n".to_owned());
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
        assert!(!is_done(&writer), "nobody read");
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; 200 << 10];
            read.read_exact(&mut bytes).unwrap();
            (bytes, read)
        });
        let (bytes, _open) = reader.join().unwrap();
        assert_eq!(bytes, line.as_bytes());
        writer.flush();
        assert!(is_done(&writer));
    }

    #[test]
    fn where_standard_error_is_closed_lines_go_nowhere() {
        let (writer, read) = piped();
        drop(read);
        for _ in 0..10 {
            writer.write("nobody\n".to_owned());
        }
        writer.flush();
        assert!(is_done(&writer));
        Arc::new(Lines::new(None)).write("nobody\n".to_owned());
    }

    #[test]
    fn lines_that_a_full_disk_does_not_take_are_counted() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let writer = Lines::to(full);
        for _ in 0..10 {
            writer.write("lost\n".to_owned());
        }
        writer.flush();
        assert!(writer.lock().bytes.is_empty());
        assert_eq!(writer.dropped.load(Ordering::Relaxed), 10);
    }
}
