//! Worker ids in log lines and errors.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// The upper half of the ids that this project's service generates for `DOCA_UROM_WORKER_ID_ANY`.
/// It avoids collisions with typical ids of programs (`task << 32 | rank`, or a rank).
const GENERATED: u64 = 0xf7a3_91c5 << 32;

const PREFIX: &str = "auto-";

/// A worker's id for display: `auto-1` for the first generated id, the number for ids of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u64);

impl WorkerId {
    /// Returns the generated id with this number.
    pub const fn generated(number: u32) -> WorkerId {
        WorkerId(GENERATED | number as u64)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 ^ GENERATED {
            number if number <= u64::from(u32::MAX) => write!(f, "{PREFIX}{number}"),
            _ => self.0.fmt(f),
        }
    }
}

/// Parses both forms, and the number of a generated id.
impl FromStr for WorkerId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<WorkerId, ParseIntError> {
        match text.strip_prefix(PREFIX) {
            Some(number) => number.parse().map(WorkerId::generated),
            None => text.parse().map(WorkerId),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WORKER_ID_ANY;

    #[test]
    fn an_id_of_a_user_is_printed_unchanged() {
        for id in [0, 7, 7 << 32 | 3, 1 << 63, u64::from(u32::MAX) << 32, WORKER_ID_ANY - 1] {
            assert_eq!(WorkerId(id).to_string(), id.to_string());
            assert_eq!(id.to_string().parse(), Ok(WorkerId(id)));
        }
    }

    #[test]
    fn a_generated_id_is_short_and_is_read_in_both_forms() {
        for (number, name) in [(0, "auto-0"), (1, "auto-1"), (u32::MAX, "auto-4294967295")] {
            let id = WorkerId::generated(number);
            assert_eq!(id.to_string(), name);
            assert_eq!(name.parse(), Ok(id));
            assert_eq!(id.0.to_string().parse(), Ok(id));
            assert_ne!(id.0, WORKER_ID_ANY);
        }
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in
            ["", "auto-", "auto--1", "auto-4294967296", "-1", "auto1", "18446744073709551616"]
        {
            assert!(text.parse::<WorkerId>().is_err(), "{text}");
        }
    }
}
