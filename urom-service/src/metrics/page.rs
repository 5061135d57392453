//! The page of a worker: its counters, in memory that it shares with the daemon.
//!
//! The worker's data thread is the only writer of most words, so it adds without a lock or an
//! atomic addition. The daemon reads at any time, also after the worker has crashed. All words are
//! 8 bytes, and every value is valid.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use memmap2::{Advice, MmapOptions, MmapRaw};
use urom_memory::memfd;

/// Plugins of a page: one for each bit of a plugin's id.
pub(crate) const PLUGINS: usize = 64;

/// Rows of a plugin, by tag. Commands with larger tags, or without one, share the last row.
pub(crate) const ROWS: usize = 32;

/// Buckets of durations. The first ends at [`FIRST_BUCKET`] nanoseconds, and each next bucket at
/// twice that. The last bucket is endless.
pub(crate) const BUCKETS: usize = 26;

const FIRST_BUCKET: u64 = 256;

/// Codes of `doca_error_t`: the last one counts all codes above it.
pub(crate) const CODES: usize = 32;

/// One in so many commands that end within their call is timed.
pub(crate) const TIMED: u64 = 64;

/// Reasons of workers to refuse hosts. The last counts all others.
pub(crate) const REFUSALS: [&str; 12] = [
    "full",
    "hung",
    "incomplete",
    "key",
    "limits",
    "not_urom",
    "protocol",
    "role",
    "silent",
    "token",
    "ucx",
    "other",
];

/// A counter or a gauge.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Word(AtomicU64);

impl Word {
    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds on the only thread that writes this word.
    #[inline(always)]
    pub(crate) fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }
}

/// The words of a whole worker.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct PageHeader {
    /// A mask of the bits of the worker's plugins.
    pub(crate) plugins: Word,
    pub(crate) hosts: Word,
    /// Bytes of answers that hosts have not read, besides those in rings.
    pub(crate) unread: Word,
    /// Bytes of commands and answers, with their headers.
    pub(crate) received: Word,
    pub(crate) sent: Word,
    /// Memories of hosts, and their bytes: mapped, of a process, over the network.
    pub(crate) memories: [Word; 3],
    pub(crate) memory_bytes: [Word; 3],
    /// Hosts that were disconnected because they broke a rule or left too much unread.
    pub(crate) evicted: Word,
    /// Commands for a plugin that the worker has not loaded.
    pub(crate) unserved: Word,
    /// Hosts that were refused, by reason. The control thread writes them.
    pub(crate) refused: [Word; REFUSALS.len()],
}

impl PageHeader {
    pub(crate) fn refuse(&self, reason: &str) {
        let index = REFUSALS.iter().position(|it| *it == reason).unwrap_or(REFUSALS.len() - 1);
        self.refused[index].add(1);
    }
}

/// The words of one command of one plugin.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct CommandRow {
    /// All commands.
    pub(crate) received: Word,
    /// Commands that did not succeed within the plugin's call, and the ended ones of these.
    pub(crate) begun: Word,
    pub(crate) ended: Word,
    pub(crate) cancelled: Word,
    pub(crate) timed_out: Word,
    /// The sum of the durations in `buckets`.
    pub(crate) nanoseconds: Word,
    /// Ended commands that failed, by code; the first is not used.
    pub(crate) codes: [Word; CODES],
    /// Ended commands by duration. One timed command that ended within its call counts as
    /// [`TIMED`].
    pub(crate) buckets: [Word; BUCKETS],
}

impl CommandRow {
    /// Adds `weight` commands that took so long.
    pub(crate) fn took(&self, nanoseconds: u64, weight: u64) {
        self.nanoseconds.add(nanoseconds.saturating_mul(weight));
        self.buckets[bucket(nanoseconds)].add(weight);
    }

    pub(crate) fn failed(&self, code: u32) {
        self.codes[(code as usize).min(CODES - 1)].add(1);
    }
}

/// The bucket of a duration: the first whose limit is not less.
pub(crate) fn bucket(nanoseconds: u64) -> usize {
    let doublings = nanoseconds.div_ceil(FIRST_BUCKET).max(1).next_power_of_two().trailing_zeros();
    (doublings as usize).min(BUCKETS - 1)
}

/// The end of a bucket in nanoseconds; `None` for the last.
pub(crate) fn bucket_limit(bucket: usize) -> Option<u64> {
    (bucket + 1 < BUCKETS).then(|| FIRST_BUCKET << bucket)
}

#[derive(Debug)]
#[repr(C)]
struct Layout {
    header: PageHeader,
    rows: [CommandRow; PLUGINS * ROWS],
}

/// The row of a command: its plugin's bit and its tag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowKey(u16);

impl RowKey {
    /// The tag is the first number of a command, which C programs write as 4 or 8 bytes.
    /// Returns the plugin's id.
    pub(crate) fn plugin(self) -> u64 {
        1 << (usize::from(self.0) / ROWS)
    }

    #[inline(always)]
    pub(crate) fn of(bit: u8, command: &[u8]) -> RowKey {
        let last = ROWS as u32 - 1;
        let tag = command.first_chunk().map_or(last, |tag| u32::from_ne_bytes(*tag).min(last));
        RowKey((u16::from(bit) % PLUGINS as u16) * ROWS as u16 + tag as u16)
    }

    /// Returns the tag; `None` in the row of large ones and of commands without one.
    pub(crate) fn tag(self) -> Option<u32> {
        let row = usize::from(self.0) % ROWS;
        (row < ROWS - 1).then_some(row as u32)
    }
}

const BYTES: u64 = size_of::<Layout>() as u64;

/// A mapped page. The system allocates its parts when they are first used. A clone shares the map.
#[derive(Debug, Clone)]
pub(crate) struct MetricsPage {
    layout: &'static Layout,
    _map: Arc<MmapRaw>,
}

impl MetricsPage {
    /// # Errors
    /// The system's error: no descriptor, or no memory.
    pub(crate) fn create() -> io::Result<(MetricsPage, OwnedFd)> {
        let (fd, map) = memfd::create("urom-metrics", BYTES)?;
        Ok((MetricsPage::new(map), fd))
    }

    /// A page that no other process reads.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn private() -> io::Result<MetricsPage> {
        MmapOptions::new().len(BYTES as usize).map_anon().map(|map| MetricsPage::new(map.into()))
    }

    /// # Errors
    /// The descriptor is not a sealed memfd of this size.
    pub(crate) fn open(fd: &OwnedFd) -> io::Result<MetricsPage> {
        memfd::map_received(fd.as_fd(), 0, BYTES, true).map(MetricsPage::new)
    }

    fn new(map: MmapRaw) -> MetricsPage {
        // A forked child does not use it.
        let _ = map.advise(Advice::DontFork);
        // SAFETY: `map` maps `BYTES` bytes, page-aligned, and this value and its clones keep it;
        // the reference does not leave them. All fields are atomics: the other process may write at
        // any time, and any bytes are valid. `memfd` seals the size of a shared page.
        let layout = unsafe { &*map.as_ptr().cast::<Layout>() };
        MetricsPage { layout, _map: Arc::new(map) }
    }

    pub(crate) fn header(&self) -> &PageHeader {
        &self.layout.header
    }

    #[inline(always)]
    pub(crate) fn row(&self, RowKey(key): RowKey) -> &CommandRow {
        &self.layout.rows[usize::from(key) % (PLUGINS * ROWS)]
    }

    /// The rows of the plugin with this id, in the order of tags; none if it was not loaded.
    pub(crate) fn rows_of(&self, id: u64) -> &[CommandRow] {
        let bit = id.trailing_zeros() as usize % PLUGINS;
        let is_loaded = self.header().plugins.get() & id != 0;
        // Reading a part of the page that was never used would allocate it.
        if is_loaded { &self.layout.rows[bit * ROWS..][..ROWS] } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_reads_counts_of_a_worker_that_has_ended() {
        let (daemon, fd) = MetricsPage::create().unwrap();
        let worker = MetricsPage::open(&fd).unwrap();
        worker.row(RowKey::of(3, &7_u64.to_ne_bytes())).received.add(2);
        worker.row(RowKey::of(63, &[])).received.add(1);
        worker.header().hosts.set(5);
        assert!(daemon.rows_of(1 << 3).is_empty());
        worker.header().plugins.set(1 << 3 | 1 << 63);
        drop((worker, fd));
        assert_eq!(daemon.rows_of(1 << 3)[7].received.get(), 2);
        assert_eq!(daemon.rows_of(1 << 63)[ROWS - 1].received.get(), 1);
        assert_eq!(daemon.header().hosts.get(), 5);
    }

    #[test]
    fn another_file_is_not_taken_for_a_page() {
        let file: OwnedFd = tempfile::tempfile().unwrap().into();
        assert!(MetricsPage::open(&file).is_err());
        let (short, _map) = memfd::create("short", 4096).unwrap();
        assert!(MetricsPage::open(&short).is_err());
    }

    #[test]
    fn each_duration_is_in_the_first_bucket_that_ends_at_or_after_it() {
        for (nanoseconds, limit) in [
            (0, Some(256)),
            (256, Some(256)),
            (257, Some(512)),
            (512, Some(512)),
            (1_000_000, Some(1 << 20)),
            (256 << 24, Some(256 << 24)),
            ((256 << 24) + 1, None),
            (u64::MAX, None),
        ] {
            assert_eq!(bucket_limit(bucket(nanoseconds)), limit, "{nanoseconds} ns");
        }
    }

    #[test]
    fn commands_without_a_tag_or_with_a_large_one_share_a_row() {
        let last = RowKey::of(1, &[1, 2, 3]);
        assert_eq!(RowKey::of(1, &31_u32.to_ne_bytes()), last);
        assert_eq!(RowKey::of(1, &[0xff; 9]), last);
        assert_ne!(RowKey::of(1, &30_u32.to_ne_bytes()), last);
        assert_ne!(RowKey::of(2, &[]), last);
        let tag = |tag: u32| RowKey::of(1, &tag.to_ne_bytes()).tag();
        assert_eq!([tag(0), tag(30), tag(31), last.tag()], [Some(0), Some(30), None, None]);
        let (page, _fd) = MetricsPage::create().unwrap();
        page.row(last).failed(u32::MAX);
        page.header().plugins.set(2);
        assert_eq!(page.rows_of(2)[ROWS - 1].codes[CODES - 1].get(), 1);
    }
}
