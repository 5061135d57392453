//! Byte ranges in use by requests, to detect conflicts.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// The ranges in use of a [`Memory`](crate::Memory) or [`Imported`](crate::Imported), cloneable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges(Rc<RefCell<Vec<UsedRange>>>);

#[derive(Debug, Clone, PartialEq)]
struct UsedRange {
    range: Range<usize>,
    shared: bool,
}

impl Ranges {
    /// Takes a range; `shared` ranges may overlap. `None` on a conflict or a reversed range.
    pub(crate) fn take(&self, range: Range<usize>, shared: bool) -> Option<RangeBorrow> {
        if range.start > range.end || self.clash(&range, shared) {
            return None;
        }
        let taken = UsedRange { range, shared };
        self.0.borrow_mut().push(taken.clone());
        Some(RangeBorrow { of: self.clone(), taken })
    }

    /// Returns whether `range` conflicts with a taken range. Readers do not conflict with readers.
    pub(crate) fn clash(&self, range: &Range<usize>, reads: bool) -> bool {
        let clash =
            |taken: &UsedRange| taken.range.start.max(range.start) < taken.range.end.min(range.end);
        self.0.borrow().iter().any(|taken| !(reads && taken.shared) && clash(taken))
    }
}

#[derive(Debug)]
pub(crate) struct RangeBorrow {
    of: Ranges,
    taken: UsedRange,
}

impl RangeBorrow {
    pub(crate) fn range(&self) -> Range<usize> {
        self.taken.range.clone()
    }
}

impl Drop for RangeBorrow {
    fn drop(&mut self) {
        let mut all = self.of.0.borrow_mut();
        if let Some(index) = all.iter().position(|other| *other == self.taken) {
            all.swap_remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_alone_and_readers_share() {
        let taken = Ranges::default();
        let written = taken.take(0..64, false);
        assert!(written.is_some());
        assert!(taken.take(63..65, false).is_none() && taken.take(0..1, true).is_none());
        let readers = [taken.take(64..128, true), taken.take(100..200, true)];
        assert!(readers.iter().all(Option::is_some) && taken.take(127..128, false).is_none());
        drop(written);
        assert!(taken.take(0..64, false).is_some());
    }
}
