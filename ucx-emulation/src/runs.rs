//! The allocator: runs of granules, the shortest that fits, neighbours coalesced.
//!
//! The memory itself holds no bookkeeping: others write to it, and untouched memory must stay a
//! hole.

use std::collections::{BTreeMap, BTreeSet};

/// The bytes of a granule. Each block is a multiple of it.
pub(crate) const GRANULE: usize = 4096;

/// A free run gives its memory back when so many of its granules may have been used: 128 KiB.
pub(crate) const RELEASE: u32 = 32;

/// Granules that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// A run for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) start: u32,
    /// Its bytes are all zero.
    pub(crate) clean: bool,
}

/// The result of giving a run back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    Kept,
    /// The caller gives this run's memory back to the system, and then the run again.
    Release(Run),
}

/// No run in use begins there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRun;

#[derive(Debug, Clone, Copy)]
struct RunEntry {
    len: u32,
    /// How many granules of a free run may have other content than zeros, at most; nothing of a run
    /// in use.
    dirty: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Runs {
    /// All runs by their first granules.
    runs: BTreeMap<u32, RunEntry>,
    /// Lengths and first granules of the free ones.
    free: BTreeSet<(u32, u32)>,
    /// Granules from here on are not managed yet.
    end: u32,
}

impl Runs {
    /// Manages nothing yet. Granules before `first` are never handed out.
    pub(crate) fn new(first: u32) -> Runs {
        Runs { runs: BTreeMap::new(), free: BTreeSet::new(), end: first }
    }

    /// How many granules there are, those before the first included.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Manages so many more, whose bytes are zero.
    pub(crate) fn extend(&mut self, more: u32) {
        let start = self.end;
        self.end += more;
        self.join(start, more, 0);
    }

    /// A run of `len` granules that begins at a multiple of `align`, a power of two.
    pub(crate) fn take(&mut self, len: u32, align: u32) -> Option<Taken> {
        let wanted = len.checked_add(align - 1)?;
        let (all, first) = *self.free.range((wanted, 0)..).next()?;
        let dirty = self.remove(first)?.dirty?;
        // There is one, because so many granules more are free.
        let start = first.next_multiple_of(align);
        let before = start - first;
        let behind = all - before - len;
        self.put(first, before, Some(dirty.min(before)));
        self.put(start, len, None);
        self.put(start + len, behind, Some(dirty.min(behind)));
        Some(Taken { start, clean: dirty == 0 })
    }

    /// Takes a run back, whose bytes are zero if it is `clean`. `may_release` if the caller is
    /// ready to give memory back.
    pub(crate) fn give(
        &mut self,
        start: u32,
        clean: bool,
        may_release: bool,
    ) -> Result<Given, NoRun> {
        let len = self.len(start)?;
        let (joined, dirty) = self.join(start, len, if clean { 0 } else { len });
        if !may_release || dirty < RELEASE {
            return Ok(Given::Kept);
        }
        self.remove(joined.start);
        self.put(joined.start, joined.len, None);
        Ok(Given::Release(joined))
    }

    /// The length of a run in use.
    pub(crate) fn len(&self, start: u32) -> Result<u32, NoRun> {
        match self.runs.get(&start) {
            Some(RunEntry { len, dirty: None }) => Ok(*len),
            _ => Err(NoRun),
        }
    }

    /// Makes two runs in use of one, the first of `len` granules. Returns where the second begins.
    pub(crate) fn split(&mut self, start: u32, len: u32) -> Result<u32, NoRun> {
        let all = self.len(start)?;
        self.put(start, len, None);
        self.put(start + len, all - len, None);
        Ok(start + len)
    }

    /// Makes a run in use longer, if the run behind it is free and long enough.
    pub(crate) fn grow(&mut self, start: u32, len: u32) -> Result<bool, NoRun> {
        let old = self.len(start)?;
        let (next, wanted) = (start + old, len - old);
        let Some(RunEntry { len: behind, dirty: Some(dirty) }) = self.runs.get(&next).copied()
        else {
            return Ok(false);
        };
        if behind < wanted {
            return Ok(false);
        }
        self.remove(next);
        let rest = behind - wanted;
        self.put(start, len, None);
        self.put(next + wanted, rest, Some(dirty.min(rest)));
        Ok(true)
    }

    /// All runs in use, in order.
    pub(crate) fn used(&self) -> impl Iterator<Item = Run> {
        let used = self.runs.iter().filter(|(_, entry)| entry.dirty.is_none());
        used.map(|(start, entry)| Run { start: *start, len: entry.len })
    }

    /// Declares all free runs clean. A forked child needs it: the copy of the arena leaves them
    /// out.
    pub(crate) fn all_free_is_clean(&mut self) {
        self.runs.values_mut().for_each(|entry| entry.dirty = entry.dirty.and(Some(0)));
    }

    /// Makes granules free, together with free neighbours. Returns the whole, and how much of it
    /// may be dirty.
    fn join(&mut self, start: u32, len: u32, dirty: u32) -> (Run, u32) {
        self.runs.remove(&start);
        let (mut whole, mut whole_dirty) = (Run { start, len }, dirty);
        let before = self.runs.range(..start).next_back().map(|(before, _)| *before);
        for neighbour in [Some(start + len), before].into_iter().flatten() {
            let Some(entry) = self.runs.get(&neighbour).copied() else { continue };
            if let Some(dirty) = entry.dirty {
                self.remove(neighbour);
                whole.start = whole.start.min(neighbour);
                whole.len += entry.len;
                whole_dirty += dirty;
            }
        }
        self.put(whole.start, whole.len, Some(whole_dirty));
        (whole, whole_dirty)
    }

    /// Adds a run, unless it is empty, or changes a run in use.
    fn put(&mut self, start: u32, len: u32, dirty: Option<u32>) {
        if len == 0 {
            return;
        }
        self.runs.insert(start, RunEntry { len, dirty });
        if dirty.is_some() {
            self.free.insert((len, start));
        }
    }

    fn remove(&mut self, start: u32) -> Option<RunEntry> {
        let entry = self.runs.remove(&start)?;
        self.free.remove(&(entry.len, start));
        Some(entry)
    }
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
