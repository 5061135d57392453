//! The timeout for a silent peer. Each end of a control stream has its own.

use std::env;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::awake::{self, Elapsed};
use crate::control::{HEARTBEAT, PATIENCE};

/// The variable with the timeout of hosts, of daemons and of their workers.
pub const PATIENCE_VARIABLE: &str = "UROM_PATIENCE";

/// The shortest timeout: a slow peer has a heartbeat to spare.
const LEAST: Duration = HEARTBEAT.saturating_mul(3);

const MOST: Duration = Duration::from_secs(24 * 3600);

/// The timeout for a silent peer. It only counts time while this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience(Option<Duration>);

impl Patience {
    /// No timeout: for debuggers, and if both ends are one process.
    pub const OFF: Patience = Patience(None);

    pub fn of_environment() -> Result<Patience, ParsePatienceError> {
        match env::var_os(PATIENCE_VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => value.to_str().ok_or(ParsePatienceError)?.parse(),
            None => Ok(Patience::default()),
        }
    }

    /// The timeout for an operation that usually takes up to `usual`.
    pub fn at_least(self, usual: Duration) -> Patience {
        Patience(self.0.map(|limit| limit.max(usual)))
    }

    pub async fn wait<T>(self, future: impl Future<Output = T>) -> Result<T, Elapsed> {
        match self.0 {
            Some(limit) => awake::timeout(limit, future).await,
            None => Ok(future.await),
        }
    }

    pub async fn run_out(self) {
        match self.0 {
            Some(limit) => awake::sleep(limit).await,
            None => std::future::pending().await,
        }
    }
}

impl Default for Patience {
    fn default() -> Patience {
        Patience(Some(PATIENCE))
    }
}

impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => limit.as_secs_f64().fmt(f),
            None => f.write_str("off"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "patience is a number of seconds from {} to {}, or `off`; below three heartbeats a peer that is only slow would count \
     as lost",
    LEAST.as_secs(),
    MOST.as_secs()
)]
pub struct ParsePatienceError;

impl FromStr for Patience {
    type Err = ParsePatienceError;

    fn from_str(text: &str) -> Result<Patience, ParsePatienceError> {
        if text == "off" {
            return Ok(Patience::OFF);
        }
        let seconds: f64 = text.parse().map_err(|_| ParsePatienceError)?;
        let limit = Duration::try_from_secs_f64(seconds).map_err(|_| ParsePatienceError)?;
        (LEAST..=MOST).contains(&limit).then_some(Patience(Some(limit))).ok_or(ParsePatienceError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_patience_is_refused() {
        for text in ["", "Off", "2.999", "0", "-5", "NaN", "inf", "1e300", "86401", "5s", " 5"] {
            assert_eq!(text.parse::<Patience>(), Err(ParsePatienceError), "{text:?}");
        }
    }

    #[test]
    fn a_patience_that_is_written_is_read_again() {
        for text in ["off", "3", "3.5", "86400"] {
            let patience: Patience = text.parse().unwrap();
            assert_eq!(patience.to_string(), text);
        }
        assert_eq!(Patience::default().to_string().parse(), Ok(Patience::default()));
    }

    #[test]
    fn what_takes_long_by_itself_has_as_long_as_that() {
        let seconds = |text: &str| text.parse::<Patience>().unwrap();
        let usual = Duration::from_secs(10);
        assert_eq!(seconds("4").at_least(usual), seconds("10"));
        assert_eq!(seconds("60").at_least(usual), seconds("60"));
        assert_eq!(Patience::OFF.at_least(usual), Patience::OFF);
    }
}
