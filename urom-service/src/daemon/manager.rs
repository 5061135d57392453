//! Notifies the service manager: systemd's `sd_notify` protocol. Existing crates block when the
//! manager does not read, or lack abstract sockets.

use std::ffi::OsStr;
use std::io;
use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};
use tracing::warn;

const READY: &str = "READY=1";

/// The manager's socket: a path, or `@` and an abstract name.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Limits of the watchdog interval, against a busy loop and an overflow.
const INTERVAL: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

const AGAIN: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct Manager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    signs_of_life: Option<Interval>,
    again: Option<Interval>,
}

impl Manager {
    pub(crate) fn of_environment() -> Manager {
        let Some(name) = std::env::var_os(SOCKET) else { return Manager::default() };
        let socket = match connect(&name) {
            Ok(socket) => socket,
            Err(problem) => {
                warn!(
                    "the service manager gets no messages: {SOCKET}={}: {problem}",
                    name.display()
                );
                return Manager::default();
            }
        };
        let number = |name| std::env::var(name).ok()?.parse().ok();
        let signs_of_life =
            signs_of_life(number("WATCHDOG_USEC"), number("WATCHDOG_PID")).map(every);
        Manager { socket: Some(socket), signs_of_life, again: None }
    }

    /// Reports that hosts can connect; [`Manager::alive`] retries while the manager does not read.
    pub(crate) fn ready(&mut self) {
        if let Err(problem) = self.tell(READY) {
            warn!("the service manager does not learn yet that this service is ready: {problem}");
            self.again = Some(every(AGAIN));
        }
    }

    pub(crate) fn stopping(&self) {
        let _ = self.tell("STOPPING=1");
    }

    /// Reports regularly that the polling loop is alive. Never ends without a watchdog.
    pub(crate) async fn alive(&mut self) {
        tokio::select! {
            () = tick(&mut self.again) => {
                if self.tell(READY).is_ok() {
                    self.again = None;
                }
            }
            () = tick(&mut self.signs_of_life) => {
                // Two must be missed before the watchdog acts.
                let _ = self.tell("WATCHDOG=1");
            }
        }
    }

    fn tell(&self, state: &str) -> io::Result<()> {
        let Some((socket, manager)) = &self.socket else { return Ok(()) };
        // Unconnected: a restarted manager has a new socket.
        socket.send_to_addr(state.as_bytes(), manager).map(drop)
    }
}

fn every(period: Duration) -> Interval {
    let mut interval = interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

async fn tick(interval: &mut Option<Interval>) {
    match interval {
        Some(interval) => drop(interval.tick().await),
        None => std::future::pending().await,
    }
}

fn connect(name: &OsStr) -> io::Result<(UnixDatagram, SocketAddr)> {
    let manager = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected /PATH or @NAME")),
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, manager))
}

fn signs_of_life(watchdog: Option<u64>, watched: Option<u64>) -> Option<Duration> {
    let watchdog = watchdog
        .filter(|_| watched.is_none_or(|process| process == u64::from(std::process::id())))?;
    let half = Duration::from_micros(watchdog) / 2;
    (watchdog != 0).then(|| half.clamp(*INTERVAL.start(), *INTERVAL.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_a_path_or_an_abstract_name() {
        for name in ["/run/systemd/notify", "@abstract"] {
            connect(OsStr::new(name)).unwrap();
        }
        let long = format!("/{}", "x".repeat(200));
        for name in ["", "relative", "vsock:2:1234", &long] {
            assert!(connect(OsStr::new(name)).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_watched_process_shows_life_twice_as_often_as_the_manager_looks() {
        let own = u64::from(std::process::id());
        let second = Some(Duration::from_millis(500));
        assert_eq!(signs_of_life(Some(1_000_000), None), second);
        assert_eq!(signs_of_life(Some(1_000_000), Some(own)), second);
        assert_eq!(
            signs_of_life(Some(1_000_000), Some(own + 1)),
            None,
            "another process is watched"
        );
        assert_eq!(signs_of_life(None, Some(own)), None);
        assert_eq!(signs_of_life(Some(0), None), None);
        assert_eq!(signs_of_life(Some(1), None), Some(Duration::from_millis(1)));
        assert_eq!(signs_of_life(Some(u64::MAX), None), Some(Duration::from_secs(3600)));
    }
}
