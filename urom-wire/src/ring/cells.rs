//! One direction of a [ring](super): cells of one cache line, one writer and one reader.
//!
//! A frame takes one or more cells, each with up to [`BODY`] of its bytes after a word, the mark. A
//! bit of the mark changes with each lap: by this bit a reader detects a written cell. A long frame
//! has groups of [`GROUP`] cells, and the writer stores the mark of a group's first cell last. So
//! the reader waits on one cache line, and reads the others when they are written.
//!
//! Neither side trusts the other. The reader copies a cell before it reads the bytes, and the
//! writer checks the reader's position. A wrong mark or position ends or stalls only this
//! direction.

use crate::frame::Header;
use crate::sync::{Arc, AtomicU64, EventFd, Ordering, fence};

pub(crate) const WORDS: usize = 8;

/// The bytes of a frame in one cell.
pub(crate) const BODY: usize = 8 * (WORDS - 1);

/// The most cells that become visible together: the reader copies while the writer continues.
const GROUP: usize = 16;

/// The mark's bit that changes with each lap. The first lap sets it.
pub(super) const LAP: u64 = 1 << 63;
/// The mark's bit of a frame's first cell, whose lower bits are the header.
pub(super) const FIRST: u64 = 1 << 62;

#[repr(C, align(64))]
#[derive(Debug)]
pub struct Cell(pub(super) [AtomicU64; WORDS]);

/// The positions and flags of a direction. Reader and writer have separate cache lines.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct LaneControl {
    /// The number of cells that the reader has taken.
    pub(super) taken: AtomicU64,
    /// Whether the reader sleeps until its bell rings.
    pub(super) sleeps: AtomicU64,
    pub(super) _reader: [AtomicU64; WORDS - 2],
    /// Whether the writer waits for capacity until its bell rings.
    pub(super) waits: AtomicU64,
    pub(super) _writer: [AtomicU64; WORDS - 1],
}

#[derive(Debug)]
pub(crate) struct Lane<M> {
    memory: M,
    bell: Arc<EventFd>,
}

/// Memory of one direction: a control block, and a power of two of cells.
pub trait LaneMemory {
    fn control(&self) -> &LaneControl;
    fn cells(&self) -> &[Cell];
}

impl<M: LaneMemory> Lane<M> {
    pub(crate) fn new(memory: M, bell: Arc<EventFd>) -> Lane<M> {
        debug_assert!(memory.cells().len().is_power_of_two());
        Lane { memory, bell }
    }

    /// The words of the cell at a position, and the lap bit of its mark once it is written.
    #[inline(always)]
    fn cell(&self, position: u64) -> (&[AtomicU64; WORDS], u64) {
        let cells = self.memory.cells();
        let mask = cells.len() as u64 - 1;
        let lap = if position & (mask + 1) == 0 { LAP } else { 0 };
        (&cells[(position & mask) as usize].0, lap)
    }

    /// Rings the bell and clears the flag, if the flag is set.
    #[inline]
    fn ring_if(&self, flag: impl Fn(&LaneControl) -> &AtomicU64) {
        let flag = flag(self.memory.control());
        if flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::Relaxed) != 0 {
            self.bell.raise();
        }
    }
}

#[inline(always)]
fn store<const COUNT: usize>(cell: &[AtomicU64; WORDS], words: &[[u8; 8]]) {
    for (to, word) in cell[1..].iter().zip(&words[..COUNT]) {
        to.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
}

#[inline]
#[must_use]
pub fn cells_of(len: usize) -> usize {
    len.div_ceil(BODY).max(1)
}

#[derive(Debug)]
pub struct LaneWriter<M> {
    lane: Lane<M>,
    next: u64,
    /// The value of `next` at the last announcement.
    announced: u64,
    /// The reader's position at the last read.
    taken: u64,
}

impl<M: LaneMemory> LaneWriter<M> {
    pub(crate) fn new(lane: Lane<M>) -> LaneWriter<M> {
        LaneWriter { lane, next: 0, announced: 0, taken: 0 }
    }

    /// Writes a frame's cells from number `from` on, up to the capacity. Returns the first
    /// unwritten cell: [`cells_of`] the body when all are written. Wakes a long-sleeping reader.
    #[inline(always)]
    pub fn write(&mut self, header: Header, body: &[u8], from: usize) -> usize {
        if body.len() > BODY {
            return self.write_long(header, body, from);
        }
        if !self.has_capacity(1) {
            return 0;
        }
        self.put(self.next, FIRST | header.word(), body, Ordering::Release);
        self.next += 1;
        self.lane.ring_if(|control| &control.sleeps);
        1
    }

    #[inline(never)]
    fn write_long(&mut self, header: Header, body: &[u8], from: usize) -> usize {
        let mut written = from;
        for group in body[from * BODY..].chunks(GROUP * BODY) {
            let count = cells_of(group.len());
            if !self.has_capacity(count) {
                break;
            }
            let (first, others) = group.split_at(BODY.min(group.len()));
            let mut at = self.next + 1;
            for part in others.chunks(BODY) {
                self.put(at, 0, part, Ordering::Relaxed);
                at += 1;
            }
            let mark = if written == 0 { FIRST | header.word() } else { 0 };
            self.put(self.next, mark, first, Ordering::Release);
            self.next = at;
            written += count;
        }
        self.lane.ring_if(|control| &control.sleeps);
        written
    }

    #[inline(always)]
    fn put(&self, at: u64, mark: u64, part: &[u8], order: Ordering) {
        let (cell, lap) = self.lane.cell(at);
        let (words, rest) = part.as_chunks();
        // One case for each number of words: a loop takes longer.
        match words.len() {
            0 => {}
            1 => store::<1>(cell, words),
            2 => store::<2>(cell, words),
            3 => store::<3>(cell, words),
            4 => store::<4>(cell, words),
            5 => store::<5>(cell, words),
            6 => store::<6>(cell, words),
            _ => store::<7>(cell, words),
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            cell[1 + words.len()].store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
        cell[0].store(mark | lap, order);
    }

    #[inline]
    fn has_capacity(&mut self, count: usize) -> bool {
        self.is_free(count) || self.load_capacity(count)
    }

    #[inline]
    fn is_free(&self, count: usize) -> bool {
        self.next - self.taken + count as u64 <= self.lane.memory.cells().len() as u64
    }

    #[cold]
    fn load_capacity(&mut self, count: usize) -> bool {
        let taken = self.lane.memory.control().taken.load(Ordering::Acquire);
        // The reader may write any number there.
        if (self.taken..=self.next).contains(&taken) {
            self.taken = taken;
        }
        self.is_free(count)
    }

    /// Returns the bytes of all cells that were written.
    pub fn bytes(&self) -> u64 {
        self.next * size_of::<Cell>() as u64
    }

    /// Wakes a reader that fell asleep during the last writes. Call it when idle and before sleeps.
    #[inline]
    pub fn announce(&mut self) {
        if self.announced == self.next {
            return;
        }
        self.announced = self.next;
        // Orders the marks before the load of the flag. The reader sets it before it reads marks.
        fence(Ordering::SeqCst);
        let control = self.lane.memory.control();
        // A reader that has taken everything went to sleep later.
        if control.sleeps.load(Ordering::Acquire) != 0
            && control.taken.load(Ordering::Relaxed) != self.next
        {
            self.lane.ring_if(|control| &control.sleeps);
        }
    }

    /// Prepares to sleep until the bell rings; returns `false` if a group already fits.
    pub fn wait_for_capacity(&mut self) -> bool {
        self.lane.memory.control().waits.store(1, Ordering::Relaxed);
        // Orders the flag before the load of the position; pairs with `LaneReader::publish`.
        fence(Ordering::SeqCst);
        let most = GROUP.min(self.lane.memory.cells().len());
        !self.load_capacity(most)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Garbage {
    #[error("a frame of {len} bytes, where {limit} are the most")]
    TooLong { len: usize, limit: usize },
    #[error("cells of the ring do not form one frame")]
    Torn,
    /// The other side answered an incompletely written frame.
    #[error("an answer to a command that was not all written")]
    Early,
}

#[derive(Debug)]
pub struct LaneReader<M> {
    lane: Lane<M>,
    next: u64,
    /// The position published to the writer.
    published: u64,
    limit: usize,
    /// The body of a frame in one cell.
    short: [u64; WORDS - 1],
    long: Vec<u64>,
    /// The header of an incomplete longer frame, and the number of words read.
    partial: Option<(Header, usize)>,
}

impl<M: LaneMemory> LaneReader<M> {
    pub(crate) fn new(lane: Lane<M>, limit: usize) -> LaneReader<M> {
        let short = [0; WORDS - 1];
        LaneReader { lane, next: 0, published: 0, limit, short, long: Vec::new(), partial: None }
    }

    /// Returns the bytes of all cells that were read.
    pub fn bytes(&self) -> u64 {
        self.next * size_of::<Cell>() as u64
    }

    /// The mark of the next cell, without its lap bit; `None` while it is not written.
    #[inline(always)]
    fn mark(&self) -> Option<u64> {
        let (cell, lap) = self.lane.cell(self.next);
        let mark = cell[0].load(Ordering::Acquire);
        (mark & LAP == lap).then_some(mark & !LAP)
    }

    /// Returns the next frame once it is complete. After an error the ring is unusable.
    #[inline]
    pub fn receive(&mut self) -> Result<Option<(Header, &[u8])>, Garbage> {
        let Some(mark) = self.mark() else { return Ok(None) };
        let header = Header::from_word(mark & !FIRST);
        if mark & FIRST == 0 || header.len() > BODY || self.partial.is_some() {
            return self.receive_long(mark);
        }
        let (cell, _) = self.lane.cell(self.next);
        for (to, from) in self.short.iter_mut().zip(&cell[1..]) {
            *to = from.load(Ordering::Relaxed);
        }
        self.advance();
        Ok(Some((header, &bytemuck::bytes_of(&self.short)[..header.len()])))
    }

    #[inline(never)]
    fn receive_long(&mut self, first: u64) -> Result<Option<(Header, &[u8])>, Garbage> {
        let (header, mut read) = match self.partial.take() {
            Some(partial) => partial,
            None if first & FIRST == 0 => return Err(Garbage::Torn),
            None => (self.begin(Header::from_word(first & !FIRST))?, 0),
        };
        let words = header.len().div_ceil(8);
        while read < words {
            if read % (GROUP * (WORDS - 1)) == 0 {
                let Some(mark) = self.mark() else {
                    self.partial = Some((header, read));
                    return Ok(None);
                };
                if (mark & FIRST != 0) != (read == 0) {
                    return Err(Garbage::Torn);
                }
            }
            let (cell, _) = self.lane.cell(self.next);
            for (to, from) in self.long[read..words].iter_mut().zip(&cell[1..]) {
                *to = from.load(Ordering::Relaxed);
            }
            read += WORDS - 1;
            self.advance();
        }
        Ok(Some((header, &bytemuck::cast_slice(&self.long)[..header.len()])))
    }

    fn begin(&mut self, header: Header) -> Result<Header, Garbage> {
        let (len, limit) = (header.len(), self.limit);
        if len > limit {
            return Err(Garbage::TooLong { len, limit });
        }
        let words = len.div_ceil(8);
        if self.long.len() < words {
            self.long.resize(words, 0);
        }
        Ok(header)
    }

    #[inline]
    fn advance(&mut self) {
        self.next += 1;
        // Once for an eighth of the cells: meanwhile the writer's copy of the line stays valid.
        if self.next - self.published >= self.lane.memory.cells().len() as u64 / 8 {
            self.publish();
        }
    }

    /// Publishes the position, and wakes the writer if it waits for capacity.
    #[inline(never)]
    fn publish(&mut self) {
        self.published = self.next;
        self.lane.memory.control().taken.store(self.next, Ordering::Release);
        // Orders the position before the load of the flag.
        fence(Ordering::SeqCst);
        self.lane.ring_if(|control| &control.waits);
    }

    /// Prepares to sleep until the bell rings; returns `false` if a cell is already written.
    pub fn sleep(&mut self) -> bool {
        if self.published != self.next {
            self.publish();
        }
        // Release: a writer that sees the flag also sees the position.
        self.lane.memory.control().sleeps.store(1, Ordering::Release);
        // Orders the flag before the load of the mark; pairs with `LaneWriter::announce`.
        fence(Ordering::SeqCst);
        let is_empty = self.mark().is_none();
        if !is_empty {
            self.wake();
        }
        is_empty
    }

    /// Ends the sleep: the writer no longer rings the bell for frames.
    pub fn wake(&mut self) {
        self.lane.memory.control().sleeps.store(0, Ordering::Relaxed);
    }
}
