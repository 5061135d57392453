//! Keeps what can happen a million times a second from filling the log.

/// Counts occurrences, and says which are worth a line: the first, second, fourth, eighth and so on.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    count: u64,
}

impl Throttle {
    /// Counts one; the count if it is worth a line.
    pub(crate) fn count(&mut self) -> Option<u64> {
        self.count += 1;
        self.count.is_power_of_two().then_some(self.count)
    }

    /// How many there were.
    pub(crate) fn total(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_occurrences_give_twenty_lines() {
        let mut throttle = Throttle::default();
        let lines: Vec<u64> = (0..1_000_000).filter_map(|_| throttle.count()).collect();
        assert_eq!(lines.len(), 20);
        assert_eq!(lines[..4], [1, 2, 4, 8]);
    }
}
