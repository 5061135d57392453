//! The connection to a worker: a ring on one machine, UCX otherwise.

use ucx::Status;
use urom_wire::frame::Header;
use urom_wire::ring::Garbage;

use crate::pe::run::ring_link::RingLink;
use crate::pe::run::task::CmdTaskRef;
use crate::pe::run::ucx_link::UcxLink;

pub(crate) enum FrameLink {
    Ring(Box<RingLink>),
    Ucx(Box<UcxLink>),
}

#[derive(Clone, Copy)]
pub(crate) enum LinkBroken {
    Ucx(Status),
    Ring(Garbage),
}

impl FrameLink {
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            FrameLink::Ring(ring) => ring.is_busy(),
            FrameLink::Ucx(ucx) => ucx.is_busy(),
        }
    }

    pub(crate) fn cancel(&self, task: CmdTaskRef, cancel: Header) -> Result<(), Status> {
        match self {
            FrameLink::Ring(ring) => {
                ring.cancel(task, cancel);
                Ok(())
            }
            FrameLink::Ucx(ucx) => ucx.send(cancel, &[]),
        }
    }

    /// Sends a frame after all earlier ones.
    pub(crate) fn send(&self, header: Header, body: Vec<u8>) -> Result<(), Status> {
        match self {
            FrameLink::Ring(ring) => {
                ring.send(header, body);
                Ok(())
            }
            FrameLink::Ucx(ucx) => ucx.send(header, &body),
        }
    }

    pub(crate) fn tend(&self) -> Result<(), Status> {
        match self {
            FrameLink::Ring(ring) => {
                ring.tend();
                Ok(())
            }
            FrameLink::Ucx(ucx) => ucx.tend(),
        }
    }

    pub(crate) fn close(&self, gracefully: bool) {
        match self {
            FrameLink::Ring(ring) => ring.close(),
            FrameLink::Ucx(ucx) => ucx.close(gracefully),
        }
    }

    pub(crate) fn ring(&self) -> Option<&RingLink> {
        match self {
            FrameLink::Ring(ring) => Some(ring),
            FrameLink::Ucx(_) => None,
        }
    }
}
