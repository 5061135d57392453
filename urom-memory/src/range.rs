//! Rust's ranges as an offset and a length.

use std::ops::{Bound, RangeBounds};

use crate::error::{Error, Result};

/// Where a range begins and how long it is, within memory of `size` bytes.
pub(crate) fn within(range: impl RangeBounds<u64>, size: u64) -> Result<(u64, u64)> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => size.max(start),
    };
    match end.checked_sub(start) {
        None => Err(Error::invalid(format!("a range cannot begin at {start} and end at {end}"))),
        Some(len) if end > size => Err(Error::out_of_range(start, len, size)),
        Some(len) => Ok((start, len)),
    }
}
