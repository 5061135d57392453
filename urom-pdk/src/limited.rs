//! Log lines with a limited number.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of lines written before only powers of two are.
const FIRST: u64 = 8;

/// Runs a logging expression the first eight times that this line is reached, then for each power
/// of two. Peers and hosts could cause such lines without end.
///
/// ```
/// use urom_pdk::limited;
///
/// fn dropped(len: usize) {
///     limited!(log::warn!("a message of {len} bytes was dropped"));
/// }
/// ```
#[macro_export]
macro_rules! limited {
    ($log:expr) => {{
        static COUNT: ::core::sync::atomic::AtomicU64 = ::core::sync::atomic::AtomicU64::new(0);
        if $crate::__private::is_due(&COUNT) {
            $log;
        }
    }};
}

/// Counts a line, and returns whether it is written.
pub fn is_due(count: &AtomicU64) -> bool {
    let number = count.fetch_add(1, Ordering::Relaxed) + 1;
    number <= FIRST || number.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    #[test]
    fn a_flood_of_lines_is_cut() {
        let written = Cell::new(0);
        for _ in 0..1000 {
            limited!(written.set(written.get() + 1));
        }
        // 1 to 8, then 16, 32, ... 512.
        assert_eq!(written.get(), 8 + 6);
    }
}
