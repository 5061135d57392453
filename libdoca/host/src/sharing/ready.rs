//! Prepares an offer: chooses the path and records why it is not the fastest.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::OnceCell;
use urom_abi::host_memory::MemoryPath;
use urom_wire::control::{Failure, MemoryLocation, MemoryOffer};
use urom_wire::memory::{Slip, hand_over};

use super::use_guard::UseGuard;
use super::{ShareCallback, ShareRequest};
use crate::memory_thread::{MemoryThread, ServedMemory};
use crate::socket::WorkerSocket;

/// Why a share's path is slower than the best for its memory, if it is.
pub(super) struct Reason {
    pub(super) best: MemoryPath,
    pub(super) socket: Option<String>,
}

pub(super) struct PreparedOffer {
    pub(super) share: u64,
    pub(super) callback: ShareCallback,
    pub(super) offer: Result<Offer, Failure>,
}

pub(super) struct Offer {
    pub(super) offer: MemoryOffer,
    pub(super) reason: Reason,
    pub(super) thread: Option<Arc<MemoryThread>>,
}

pub(super) async fn make_ready(
    share: u64,
    offered: ShareRequest,
    socket: WorkerSocket,
    use_guard: Arc<OnceCell<UseGuard>>,
    token: u128,
) -> PreparedOffer {
    let ShareRequest { memory, address, len, access, fd, path, callback } = offered;
    let slip = Slip { token, share };
    let hand = async |fd: Option<&OwnedFd>| {
        let fd = fd.map(OwnedFd::as_fd);
        let visit = async |path: &Path| {
            // A failed use guard is not kept, so the next share tries again.
            use_guard.get_or_try_init(|| UseGuard::take(path, token)).await?;
            hand_over(path, slip, fd.as_slice()).await.map(drop)
        };
        socket.visit(visit).await
    };
    let choose = async {
        let offer = |location, ucx_address, reason, thread| Offer {
            offer: MemoryOffer { share, memory, address, len, access, location, ucx_address },
            reason,
            thread,
        };
        let mut reason = Reason { best: path, socket: None };
        match &fd {
            Some((fd, offset)) if path == MemoryPath::MAPPED => match hand(Some(fd)).await {
                Ok(()) => {
                    let location = MemoryLocation::Handed { offset: *offset };
                    return Ok(offer(location, Vec::new(), reason, None));
                }
                Err(why) => reason.socket = Some(why),
            },
            _ => reason.best.0 = path.0.max(MemoryPath::PROCESS.0),
        }
        let thread = MemoryThread::shared()?;
        let ucx_address = thread.address().await?;
        let location = match path {
            MemoryPath::NETWORK => MemoryLocation::Network,
            _ => match hand(None).await {
                Ok(()) => MemoryLocation::Process,
                Err(why) => {
                    reason.socket.get_or_insert(why);
                    MemoryLocation::Network
                }
            },
        };
        // Last, so that a later failure cannot leave the memory served.
        thread.serve(ServedMemory { token, share, address, len, access });
        Ok(offer(location, ucx_address, reason, Some(thread)))
    };
    PreparedOffer { share, callback, offer: choose.await }
}
