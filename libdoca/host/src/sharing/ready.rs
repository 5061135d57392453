//! Prepares the offer of a share: chooses the path, and keeps the reason for a slower one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use urom_abi::host_memory::MemoryPath;
use urom_wire::awake::timeout;
use urom_wire::control::{Failure, MemoryOffer, MemoryPlace};
use urom_wire::memory::{Slip, hand_over};

use super::lease::Lease;
use super::{Offered, Told};
use crate::memory_thread::{MemoryThread, Served};

/// The timeout of one visit to the worker's door.
const AT_DOOR: Duration = Duration::from_secs(2);

/// Why the path of a share is slower than the best one for its memory, if it is.
pub(super) struct Reason {
    pub(super) best: MemoryPath,
    /// The reason for a failed visit to the door.
    pub(super) door: Option<String>,
}

/// A share that was made ready.
pub(super) struct Made {
    pub(super) share: u64,
    pub(super) told: Told,
    /// Why it cannot be offered, if so.
    pub(super) offer: Result<Offer, Failure>,
}

pub(super) struct Offer {
    pub(super) offer: MemoryOffer,
    pub(super) reason: Reason,
    pub(super) thread: Option<Arc<MemoryThread>>,
}

/// Tries the paths one after the other.
pub(super) async fn make_ready(
    share: u64,
    offered: Offered,
    door: Option<PathBuf>,
    lease: Arc<OnceCell<Lease>>,
    ticket: u128,
) -> Made {
    let Offered { memory, address, len, access, fd, path, told } = offered;
    let slip = Slip { ticket, share };
    let hand = async |fd: Option<&OwnedFd>| {
        let Some(door) = &door else {
            return Err("the worker cannot open a socket for it, as its log says".to_owned());
        };
        let visit = async {
            // Only a lease that was taken is kept: the next share tries again.
            lease.get_or_try_init(|| Lease::take(door, ticket)).await?;
            hand_over(door, slip, fd.map(OwnedFd::as_fd)).await
        };
        let visited = timeout(AT_DOOR, visit).await;
        let visited = visited.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        visited.map(drop).map_err(|error| at_door(door, &error))
    };
    let choose = async {
        let offer = |place, ucx_address, reason, thread| Offer {
            offer: MemoryOffer { share, memory, address, len, access, place, ucx_address },
            reason,
            thread,
        };
        let mut reason = Reason { best: path, door: None };
        match &fd {
            Some((fd, offset)) if path == MemoryPath::MAPPED => match hand(Some(fd)).await {
                Ok(()) => {
                    let place = MemoryPlace::Handed { offset: *offset };
                    return Ok(offer(place, Vec::new(), reason, None));
                }
                Err(why) => reason.door = Some(why),
            },
            _ => reason.best.0 = path.0.max(MemoryPath::PROCESS.0),
        }
        let thread = MemoryThread::shared()?;
        let ucx_address = thread.address().await?;
        let place = match path {
            MemoryPath::NETWORK => MemoryPlace::Network,
            _ => match hand(None).await {
                Ok(()) => MemoryPlace::Process,
                Err(why) => {
                    reason.door.get_or_insert(why);
                    MemoryPlace::Network
                }
            },
        };
        // Last: no later step can fail and leave the memory served.
        thread.serve(Served { ticket, share, address, len, access });
        Ok(offer(place, ucx_address, reason, Some(thread)))
    };
    Made { share, told, offer: choose.await }
}

/// The reason for a failed visit to a door.
fn at_door(door: &Path, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            "; containers need one network namespace, or a common folder for `uromd --socket-dir`"
        }
        _ => "",
    };
    format!("the socket {door:?} of the worker cannot be used: {error}{hint}")
}
