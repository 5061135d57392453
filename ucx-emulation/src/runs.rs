//! The allocator: best fit over runs of granules, with coalescing. The table is outside the memory:
//! other processes write to it, and unused pages stay holes.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a granule, the unit of all blocks.
pub(crate) const GRANULE: usize = 4096;

/// A free run with this many possibly dirty granules (128 KiB) is released.
pub(crate) const RELEASE: u32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GranuleRun {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRun;

#[derive(Debug, Clone, Copy)]
struct RunEntry {
    len: u32,
    /// Upper bound of the nonzero granules in a free run; `None` for a used run.
    dirty: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Runs {
    /// All runs by first granule.
    runs: BTreeMap<u32, RunEntry>,
    /// Length and first granule of each free run.
    free: BTreeSet<(u32, u32)>,
    /// Granules from here on are not managed yet.
    end: u32,
}

impl Runs {
    pub(crate) fn new(first: u32) -> Runs {
        Runs { runs: BTreeMap::new(), free: BTreeSet::new(), end: first }
    }

    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Adds granules, all zero.
    pub(crate) fn extend(&mut self, more: u32) {
        let start = self.end;
        self.end += more;
        self.join(start, more, 0);
    }

    /// Takes a run of `len` granules aligned to `align`, a power of two. Also returns whether its
    /// bytes are zero.
    pub(crate) fn take(&mut self, len: u32, align: u32) -> Option<(GranuleRun, bool)> {
        let wanted = len.checked_add(align - 1)?;
        let (all, first) = *self.free.range((wanted, 0)..).next()?;
        let dirty = self.remove(first)?.dirty?;
        // An aligned start exists: the run has `align - 1` granules more.
        let start = first.next_multiple_of(align);
        let before = start - first;
        let behind = all - before - len;
        self.put(first, before, Some(dirty.min(before)));
        self.put(start, len, None);
        self.put(start + len, behind, Some(dirty.min(behind)));
        Some((GranuleRun { start, len }, dirty == 0))
    }

    /// Frees a run. `clean`: its bytes are zero. `may_release`: the caller can release memory. If a
    /// run is returned, the caller must release its memory and then give that run again.
    pub(crate) fn give(
        &mut self,
        start: u32,
        clean: bool,
        may_release: bool,
    ) -> Result<Option<GranuleRun>, NoRun> {
        let len = self.len(start)?;
        let (joined, dirty) = self.join(start, len, if clean { 0 } else { len });
        if !may_release || dirty < RELEASE {
            return Ok(None);
        }
        self.remove(joined.start);
        self.put(joined.start, joined.len, None);
        Ok(Some(joined))
    }

    pub(crate) fn len(&self, start: u32) -> Result<u32, NoRun> {
        match self.runs.get(&start) {
            Some(RunEntry { len, dirty: None }) => Ok(*len),
            _ => Err(NoRun),
        }
    }

    /// Splits a used run after `len` granules. Returns the start of the second part.
    pub(crate) fn split(&mut self, start: u32, len: u32) -> Result<u32, NoRun> {
        let all = self.len(start)?;
        self.put(start, len, None);
        self.put(start + len, all - len, None);
        Ok(start + len)
    }

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

    pub(crate) fn used(&self) -> impl Iterator<Item = GranuleRun> {
        let used = self.runs.iter().filter(|(_, entry)| entry.dirty.is_none());
        used.map(|(start, entry)| GranuleRun { start: *start, len: entry.len })
    }

    /// Marks all free runs clean, for a forked child: the copy of the arena omits them.
    pub(crate) fn all_free_is_clean(&mut self) {
        self.runs.values_mut().for_each(|entry| entry.dirty = entry.dirty.and(Some(0)));
    }

    /// Frees granules and merges free neighbours. Returns the merged run and its dirty bound.
    fn join(&mut self, start: u32, len: u32, dirty: u32) -> (GranuleRun, u32) {
        self.runs.remove(&start);
        let (mut whole, mut whole_dirty) = (GranuleRun { start, len }, dirty);
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
