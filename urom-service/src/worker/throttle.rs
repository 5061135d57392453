//! Keeps what can happen a million times a second from filling the log.

use std::fmt;

/// Counts occurrences, and says which are worth a line: the first, second, fourth, eighth and so on.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    count: u64,
}

impl Throttle {
    /// Counts one; what its line says of those before it, if it is worth a line.
    pub(crate) fn count(&mut self) -> Option<SoFar> {
        self.count += 1;
        self.count.is_power_of_two().then_some(SoFar(self.count))
    }

    /// How many there were.
    pub(crate) fn total(&self) -> u64 {
        self.count
    }
}

/// How often something happened; displayed, it ends the line about the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SoFar(u64);

impl fmt::Display for SoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => Ok(()),
            count => write!(f, " ({count} times so far)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_occurrences_give_twenty_lines() {
        let mut throttle = Throttle::default();
        let lines: Vec<SoFar> = (0..1_000_000).filter_map(|_| throttle.count()).collect();
        assert_eq!(lines.len(), 20);
        assert_eq!(lines[..4], [1, 2, 4, 8].map(SoFar));
        assert_eq!(lines[0].to_string() + &lines[2].to_string(), " (4 times so far)");
    }
}
