//! A line for each suite that ran, for the table in this package's README.

use std::fmt;
use std::time::Duration;

use time::OffsetDateTime;

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
        let (date, seconds) = (OffsetDateTime::now_utc().date(), took.as_secs_f64());
        write!(f, "| {date} | `{suite}` | {seconds:.0} | {done} | {result} |")
    }
}
