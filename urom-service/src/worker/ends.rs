//! The ends of shares. Commands take another way than these requests, so an end waits for commands
//! that its host sent before.

use super::messages::EndOfShare;

/// The ends of one connection's shares that wait, each of a share that there is.
#[derive(Debug)]
pub(crate) struct Ends {
    came: u64,
    /// How many have come when the next end is due.
    next: u64,
    /// The next one is last.
    waiting: Vec<EndOfShare>,
}

impl Ends {
    pub(crate) const NONE: Ends = Ends { came: 0, next: u64::MAX, waiting: Vec::new() };

    /// Counts a command. Whether an end is due now that was not before: all other commands cost a
    /// comparison, however many ends wait.
    #[inline]
    pub(crate) fn count(&mut self) -> bool {
        self.came += 1;
        self.came == self.next
    }

    pub(super) fn postpone(&mut self, end: EndOfShare) {
        let place = self.waiting.partition_point(|other| other.after > end.after);
        self.waiting.insert(place, end);
        self.see_next();
    }

    /// Takes back the end of a share. Whether it waited.
    pub(super) fn take(&mut self, share: u64) -> bool {
        let place = self.waiting.iter().position(|end| end.share == share);
        let taken = place.map(|place| self.waiting.remove(place));
        self.see_next();
        taken.is_some()
    }

    /// Takes the ends that are due.
    pub(super) fn take_due(&mut self) -> Vec<EndOfShare> {
        let place = self.waiting.partition_point(|end| end.after > self.came);
        let due = self.waiting.split_off(place);
        self.see_next();
        due
    }

    pub(super) fn have_come(&self, commands: u64) -> bool {
        self.came >= commands
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.see_next();
    }

    fn see_next(&mut self) {
        self.next = self.waiting.last().map_or(u64::MAX, |end| end.after);
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
        let mut ends = Ends::NONE;
        // Of commands that never come.
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
