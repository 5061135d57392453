//! The timeout for a silent peer. Each end of a control stream has its own.

use std::env;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::awake::{self, Elapsed};
use crate::control::{HEARTBEAT, PEER_TIMEOUT};

/// The variable with the timeout of hosts, of daemons and of their workers.
pub const PEER_TIMEOUT_VARIABLE: &str = "UROM_PEER_TIMEOUT";

/// The shortest timeout: a slow peer has a heartbeat to spare.
const LEAST: Duration = HEARTBEAT.saturating_mul(3);

const MOST: Duration = Duration::from_secs(24 * 3600);

/// The timeout for a silent peer. It only counts time while this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerTimeout(Option<Duration>);

impl PeerTimeout {
    /// No timeout: for debuggers, and if both ends are one process.
    pub const OFF: PeerTimeout = PeerTimeout(None);

    pub fn of_environment() -> Result<PeerTimeout, ParsePeerTimeoutError> {
        match env::var_os(PEER_TIMEOUT_VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => value.to_str().ok_or(ParsePeerTimeoutError)?.parse(),
            None => Ok(PeerTimeout::default()),
        }
    }

    /// The timeout for an operation that usually takes up to `usual`.
    pub fn at_least(self, usual: Duration) -> PeerTimeout {
        PeerTimeout(self.0.map(|limit| limit.max(usual)))
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

impl Default for PeerTimeout {
    fn default() -> PeerTimeout {
        PeerTimeout(Some(PEER_TIMEOUT))
    }
}

impl fmt::Display for PeerTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => limit.as_secs_f64().fmt(f),
            None => f.write_str("off"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the peer timeout is a number of seconds from {} to {}, or `off`; below three heartbeats a peer that is only slow would count \
     as lost",
    LEAST.as_secs(),
    MOST.as_secs()
)]
pub struct ParsePeerTimeoutError;

impl FromStr for PeerTimeout {
    type Err = ParsePeerTimeoutError;

    fn from_str(text: &str) -> Result<PeerTimeout, ParsePeerTimeoutError> {
        if text == "off" {
            return Ok(PeerTimeout::OFF);
        }
        let seconds: f64 = text.parse().map_err(|_| ParsePeerTimeoutError)?;
        let limit = Duration::try_from_secs_f64(seconds).map_err(|_| ParsePeerTimeoutError)?;
        (LEAST..=MOST)
            .contains(&limit)
            .then_some(PeerTimeout(Some(limit)))
            .ok_or(ParsePeerTimeoutError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_timeout_is_refused() {
        for text in ["", "Off", "2.999", "0", "-5", "NaN", "inf", "1e300", "86401", "5s", " 5"] {
            assert_eq!(text.parse::<PeerTimeout>(), Err(ParsePeerTimeoutError), "{text:?}");
        }
    }

    #[test]
    fn a_formatted_timeout_parses_to_the_same_value() {
        for text in ["off", "3", "3.5", "86400"] {
            let peer_timeout: PeerTimeout = text.parse().unwrap();
            assert_eq!(peer_timeout.to_string(), text);
        }
        assert_eq!(PeerTimeout::default().to_string().parse(), Ok(PeerTimeout::default()));
    }

    #[test]
    fn a_slow_operation_has_at_least_its_own_timeout() {
        let seconds = |text: &str| text.parse::<PeerTimeout>().unwrap();
        let usual = Duration::from_secs(10);
        assert_eq!(seconds("4").at_least(usual), seconds("10"));
        assert_eq!(seconds("60").at_least(usual), seconds("60"));
        assert_eq!(PeerTimeout::OFF.at_least(usual), PeerTimeout::OFF);
    }
}
