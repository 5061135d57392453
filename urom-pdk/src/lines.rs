//! Limits log lines of one kind to a few a second: a host could fill its worker's log.

use std::fmt;
use std::time::{Duration, Instant};

pub(crate) const LINES: u32 = 8;

/// Then the next line of a kind is written, with the number of unlogged ones.
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct LineWindow {
    began: Instant,
    lines: u32,
    unlogged: u64,
}

impl LineWindow {
    pub(crate) fn new(began: Instant) -> LineWindow {
        LineWindow { began, lines: 0, unlogged: 0 }
    }

    /// Counts a failure. Returns the number of earlier unlogged ones if it gets a line.
    pub(crate) fn note(&mut self, now: Instant) -> Option<Unlogged> {
        if now.saturating_duration_since(self.began) >= WINDOW {
            (self.began, self.lines) = (now, 0);
        }
        if self.lines == LINES {
            self.unlogged += 1;
            return None;
        }
        self.lines += 1;
        Some(Unlogged(std::mem::take(&mut self.unlogged)))
    }

    pub(crate) fn unlogged(&self) -> u64 {
        self.unlogged
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unlogged(u64);

impl fmt::Display for Unlogged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, " ({count} more of its kind failed before, and were not logged)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_has_a_few_lines_and_its_number_in_the_next_second() {
        let begin = Instant::now();
        let mut window = LineWindow::new(begin);
        let lines = (0..1000).filter_map(|_| window.note(begin)).count();
        assert_eq!(lines, LINES as usize);
        let unlogged = 1000 - u64::from(LINES);
        assert_eq!(window.unlogged(), unlogged);
        assert_eq!(window.note(begin + WINDOW), Some(Unlogged(unlogged)));
        assert_eq!(window.note(begin + WINDOW), Some(Unlogged(0)));
        assert_eq!(window.unlogged(), 0);
    }

    #[test]
    fn an_occasional_failure_is_always_logged() {
        let begin = Instant::now();
        let mut window = LineWindow::new(begin);
        assert!((0..1000).all(|second| window.note(begin + second * WINDOW) == Some(Unlogged(0))));
    }

    #[test]
    fn a_line_has_the_number_of_unlogged_failures() {
        assert_eq!(Unlogged(0).to_string(), "");
        assert_eq!(
            Unlogged(7).to_string(),
            " (7 more of its kind failed before, and were not logged)"
        );
    }
}
