//! Connects a started context to its worker by a ring or UCX.

use std::rc::Weak;

use ucx::{Status, WorkerAddress};
use urom_abi::host::CtxState;
use urom_abi::{DocaError, WorkerId};
use urom_wire::control::{Failure, Reach};
use urom_wire::envelope::{Envelope, VerificationTag};
use urom_wire::frame::NOTIFICATION_HEADER;

use crate::event::AttachedWorker;
use crate::failure::failure;
use crate::pe::Pe;
use crate::pe::run::WorkerRun;
use crate::pe::run::link::{FrameLink, LinkBroken};
use crate::pe::run::ring_link::RingLink;
use crate::pe::run::ucx_link::UcxLink;
use crate::worker_link::WorkerOrder;

impl WorkerRun {
    pub(crate) fn on_attached(&self, pe: &Pe, attached: AttachedWorker) {
        if self.leaving.get() {
            return;
        }
        if let Err(failure) = self.connect(pe, attached) {
            self.lose(pe, &failure);
        } else if self.is_handshake_done() {
            pe.announce(&self.ctx, CtxState::RUNNING);
        }
    }

    #[inline]
    pub(crate) fn has_tag(&self, tag: VerificationTag) -> bool {
        self.attached.get().is_some_and(|attached| attached.tag == tag)
    }

    fn connect(&self, pe: &Pe, mut attached: AttachedWorker) -> Result<(), Failure> {
        let id = WorkerId(attached.id);
        if attached.max_message <= NOTIFICATION_HEADER {
            let len = attached.max_message;
            return Err(failure!(IO_FAILED, "worker {id}: it allows messages of only {len} bytes"));
        }
        let link = match attached.ring.take() {
            Some(ring) => {
                self.handshake_done.set(true);
                self.me.upgrade().into_iter().for_each(|me| pe.add_ring(me));
                FrameLink::Ring(Box::new(RingLink::new(ring, self.tasks.limit())))
            }
            None => match self.connect_ucx(pe, &attached) {
                Ok(ucx) => FrameLink::Ucx(Box::new(ucx)),
                // The worker also fails to connect. Its refusal has both sides' variables.
                Err(failure) if failure.code == DocaError::NOT_CONNECTED => {
                    self.unreachable.replace(Some(failure));
                    self.let_in(attached);
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            },
        };
        // Set once: a worker accepts a host once.
        let _ = self.link.set(link);
        self.let_in(attached);
        Ok(())
    }

    /// Connects both directions over UCX.
    fn connect_ucx(&self, pe: &Pe, attached: &AttachedWorker) -> Result<UcxLink, Failure> {
        let me = Weak::clone(&self.me);
        let hook = move |status| {
            if let Some(run) = me.upgrade() {
                run.on_broken(LinkBroken::Ucx(status));
            }
        };
        let ucx = pe.ucx()?;
        // SAFETY: the address is from the service's worker. Hosts trust their service with their
        // memory, as the guide's page on security documents.
        let address = unsafe { WorkerAddress::from_bytes(&attached.ucx_address) };
        let failed = |code, error: ucx::Error| {
            failure!(code = code, "worker {}: {error}", WorkerId(attached.id))
        };
        let address = address.map_err(|error| failed(DocaError::CONNECTION_RESET, error))?;
        let own = ucx.address().map_err(|error| failed(DocaError::DRIVER, error))?;
        let (ucx_address, channel) = (own.as_bytes().to_vec(), self.channel);
        self.order(WorkerOrder::Reach(Reach { ucx_address, channel }));
        let endpoint = ucx.endpoint().on_error(hook).connect(&address);
        let endpoint = endpoint.map_err(|error| failed(DocaError::NOT_CONNECTED, error))?;
        let envelope = Envelope { tag: attached.tag, channel: attached.channel };
        Ok(UcxLink::new(endpoint, envelope))
    }

    pub(crate) fn let_in(&self, attached: AttachedWorker) {
        self.longest.set(attached.max_message - NOTIFICATION_HEADER);
        // Set once: a worker accepts a host once.
        let _ = self.attached.set(attached);
    }

    /// Returns whether both directions are connected.
    fn is_handshake_done(&self) -> bool {
        self.handshake_done.get() && self.link.get().is_some()
    }

    pub(crate) fn on_handshake(&self, pe: &Pe) {
        if !self.handshake_done.replace(true) && self.is_handshake_done() && !self.leaving.get() {
            pe.announce(&self.ctx, CtxState::RUNNING);
        }
    }

    pub(crate) fn on_overdue(&self, pe: &Pe) {
        // The handshake may be queued if the host did not progress for long.
        pe.drain();
        if self.is_handshake_done() || self.leaving.get() {
            return;
        }
        let failure = self.unreachable.take().unwrap_or_else(|| {
            failure!(
                TIME_OUT,
                "worker {} accepted this host but is unreachable over UCX: {}; between two \
                 machines, a firewall may be the cause",
                WorkerId(self.id()),
                Status::UNREACHABLE.with_variables()
            )
        });
        self.lose(pe, &failure);
    }
}
