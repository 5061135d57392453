//! Ranges of some bytes that requests have, so that no two of them get into each other's way.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// Who has which ranges of some bytes. It knows nothing of the bytes: [`Memory`](crate::Memory) has
/// one for its leases, and a program has one beside a [`Window`](crate::Window), whose bytes are
/// elsewhere. A handle that can be cloned.
///
/// ```
/// use ucx::Ranges;
///
/// let taken = Ranges::default();
/// let written = taken.lease(0..64);
/// assert!(written.is_some() && taken.lease(63..65).is_none() && taken.share(0..1).is_none());
/// // Any number of those who only read.
/// let read = [taken.share(64..128), taken.share(100..200)];
/// assert!(read.iter().all(Option::is_some) && taken.lease(127..128).is_none());
/// drop(written);
/// assert!(taken.lease(0..64).is_some());
/// // No bytes are in nobody's way.
/// assert!(taken.share(100..100).is_some());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Ranges(Rc<RefCell<Vec<Taken>>>);

/// A range that somebody has.
#[derive(Debug, Clone, PartialEq)]
struct Taken {
    range: Range<usize>,
    shared: bool,
}

impl Ranges {
    /// Takes a range for nobody else until it is dropped. `None` when somebody has some of it, or
    /// when it ends before it begins.
    #[must_use]
    pub fn lease(&self, range: Range<usize>) -> Option<RangeLease> {
        self.take(range, false)
    }

    /// As [`lease`](Ranges::lease), for those who only read: any number of them may share bytes.
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

    /// Whether somebody has bytes of `range`, those who only read them not counted if this one only
    /// `reads` too.
    pub(crate) fn clash(&self, range: &Range<usize>, reads: bool) -> bool {
        let clash =
            |taken: &Taken| taken.range.start.max(range.start) < taken.range.end.min(range.end);
        self.0.borrow().iter().any(|taken| !(reads && taken.shared) && clash(taken))
    }
}

/// A range that was taken out of the others' hands. Dropping it gives it back.
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
