//! Records commands and answers of a worker to a file, for `uromd --record`.
//!
//! The data thread passes entries to a thread that writes them, so a slow disk does not delay
//! commands. A recorded plugin gets its commands through the list of DOCA's interface: the fast
//! path of other workers has no code for recordings.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use tracing::{error, info, warn};
use urom_abi::DocaStatus;
use urom_abi::describe::Protocol;
use urom_abi::describe::section;
use urom_abi::memory::MemoryRange;
use urom_message::ranges;
use urom_os::clock;
use urom_recording::{Entry, RecordedId, RecordingHeader, RecordingWriter};
use urom_wire::control::RecordingTarget;

use super::memory::HostMemories;
use crate::aside::on_thread;

/// Limit in bytes of entries that wait for the disk. Further entries are dropped and counted.
const MOST_WAITING: usize = 64 << 20;

/// Limit in bytes of a range of a host's memory.
const MOST_MEMORY: u64 = 32 << 20;

/// Memory of an entry besides its bytes.
const OVERHEAD: usize = 128;

/// Time after which entries are in the file: a crash loses no more.
const FLUSH: Duration = Duration::from_millis(20);

/// Time that the end of a worker waits for the disk.
const END: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Recorder {
    entries: Sender<Recorded>,
    waiting: Arc<AtomicUsize>,
    began: u64,
    lost: Cell<u64>,
    /// A mask of the recorded plugins' ids; 0 once the file takes no more.
    plugins: Cell<u64>,
    /// By plugin, if memory is recorded.
    protocols: Vec<(u64, &'static Protocol)>,
}

#[derive(Debug)]
enum Recorded {
    Entry(Entry<'static>),
    /// Reply when all earlier entries are in the file.
    Flush(Sender<()>),
}

impl Recorder {
    /// Begins a recording in a new file.
    ///
    /// # Errors
    /// The file cannot be made, or the thread not started.
    pub(crate) fn begin(
        target: &RecordingTarget,
        mut header: RecordingHeader,
    ) -> io::Result<Recorder> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        header.started = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let (worker, process) = (header.worker, std::process::id());
        let plugins = Cell::new(header.plugins.iter().fold(0, |ids, plugin| ids | plugin.id));
        let path =
            target.directory.join(format!("urom-{worker:x}-{process}-{}.urec", now.as_nanos()));
        let described = header.plugins.iter().filter(|_| target.memory).filter_map(|plugin| {
            let found = section::read(plugin.description.as_deref()?).ok()?;
            Some((plugin.id, found.protocol))
        });
        let protocols = described.collect();
        // Payloads may be secret.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let writer = RecordingWriter::new(file, &header, target.limit)?;
        info!("recording commands to {}", path.display());
        let (entries, received) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting);
        let write = move || write(&path, writer, &received, &written);
        on_thread("urom-record", write).map_err(io::Error::other)?;
        let (began, lost) = (clock::monotonic(), Cell::new(0));
        Ok(Recorder { entries, waiting, began, lost, plugins, protocols })
    }

    pub(crate) fn has(&self, plugin: u64) -> bool {
        self.plugins.get() & plugin != 0
    }

    fn at(&self) -> u64 {
        clock::monotonic().saturating_sub(self.began)
    }

    /// Records a command, before it with the memory that it names.
    pub(crate) fn command(
        &self,
        host: u64,
        token: u64,
        plugin: u64,
        bytes: &[u8],
        memories: &HostMemories,
    ) {
        if let Some((_, protocol)) = self.protocols.iter().find(|(id, _)| *id == plugin) {
            for named in ranges(&protocol.commands, bytes) {
                self.memory(host, named.range, memories);
            }
        }
        let id = RecordedId { host, token };
        let (at, len) = (self.at(), bytes.len());
        self.add(len, || Entry::Command { at, id, plugin, bytes: bytes.to_vec().into() });
    }

    /// Memory that is out of reach, or too long for an entry, is left out.
    fn memory(&self, host: u64, range: MemoryRange, memories: &HostMemories) {
        let MemoryRange { memory, offset, len } = range;
        let waiting = self.waiting.load(Relaxed) as u64;
        if len <= MOST_MEMORY
            && waiting.saturating_add(len) < MOST_WAITING as u64
            && let Ok(bytes) = memories.shares.peek(host, range)
        {
            let (at, len) = (self.at(), bytes.len());
            self.add(len, || Entry::Memory { at, host, memory, offset, bytes: bytes.into() });
        }
    }

    pub(crate) fn answer(
        &self,
        host: u64,
        token: u64,
        status: DocaStatus,
        payload: Option<&[u8]>,
        text: &str,
    ) {
        let (at, id, status) = (self.at(), RecordedId { host, token }, status.0);
        let len = payload.map_or(0, <[u8]>::len) + text.len();
        self.add(len, || Entry::Answer {
            at,
            id,
            status,
            payload: payload.map(|bytes| bytes.to_vec().into()),
            text: text.to_owned().into(),
        });
    }

    pub(crate) fn cancel(&self, host: u64, token: u64, is_late: bool) {
        let (at, id) = (self.at(), RecordedId { host, token });
        self.add(0, || Entry::Cancel { at, id, is_late });
    }

    pub(crate) fn host_left(&self, host: u64) {
        let at = self.at();
        self.add(0, || Entry::HostLeft { at, host });
    }

    /// Waits a short time until all entries are in the file; call before the process ends.
    pub(crate) fn flush(&self) {
        self.add_lost();
        let (reply, replied) = channel();
        if self.entries.send(Recorded::Flush(reply)).is_ok() {
            let _ = replied.recv_timeout(END);
        }
    }

    fn add(&self, len: usize, entry: impl FnOnce() -> Entry<'static>) {
        let size = OVERHEAD + len;
        if self.waiting.load(Relaxed) + size > MOST_WAITING {
            return self.lost.set(self.lost.get() + 1);
        }
        self.add_lost();
        self.send(size, entry());
    }

    /// Records the number of entries that were dropped since the last one.
    pub(crate) fn add_lost(&self) {
        let lost = self.lost.take();
        if lost > 0 {
            self.send(OVERHEAD, Entry::Lost { at: self.at(), count: lost });
        }
    }

    fn send(&self, size: usize, entry: Entry<'static>) {
        match self.entries.send(Recorded::Entry(entry)) {
            Ok(()) => _ = self.waiting.fetch_add(size, Relaxed),
            // The recording has ended, and its end was logged.
            Err(_) => self.plugins.set(0),
        }
    }
}

fn size(entry: &Entry<'_>) -> usize {
    OVERHEAD
        + match entry {
            Entry::Command { bytes, .. } | Entry::Memory { bytes, .. } => bytes.len(),
            Entry::Answer { payload, text, .. } => {
                payload.as_ref().map_or(0, |bytes| bytes.len()) + text.len()
            }
            _ => 0,
        }
}

/// Writes entries until the recorder is dropped, the limit is reached or the disk is full.
fn write<W: Write>(
    path: &Path,
    mut writer: RecordingWriter<W>,
    entries: &Receiver<Recorded>,
    waiting: &AtomicUsize,
) {
    let shown = path.display();
    // When entries must be in the file, if any are not.
    let mut due: Option<Instant> = None;
    loop {
        let next = match due {
            None => entries.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => match due.checked_duration_since(Instant::now()) {
                Some(left) => entries.recv_timeout(left),
                None => Err(RecvTimeoutError::Timeout),
            },
        };
        let written = match next {
            Ok(Recorded::Entry(entry)) => {
                waiting.fetch_sub(size(&entry), Relaxed);
                due.get_or_insert_with(|| Instant::now() + FLUSH);
                writer.write(&entry)
            }
            Ok(Recorded::Flush(reply)) => {
                let flushed = writer.flush();
                let _ = reply.send(());
                flushed.map(|()| true)
            }
            Err(RecvTimeoutError::Timeout) => {
                due = None;
                writer.flush().map(|()| true)
            }
            Err(RecvTimeoutError::Disconnected) => {
                if let Err(error) = writer.flush() {
                    error!("the end of the recording {shown} is missing: {error}");
                }
                return;
            }
        };
        match written {
            Ok(true) => {}
            Ok(false) => {
                let _ = writer.flush();
                return warn!("the recording {shown} has its full size, and ends");
            }
            Err(error) => return error!("the recording {shown} ends here: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use urom_recording::RecordingReader;

    use super::*;

    fn header() -> RecordingHeader {
        let (service, plugins) = ("0.1.0".to_owned(), Vec::new());
        RecordingHeader { started: 0, service, worker: 3, group: 0, plugins }
    }

    fn target(directory: &Path) -> RecordingTarget {
        let (limit, plugins) = (1 << 20, Vec::new());
        RecordingTarget { directory: directory.into(), limit, plugins, memory: false }
    }

    #[test]
    fn entries_are_in_the_file_after_a_flush_and_two_recordings_have_two_files() {
        let directory = tempfile::tempdir().unwrap();
        let target = target(directory.path());
        let recorder = Recorder::begin(&target, header()).unwrap();
        (0..1000).for_each(|host| recorder.host_left(host));
        recorder.flush();
        let file = directory.path().read_dir().unwrap().next().unwrap().unwrap().path();
        let mut reader = RecordingReader::open(&file).unwrap();
        assert!(reader.header().started > 0);
        let mut count = 0;
        while let Some(entry) = reader.entry().unwrap() {
            assert!(matches!(entry, Entry::HostLeft { host, .. } if host == count));
            count += 1;
        }
        assert_eq!((count, recorder.waiting.load(Relaxed)), (1000, 0));
    }

    /// Takes the header, and no more.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.min(bytes.len()) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                len => {
                    self.0 -= len;
                    Ok(len)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_ends_the_recording_and_its_worker_goes_on() {
        let mut header_len = Vec::new();
        RecordingWriter::new(&mut header_len, &header(), u64::MAX).unwrap();
        let writer = RecordingWriter::new(Full(header_len.len()), &header(), u64::MAX).unwrap();
        let (entries, received) = channel();
        let (waiting, lost) = (Arc::new(AtomicUsize::new(0)), Cell::new(0));
        let recorder = Recorder {
            entries,
            waiting: Arc::clone(&waiting),
            began: 0,
            lost,
            plugins: Cell::new(0),
            protocols: vec![],
        };
        recorder.host_left(1);
        // Returns although the recorder lives: the flush of the entry fails.
        write(Path::new("full"), writer, &received, &waiting);
        drop(received);
        recorder.host_left(2);
        recorder.flush();
        assert_eq!(waiting.load(Relaxed), 0);
    }

    #[test]
    fn entries_that_the_disk_does_not_take_are_counted() {
        let (entries, received) = channel();
        let waiting = Arc::new(AtomicUsize::new(MOST_WAITING));
        let lost = Cell::new(0);
        let recorder =
            Recorder { entries, waiting, began: 0, lost, plugins: Cell::new(0), protocols: vec![] };
        (0..3).for_each(|host| recorder.host_left(host));
        recorder.waiting.store(0, Relaxed);
        recorder.host_left(3);
        let received: Vec<_> = received.try_iter().collect();
        assert!(
            matches!(
                received[..],
                [
                    Recorded::Entry(Entry::Lost { count: 3, .. }),
                    Recorded::Entry(Entry::HostLeft { host: 3, .. })
                ]
            ),
            "{received:?}"
        );
    }
}
