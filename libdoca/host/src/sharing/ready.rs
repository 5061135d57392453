//! Prepares the offer of a share: chooses the path, and keeps the reason for a slower one.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::OnceCell;
use urom_abi::host_memory::MemoryPath;
use urom_wire::control::{Failure, MemoryOffer, MemoryPlace};
use urom_wire::memory::{Slip, hand_over};

use super::lease::Lease;
use super::{Offered, Told};
use crate::door::WorkerDoor;
use crate::memory_thread::{MemoryThread, Served};

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
    door: WorkerDoor,
    lease: Arc<OnceCell<Lease>>,
    ticket: u128,
) -> Made {
    let Offered { memory, address, len, access, fd, path, told } = offered;
    let slip = Slip { ticket, share };
    let hand = async |fd: Option<&OwnedFd>| {
        let fd = fd.map(OwnedFd::as_fd);
        let visit = async |path: &Path| {
            // Only a lease that was taken is kept: the next share tries again.
            lease.get_or_try_init(|| Lease::take(path, ticket)).await?;
            hand_over(path, slip, fd.as_slice()).await.map(drop)
        };
        door.visit(visit).await
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
