//! The allocator: runs of granules, first fit among runs of about the right length, neighbours
//! coalesced.
//!
//! Nothing is stored in the memory itself: others write to it, and what this process never touched
//! must stay a hole. That is why no kept allocator does: those without a standard library keep
//! their lists in free blocks. The table has an entry for each granule; the first entry of a run
//! describes it, the last leads back to the first, and those between are empty.

use std::ops::DerefMut;

use crate::note::fatal;

/// What is handed out is a multiple of this many bytes.
pub(crate) const GRANULE: usize = 4096;

/// A free run gives its memory back when so many of its granules may have been used: 128 KiB.
pub(crate) const RELEASE: u32 = 32;

/// How many runs of about the right length are looked at when a longer one would do, too.
const LOOKED_AT: usize = 64;

const NONE: u32 = u32::MAX;

/// Zero bytes are an entry that is inside of a run.
#[repr(u32)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RunKind {
    #[default]
    Inside,
    Used,
    Free,
    End,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunEntry {
    kind: RunKind,
    /// Of a run's first and last entries.
    len: u32,
    /// How many granules of a free run may have other content than zeros, at most.
    dirty: u32,
    /// Other free runs of the same bin.
    prev: u32,
    next: u32,
}

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

/// What became of a run that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    Kept,
    /// The caller gives this run's memory back to the system, and then the run again.
    Release(Run),
}

/// No run in use begins there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRun;

#[derive(Debug)]
pub(crate) struct Runs<T> {
    table: T,
    /// Granules from here on are not managed yet.
    end: u32,
    /// The first free run of each bin, by the logarithm of its length.
    bins: [u32; 32],
    /// Which bins have any.
    filled: u32,
}

impl<T: DerefMut<Target = [RunEntry]>> Runs<T> {
    /// Manages nothing yet. Granules before `first` are never handed out.
    pub(crate) const fn new(table: T, first: u32) -> Runs<T> {
        Runs { table, end: first, bins: [NONE; 32], filled: 0 }
    }

    pub(crate) fn table(&mut self) -> &mut T {
        &mut self.table
    }

    /// How many granules there are, those before the first included.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Manages so many more, whose bytes are zero; the table has entries for them.
    pub(crate) fn extend(&mut self, more: u32) {
        let start = self.end;
        self.end += more;
        self.mark(start, more, RunKind::Used);
        self.join(start, more, 0);
    }

    /// A run of `len` granules that begins at a multiple of `align`, a power of two.
    pub(crate) fn take(&mut self, len: u32, align: u32) -> Option<Taken> {
        let run = self.find(len.max(1).checked_add(align - 1)?)?;
        let found = *self.at(run);
        self.unlink(run);
        let start = run.checked_next_multiple_of(align)?;
        let before = start - run;
        let behind = found.len - before - len;
        self.clear(run, found.len);
        if before != 0 {
            self.link(run, before, found.dirty.min(before));
        }
        if behind != 0 {
            self.link(start + len, behind, found.dirty.min(behind));
        }
        self.mark(start, len, RunKind::Used);
        Some(Taken { start, clean: found.dirty == 0 })
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
        let joined = self.join(start, len, if clean { 0 } else { len });
        let dirty = self.at(joined).dirty;
        if !may_release || dirty < RELEASE {
            return Ok(Given::Kept);
        }
        let len = self.at(joined).len;
        self.unlink(joined);
        self.mark(joined, len, RunKind::Used);
        Ok(Given::Release(Run { start: joined, len }))
    }

    /// The length of a run in use.
    pub(crate) fn len(&mut self, start: u32) -> Result<u32, NoRun> {
        if start >= self.end {
            return Err(NoRun);
        }
        let entry = *self.at(start);
        if entry.kind == RunKind::Used { Ok(entry.len) } else { Err(NoRun) }
    }

    /// Makes two runs in use of one, the first of `len` granules. Returns where the second begins.
    pub(crate) fn split(&mut self, start: u32, len: u32) -> Result<u32, NoRun> {
        let all = self.len(start)?;
        self.clear(start, all);
        self.mark(start, len, RunKind::Used);
        self.mark(start + len, all - len, RunKind::Used);
        Ok(start + len)
    }

    /// Makes a run in use longer, if the run behind it is free and long enough.
    pub(crate) fn grow(&mut self, start: u32, len: u32) -> Result<bool, NoRun> {
        let old = self.len(start)?;
        let next = start + old;
        if next >= self.end {
            return Ok(false);
        }
        let behind = *self.at(next);
        let wanted = len - old;
        if behind.kind != RunKind::Free || behind.len < wanted {
            return Ok(false);
        }
        self.unlink(next);
        self.clear(next, behind.len);
        self.clear(start, old);
        let rest = behind.len - wanted;
        if rest != 0 {
            self.link(next + wanted, rest, behind.dirty.min(rest));
        }
        self.mark(start, len, RunKind::Used);
        Ok(true)
    }

    /// All runs in use that begin at or behind `from`.
    pub(crate) fn next_used(&mut self, from: u32) -> Option<Run> {
        let mut start = from;
        while start < self.end {
            let entry = *self.at(start);
            match entry.kind {
                RunKind::Used => return Some(Run { start, len: entry.len }),
                RunKind::Free => start += entry.len,
                RunKind::Inside | RunKind::End => broken(),
            }
        }
        None
    }

    /// Declares all free runs clean: in a forked child, which has no copy of them.
    pub(crate) fn all_free_is_clean(&mut self) {
        for bin in self.bins {
            let mut run = bin;
            while run != NONE {
                let entry = self.at(run);
                entry.dirty = 0;
                run = entry.next;
            }
        }
    }

    /// Makes a run in use free, together with free neighbours. Returns where the whole begins.
    fn join(&mut self, start: u32, len: u32, dirty: u32) -> u32 {
        let (mut whole, mut whole_dirty) = (Run { start, len }, dirty);
        self.clear(start, len);
        let next = start + len;
        if next < self.end && self.at(next).kind == RunKind::Free {
            let entry = *self.at(next);
            self.unlink(next);
            self.clear(next, entry.len);
            whole.len += entry.len;
            whole_dirty += entry.dirty;
        }
        if let Some(before) = self.free_before(start) {
            let entry = *self.at(before);
            self.unlink(before);
            self.clear(before, entry.len);
            whole = Run { start: before, len: whole.len + entry.len };
            whole_dirty += entry.dirty;
        }
        self.link(whole.start, whole.len, whole_dirty);
        whole.start
    }

    /// Where the free run begins that ends before `start`.
    fn free_before(&mut self, start: u32) -> Option<u32> {
        let last = start.checked_sub(1)?;
        let entry = *self.at(last);
        let first = match entry.kind {
            RunKind::End => start - entry.len,
            // What is handed out to nobody lies before the first run.
            RunKind::Inside => return None,
            RunKind::Used | RunKind::Free => last,
        };
        (self.at(first).kind == RunKind::Free).then_some(first)
    }

    fn find(&mut self, len: u32) -> Option<u32> {
        let own = bin(len);
        let longer = self.filled & (u32::MAX << own) & !(1 << own);
        let mut left = if longer == 0 { usize::MAX } else { LOOKED_AT };
        let mut run = self.bins[own];
        while run != NONE && left != 0 {
            let entry = *self.at(run);
            if entry.len >= len {
                return Some(run);
            }
            (run, left) = (entry.next, left - 1);
        }
        (longer != 0).then(|| self.bins[longer.trailing_zeros() as usize & 31])
    }

    /// Puts a free run into its bin.
    fn link(&mut self, start: u32, len: u32, dirty: u32) {
        self.mark(start, len, RunKind::Free);
        let bin = bin(len);
        let next = self.bins[bin];
        if next != NONE {
            self.at(next).prev = start;
        }
        let entry = self.at(start);
        (entry.dirty, entry.prev, entry.next) = (dirty, NONE, next);
        self.bins[bin] = start;
        self.filled |= 1 << bin;
    }

    /// Takes a free run out of its bin.
    fn unlink(&mut self, start: u32) {
        let entry = *self.at(start);
        let bin = bin(entry.len);
        match entry.prev {
            NONE => self.bins[bin] = entry.next,
            prev => self.at(prev).next = entry.next,
        }
        if entry.next != NONE {
            self.at(entry.next).prev = entry.prev;
        }
        if self.bins[bin] == NONE {
            self.filled &= !(1 << bin);
        }
    }

    fn mark(&mut self, start: u32, len: u32, kind: RunKind) {
        if len > 1 {
            *self.at(start + len - 1) = RunEntry { kind: RunKind::End, len, ..RunEntry::default() };
        }
        *self.at(start) = RunEntry { kind, len, ..RunEntry::default() };
    }

    fn clear(&mut self, start: u32, len: u32) {
        *self.at(start) = RunEntry::default();
        *self.at(start + len - 1) = RunEntry::default();
    }

    fn at(&mut self, index: u32) -> &mut RunEntry {
        self.table.get_mut(index as usize).unwrap_or_else(|| broken())
    }
}

/// The bin of runs of this length, which is not 0.
fn bin(len: u32) -> usize {
    (31 - (len | 1).leading_zeros()) as usize & 31
}

#[cold]
fn broken() -> ! {
    fatal("urom_ucx_emulation: the table of the arena is damaged\n")
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
