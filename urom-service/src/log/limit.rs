//! The log level of the command line, on DOCA's scale.

use std::fmt;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use urom_abi::log::{DISABLE, Level};
use urom_log::filter_of;

/// A level on DOCA's scale (`enum doca_log_level`), 10 to 70.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogLevel(u8);

impl LogLevel {
    pub(crate) const DISABLE: LogLevel = LogLevel(DISABLE as u8);
    pub(crate) const WARNING: LogLevel = LogLevel::of(Level::Warning);
    /// The default (50).
    pub(crate) const INFO: LogLevel = LogLevel::of(Level::Info);
    pub(crate) const DEBUG: LogLevel = LogLevel::of(Level::Debug);

    pub(crate) const fn of(level: Level) -> LogLevel {
        LogLevel(level.number() as u8)
    }

    pub(crate) fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn allows(self, level: Level) -> bool {
        level.number() <= u32::from(self.0)
    }

    fn most(self) -> Option<Level> {
        Level::ALL.into_iter().rev().find(|level| self.allows(*level))
    }

    /// Returns UCX's name of the level, for `UCX_LOG_LEVEL`.
    pub(crate) fn ucx_name(self) -> &'static str {
        match self.most() {
            None | Some(Level::Crit) => "fatal",
            Some(Level::Error) => "error",
            Some(Level::Warning) => "warn",
            Some(Level::Info) => "info",
            Some(Level::Debug) => "debug",
            Some(Level::Trace) => "trace",
        }
    }

    pub(crate) fn of_filter(filter: LevelFilter) -> LogLevel {
        let level = filter.into_level().map(|level| Level::from_crates(level.as_str()));
        level.map_or(LogLevel::DISABLE, LogLevel::of)
    }

    pub(crate) fn filter(self) -> LevelFilter {
        self.most().map_or(LevelFilter::OFF, filter_of)
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

const NO_LEVEL: &str = "a log level is a number from 10 to 70: 10 disable, 20 crit, 30 error, 40 warning, 50 info, 60 debug, 70 trace";

impl FromStr for LogLevel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<LogLevel, &'static str> {
        let number = text.parse().ok().filter(|number| (10..=70).contains(number));
        number.map(LogLevel).ok_or(NO_LEVEL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_docas_numbers() {
        assert_eq!("50".parse(), Ok(LogLevel::INFO));
        assert_eq!("70".parse(), Ok(LogLevel::of(Level::Trace)));
        for text in ["", "9", "71", "info", "-10", "50.0"] {
            assert_eq!(text.parse::<LogLevel>(), Err(NO_LEVEL), "{text}");
        }
    }

    #[test]
    fn a_limit_between_two_levels_allows_the_graver_one() {
        let limit: LogLevel = "45".parse().unwrap();
        assert!(limit.allows(Level::Warning) && !limit.allows(Level::Info));
        assert!(!LogLevel::DISABLE.allows(Level::Crit));
    }
}
