//! Ranges of bytes that requests use, so that no two of them conflict.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// The ranges of some bytes that are taken. It does not know the bytes: [`Memory`](crate::Memory)
/// has one for its leases, and a program has one beside a window. A handle that
/// can be cloned.
///
/// ```
/// let taken = ucx::Ranges::default();
/// let written = taken.lease(0..64);
/// assert!(written.is_some() && taken.lease(63..65).is_none() && taken.share(0..1).is_none());
/// let readers = [taken.share(64..128), taken.share(100..200)];
/// assert!(readers.iter().all(Option::is_some) && taken.lease(127..128).is_none());
/// drop(written);
/// assert!(taken.lease(0..64).is_some());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Ranges(Rc<RefCell<Vec<Taken>>>);

/// A range that is taken.
#[derive(Debug, Clone, PartialEq)]
struct Taken {
    range: Range<usize>,
    shared: bool,
}

impl Ranges {
    /// Takes a range until it is dropped. `None` when some of it is taken, or when it ends before
    /// it begins.
    #[must_use]
    pub fn lease(&self, range: Range<usize>) -> Option<RangeLease> {
        self.take(range, false)
    }

    /// As [`lease`](Ranges::lease), for readers: any number of them may share bytes.
    #[must_use]
    pub fn share(&self, range: Range<usize>) -> Option<RangeLease> {
        self.take(range, true)
    }

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
pub struct RangeLease {
    of: Ranges,
    taken: Taken,
}

impl RangeLease {
    /// Where it lies in the bytes.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
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
