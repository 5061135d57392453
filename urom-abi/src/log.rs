//! `enum doca_log_level`: how grave a log line is.

/// The level of one log line. A smaller number is graver; a line is written when its number is at most the limit.
///
/// ```
/// use urom_abi::log::Level;
/// assert!(Level::Error < Level::Info);
/// assert_eq!(Level::from_number(30), Some(Level::Error));
/// assert_eq!(Level::Debug.number(), 60);
/// assert_eq!(Level::Error.tag(), "ERR");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Level {
    /// Ends the program (`DOCA_LOG_LEVEL_CRIT`).
    Crit = 20,
    /// Something failed (`DOCA_LOG_LEVEL_ERROR`).
    Error = 30,
    /// Something is odd, and work goes on (`DOCA_LOG_LEVEL_WARNING`).
    Warning = 40,
    /// Something worth knowing happened (`DOCA_LOG_LEVEL_INFO`).
    Info = 50,
    /// Details for whoever looks for a fault (`DOCA_LOG_LEVEL_DEBUG`).
    Debug = 60,
    /// Everything (`DOCA_LOG_LEVEL_TRACE`).
    Trace = 70,
}

/// The limit under which nothing is written (`DOCA_LOG_LEVEL_DISABLE`).
pub const DISABLE: u32 = 10;

impl Level {
    /// All levels, the gravest first.
    pub const ALL: [Level; 6] =
        [Level::Crit, Level::Error, Level::Warning, Level::Info, Level::Debug, Level::Trace];

    /// DOCA's number.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The level with this number; `None` for a number that names none, [`DISABLE`] among them.
    pub fn from_number(number: u32) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.number() == number)
    }

    /// Its three letters in a line.
    pub const fn tag(self) -> &'static str {
        match self {
            Level::Crit => "CRT",
            Level::Error => "ERR",
            Level::Warning => "WRN",
            Level::Info => "INF",
            Level::Debug => "DBG",
            Level::Trace => "TRC",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_levels_are_one_to_one() {
        for level in Level::ALL {
            assert_eq!(Level::from_number(level.number()), Some(level));
        }
        for number in [0, DISABLE, 19, 45, 71, u32::MAX] {
            assert_eq!(Level::from_number(number), None, "{number}");
        }
    }
}
