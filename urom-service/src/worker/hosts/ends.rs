//! Ends of memory shares. A share's end waits for earlier commands of its host, on another path.

use std::cell::{Cell, RefCell};

use urom_wire::control::MemoryAnswer;

use super::{HostEntry, Hosts};
use crate::worker::messages::{EndOfShare, LinkKey, ToControl};

/// One host's pending ends, each of an existing share.
#[derive(Debug)]
pub(super) struct ShareEnds {
    came: Cell<u64>,
    /// Number of commands at which the next end is due.
    next: Cell<u64>,
    /// Sorted; the next end is last.
    waiting: RefCell<Vec<EndOfShare>>,
}

impl Default for ShareEnds {
    fn default() -> ShareEnds {
        ShareEnds { came: Cell::new(0), next: Cell::new(u64::MAX), waiting: RefCell::default() }
    }
}

impl ShareEnds {
    /// Counts a command, in constant time. Returns whether an end is newly due.
    #[inline]
    fn count(&self) -> bool {
        self.came.set(self.came.get() + 1);
        self.came.get() == self.next.get()
    }

    fn postpone(&self, end: EndOfShare) {
        let mut waiting = self.waiting.borrow_mut();
        let index = waiting.partition_point(|other| other.after > end.after);
        waiting.insert(index, end);
        self.see_next(&waiting);
    }

    fn take(&self, share: u64) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let index = waiting.iter().position(|end| end.share == share);
        let taken = index.map(|index| waiting.remove(index));
        self.see_next(&waiting);
        taken.is_some()
    }

    fn take_due(&self) -> Vec<EndOfShare> {
        let mut waiting = self.waiting.borrow_mut();
        let index = waiting.partition_point(|end| end.after > self.came.get());
        let due = waiting.split_off(index);
        self.see_next(&waiting);
        due
    }

    fn clear(&self) {
        self.waiting.borrow_mut().clear();
        self.next.set(u64::MAX);
    }

    fn see_next(&self, waiting: &[EndOfShare]) {
        self.next.set(waiting.last().map_or(u64::MAX, |end| end.after));
    }
}

impl Hosts {
    #[inline]
    pub(crate) fn count_command(&self, host: &HostEntry) {
        if host.ends.count() {
            self.due.borrow_mut().extend(self.by_channel(host.channel));
        }
    }

    /// Ends a share once its host's earlier commands have arrived.
    pub(crate) fn unshare(&self, link: LinkKey, end: EndOfShare) {
        let Some(host) = self.by_link(link) else { return };
        let EndOfShare { memory, share, after } = end;
        let shares = &self.memories.shares;
        if !shares.is_shared(host.dest_id, memory, share) {
            let answer = MemoryAnswer::Ended { share };
            return self.control.send(ToControl::Memory { link, answer });
        }
        // A second end does not wait, so there are never more ends than shares.
        if host.ends.take(share) || host.ends.came.get() >= after {
            shares.unshare(host.dest_id, memory, share);
        } else {
            host.ends.postpone(end);
        }
    }

    #[inline]
    pub(crate) fn end_due(&self) {
        if self.due.borrow().is_empty() {
            return;
        }
        for host in self.due.take() {
            for EndOfShare { memory, share, .. } in host.ends.take_due() {
                self.memories.shares.unshare(host.dest_id, memory, share);
            }
        }
    }

    pub(crate) fn end_shares(&self, link: LinkKey) {
        if let Some(host) = self.by_link(link) {
            host.ends.clear();
            self.memories.close(host.dest_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(share: u64, after: u64) -> EndOfShare {
        EndOfShare { memory: share, share, after }
    }

    fn shares(ends: &[EndOfShare]) -> Vec<u64> {
        ends.iter().map(|end| end.share).collect()
    }

    #[test]
    fn an_end_is_due_with_its_last_command_and_makes_no_work_before() {
        let ends = ShareEnds::default();
        // For commands that never arrive.
        (10..4000).for_each(|share| ends.postpone(end(share, u64::MAX - share)));
        for (share, after) in [(1, 5), (2, 3), (3, 5), (4, 1000)] {
            ends.postpone(end(share, after));
        }
        assert_eq!([(); 4].map(|()| ends.count()), [false, false, true, false]);
        assert_eq!(shares(&ends.take_due()), [2]);
        assert!(ends.count() && !ends.count());
        let mut due = shares(&ends.take_due());
        due.sort_unstable();
        assert_eq!(due, [1, 3]);
        assert_eq!((6..999).filter(|_| ends.count()).count(), 0);
        assert!(ends.take(4) && !ends.take(4));
        assert!(!ends.count(), "it was taken back");
        assert!(ends.take_due().is_empty());
    }
}
