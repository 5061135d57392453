//! A worker's socket: a Unix socket for handing over rings and memory.

use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use urom_abi::WorkerId;
use urom_abi::extension::LONGEST_FAILURE;
use urom_os::EventFd;
use urom_wire::awake::timeout;
use urom_wire::control::HandoverAddress;
use urom_wire::frame::LONG_STATUS_LEN;
use urom_wire::memory::{RING, Slip, hand_over, machine};
use urom_wire::ring::{self, Ring};
use urom_wire::trace::LONGEST_TRACE;
use urom_wire::ucx_context::may_share_memory;

/// Timeout of one visit.
const LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub(super) struct WorkerSocket {
    /// `None` if the worker lacks a socket.
    path: Option<PathBuf>,
    /// Whether the worker is on this machine, in any container.
    pub(super) is_here: bool,
}

impl WorkerSocket {
    pub(super) fn new(
        HandoverAddress { address, machine: theirs }: HandoverAddress,
    ) -> WorkerSocket {
        let path = (!address.is_empty()).then(|| OsString::from_vec(address).into());
        WorkerSocket { path, is_here: theirs != 0 && theirs == machine() }
    }

    /// # Errors
    /// Why the socket is not usable.
    pub(super) async fn visit<T>(
        &self,
        visit: impl AsyncFnOnce(&Path) -> io::Result<T>,
    ) -> Result<T, String> {
        let Some(socket) = &self.path else {
            return Err("the worker cannot open a socket for it, as its log says".to_owned());
        };
        let visited = timeout(LIMIT, visit(socket)).await;
        let visited = visited.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        visited.map_err(|error| at_socket(socket, &error))
    }

    /// Sends descriptors, or only this process's identity; fails if the socket is not usable.
    pub(super) async fn hand(&self, slip: Slip, fds: &[BorrowedFd<'_>]) -> Result<(), String> {
        self.visit(async |socket| hand_over(socket, slip, fds).await.map(drop)).await
    }

    /// Creates a ring and sends it to the worker. `None` if they do not share memory.
    pub(super) async fn hand_ring(
        &self,
        worker: u64,
        bell: &EventFd,
        token: u128,
        max_message: usize,
    ) -> Option<Ring> {
        if !self.is_here || !may_share_memory() {
            return None;
        }
        let limit = max_message + LONG_STATUS_LEN + LONGEST_FAILURE + LONGEST_TRACE + 2;
        let made = ring::create(bell, limit).map_err(|error| error.to_string());
        let handed = match made {
            Ok((ring, descriptors)) => {
                let slip = Slip { token, share: RING };
                self.hand(slip, &descriptors.as_fds()).await.map(|()| ring)
            }
            Err(error) => Err(error),
        };
        let worker = WorkerId(worker);
        handed
            .inspect_err(|why| {
                log!(info, "commands to worker {worker} take UCX, not shared memory: {why}");
            })
            .ok()
    }
}

fn at_socket(socket: &Path, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            "; containers need one network namespace, or a common folder for `uromd --socket-dir`"
        }
        _ => "",
    };
    format!("the socket {socket:?} of the worker cannot be used: {error}{hint}")
}
