//! A line for each suite that ran, for the table in this package's README.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a suite ended.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name.
    pub suite: &'static str,
    /// How long it ran.
    pub took: Duration,
    /// How much of what it did.
    pub done: String,
    /// What came of it, in a word.
    pub result: &'static str,
}

impl Row {
    /// What stands above the lines.
    pub const HEAD: &str =
        "| date | suite | seconds | what was done | result |\n| --- | --- | --- | --- | --- |";
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { suite, took, done, result } = self;
        let (year, month, day) = date(SystemTime::now());
        let seconds = took.as_secs_f64();
        write!(f, "| {year}-{month:02}-{day:02} | `{suite}` | {seconds:.0} | {done} | {result} |")
    }
}

/// Year, month and day of a moment, in UTC.
fn date(moment: SystemTime) -> (u64, u64, u64) {
    let mut days = moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    let leaps = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leaps(year)) {
        days -= 365 + u64::from(leaps(year));
        year += 1;
    }
    let february = 28 + u64::from(leaps(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (seconds, expected) in [
            (0, (1970, 1, 1)),
            (951_782_400, (2000, 2, 29)),
            (1_735_689_599, (2024, 12, 31)),
            (1_772_323_200, (2026, 3, 1)),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
