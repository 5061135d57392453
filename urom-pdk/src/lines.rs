//! Limits log lines of one kind to a few a second: a host could fill its worker's log.

use std::fmt;
use std::time::{Duration, Instant};

pub(crate) const LINES: u32 = 8;

/// Then the next line of a kind is written, with the number of unlogged ones.
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Window {
    began: Instant,
    lines: u32,
    unsaid: u64,
}

impl Window {
    pub(crate) fn new(began: Instant) -> Window {
        Window { began, lines: 0, unsaid: 0 }
    }

    /// Counts a failure. Returns the number of earlier unlogged ones if it gets a line.
    pub(crate) fn note(&mut self, now: Instant) -> Option<Unsaid> {
        if now.saturating_duration_since(self.began) >= WINDOW {
            (self.began, self.lines) = (now, 0);
        }
        if self.lines == LINES {
            self.unsaid += 1;
            return None;
        }
        self.lines += 1;
        Some(Unsaid(std::mem::take(&mut self.unsaid)))
    }

    pub(crate) fn unsaid(&self) -> u64 {
        self.unsaid
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsaid(u64);

impl fmt::Display for Unsaid {
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
    fn a_flood_has_a_few_lines_and_the_next_second_says_how_many_it_was() {
        let begin = Instant::now();
        let mut window = Window::new(begin);
        let lines = (0..1000).filter_map(|_| window.note(begin)).count();
        assert_eq!(lines, LINES as usize);
        let unsaid = 1000 - u64::from(LINES);
        assert_eq!(window.unsaid(), unsaid);
        assert_eq!(window.note(begin + WINDOW), Some(Unsaid(unsaid)));
        assert_eq!(window.note(begin + WINDOW), Some(Unsaid(0)));
        assert_eq!(window.unsaid(), 0);
    }

    #[test]
    fn what_fails_now_and_then_has_a_line_each_time() {
        let begin = Instant::now();
        let mut window = Window::new(begin);
        assert!((0..1000).all(|second| window.note(begin + second * WINDOW) == Some(Unsaid(0))));
    }

    #[test]
    fn a_line_says_how_many_had_none() {
        assert_eq!(Unsaid(0).to_string(), "");
        assert_eq!(
            Unsaid(7).to_string(),
            " (7 more of its kind failed before, and were not logged)"
        );
    }
}
