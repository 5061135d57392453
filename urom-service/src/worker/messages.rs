//! Messages between a worker's two threads.

use std::os::fd::OwnedFd;

use tokio::sync::OwnedSemaphorePermit;
use urom_os::EventFd;
use urom_wire::control::{Attach, Failure, MemoryAnswer, PluginAddress, Reach, RecordingTarget};
use urom_wire::envelope::VerificationTag;
use urom_wire::ring::Ring;

use super::memory::HandedOffer;

pub(crate) type LinkKey = u64;

/// A host's next message waits until this is dropped.
pub(crate) type TurnPermit = Option<OwnedSemaphorePermit>;

#[derive(Debug)]
pub(crate) enum ToData {
    /// Admit a host, with the verification tag of its messages; log lines use `host`.
    Attach {
        link: LinkKey,
        host: String,
        attach: Attach,
        tag: VerificationTag,
    },
    /// The host handed over a ring for its frames. The doorbell ends the worker's sleep.
    Ring {
        link: LinkKey,
        ring: Ring,
        bell: EventFd,
    },
    /// The host's frames use UCX.
    Reach {
        link: LinkKey,
        reach: Reach,
    },
    Detach {
        link: LinkKey,
    },
    /// Keep this while memory of the host is used.
    UseGuard {
        link: LinkKey,
        use_guard: OwnedFd,
    },
    Share {
        link: LinkKey,
        shared: HandedOffer,
        turn: TurnPermit,
    },
    Unshare {
        link: LinkKey,
        end: EndOfShare,
        turn: TurnPermit,
    },
    /// Record commands from now on, or no longer.
    Record(Option<RecordingTarget>),
    /// End all shares of the host, which is about to leave.
    Leave {
        link: LinkKey,
    },
    Stop,
}

/// A share that ends after so many commands of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndOfShare {
    pub(crate) memory: u64,
    pub(crate) share: u64,
    pub(crate) after: u64,
}

#[derive(Debug)]
pub(crate) enum ToControl {
    Ready,
    Failed(Failure),
    Attached {
        link: LinkKey,
        ucx_address: Vec<u8>,
        channel: u16,
        max_message: u64,
        plugins: Vec<PluginAddress>,
    },
    Refused {
        link: LinkKey,
        failure: Failure,
    },
    Memory {
        link: LinkKey,
        answer: MemoryAnswer,
    },
    Ended,
}
