//! Limits log lines that others cause: a burst, then one per interval with the number omitted.

use std::fmt;
use std::time::{Duration, Instant};

const BURST: u32 = 16;

const PACE: Duration = Duration::from_secs(10);

/// A budget for lines of one kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LineBudget {
    /// Time when all of [`BURST`] is available again.
    whole: Option<Instant>,
    left_out: u64,
}

/// Number of lines omitted since the last line, for the end of the next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftOut(u64);

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, " (and {count} before it, which are not logged)"),
        }
    }
}

impl LineBudget {
    /// Takes a line from the budget, if there is one left.
    pub fn line(&mut self) -> Option<LeftOut> {
        self.line_at(Instant::now())
    }

    fn line_at(&mut self, now: Instant) -> Option<LeftOut> {
        let whole = self.whole.map_or(now, |at| at.max(now)) + PACE;
        if whole > now + PACE * BURST {
            self.left_out += 1;
            return None;
        }
        self.whole = Some(whole);
        Some(LeftOut(std::mem::take(&mut self.left_out)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_a_hundred_a_second_is_a_line_in_ten_seconds_and_none_goes_uncounted() {
        let (mut budget, begin) = (LineBudget::default(), Instant::now());
        let (mut lines, mut left_out) = (0, 0);
        let all = 3600 * 100;
        for number in 0..all {
            if let Some(LeftOut(before)) =
                budget.line_at(begin + Duration::from_millis(10 * number))
            {
                lines += 1;
                left_out += before;
            }
        }
        assert!((360..360 + u64::from(BURST)).contains(&lines), "{lines} lines");
        assert_eq!(lines + left_out + budget.left_out, all);
    }

    #[test]
    fn an_occasional_line_is_always_written() {
        let (mut budget, begin) = (LineBudget::default(), Instant::now());
        for number in 0..BURST {
            assert_eq!(budget.line_at(begin), Some(LeftOut(0)), "{number}");
        }
        assert_eq!(budget.line_at(begin), None);
        for number in 1..1000 {
            let before = u64::from(number == 1);
            assert_eq!(budget.line_at(begin + PACE * number), Some(LeftOut(before)), "{number}");
        }
    }
}
