//! Rust's ranges as an offset and a length.

use std::ops::{Range, RangeBounds};

use urom_abi::memory::bounds;

use crate::error::{Error, Result};

/// Returns the offset and the length of a range, which must lie within memory of `size` bytes.
pub(crate) fn within(range: impl RangeBounds<u64>, size: u64) -> Result<(u64, u64)> {
    let Range { start, end } = bounds(range, size);
    match end.checked_sub(start) {
        None => Err(Error::invalid(format!("a range cannot begin at {start} and end at {end}"))),
        Some(len) if end > size => Err(Error::out_of_range(start, len, size)),
        Some(len) => Ok((start, len)),
    }
}
