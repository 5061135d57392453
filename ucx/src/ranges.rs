//! Ranges of bytes that requests use, so that no two of them conflict.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// The ranges of some bytes that are taken. It does not know the bytes: [`Memory`](crate::Memory)
/// and [`Imported`](crate::Imported) have one each. A handle that can be cloned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges(Rc<RefCell<Vec<Taken>>>);

/// A range that is taken.
#[derive(Debug, Clone, PartialEq)]
struct Taken {
    range: Range<usize>,
    shared: bool,
}

impl Ranges {
    /// Takes a range until it is dropped, for readers alone if it is `shared`: any number of them
    /// may share bytes. `None` when some of it is taken, or when it ends before it begins.
    pub(crate) fn take(&self, range: Range<usize>, shared: bool) -> Option<RangeLease> {
        if range.start > range.end || self.clash(&range, shared) {
            return None;
        }
        let taken = Taken { range, shared };
        self.0.borrow_mut().push(taken.clone());
        Some(RangeLease { of: self.clone(), taken })
    }

    /// Whether some of `range` is taken. Readers do not conflict with readers.
    pub(crate) fn clash(&self, range: &Range<usize>, reads: bool) -> bool {
        let clash =
            |taken: &Taken| taken.range.start.max(range.start) < taken.range.end.min(range.end);
        self.0.borrow().iter().any(|taken| !(reads && taken.shared) && clash(taken))
    }
}

/// A range that is taken. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct RangeLease {
    of: Ranges,
    taken: Taken,
}

impl RangeLease {
    /// Where it lies in the bytes.
    pub(crate) fn range(&self) -> Range<usize> {
        self.taken.range.clone()
    }
}

impl Drop for RangeLease {
    fn drop(&mut self) {
        let mut all = self.of.0.borrow_mut();
        // Those that are equal are shared, and one is as good as another.
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
