//! The RDMA plugin: DOCA RDMA's operations between the memories of two hosts.
//!
//! Each host has *instances* in its worker. The plugins of two workers connect two instances over
//! their own UCX workers, and move bytes between the memories that the hosts share with their
//! workers. On one machine, UCX reads and writes these memories in place.
//!
//! UCX receives announced bytes in place; for several ranges, the plugin copies them.
//!
//! # Order
//! The operations of an instance start and complete in submission order. Operations on different
//! remote memory run in parallel; an operation on memory of an earlier one waits for it. A message
//! goes to the first receive of the other end, or waits for one; all later operations wait too.
//!
//! # Errors
//! The plugin refuses a command with an unknown instance, a list that is too long, local memory
//! that it may not write, or the wrong state. An operation that fails later brings both ends to the
//! state ERROR and completes with its own error. All other pending operations fail with
//! `CONNECTION_ABORTED` and the first failure. A lost peer counts as a failure. A peer killed in
//! the middle of a message may block UCX's receive queue for all others: the plugin then fails all
//! instances, and continues with a new UCX worker and address.
//!
//! # Trust
//! UCX does not check the address in the other end's details, so hosts are trusted with the
//! worker's memory. Every message carries a secret of each end, so its sender has the details of
//! both. The owner's worker checks the memory and the permissions of each operation. Any worker may
//! send the first message of a connection: an unknown instance is answered with a `Bye`.

mod caller;
mod connection;
mod details;
mod error;
mod instance;
mod instances;
mod link;
mod message;
mod pieces;
mod queue;
mod receives;
mod requester;
mod responder;

use std::rc::Rc;
use std::time::Duration;

use bytemuck::Zeroable;
use rdma_protocol::{
    Added, CompareSwap, Connect, Connected, Create, Created, Destroy, Destroyed, Export, Exported,
    FetchAdd, Handler, Limits, MemoryRange, Query, Read, ReadDone, Receive, ReceiveDone, Send,
    SendImm, Sent, Start, Started, StateIs, Stop, Stopped, Swapped, Write, WriteImm, Written,
};
use tokio::sync::Semaphore;
use ucx::Features;
use urom_pdk::peers::PeerWorker;
use urom_pdk::{Tasks, prelude::*, time};

use connection::RdmaConnection;
use instance::RdmaInstance;
use instances::Instances;
use link::Base;
use message::{Kind, PeerRequest};
use pieces::Pieces;
use receives::PostedReceives;

pub(crate) const LIMITS: Limits =
    Limits { message: 1 << 31, list: 64, operations: 1024, receives: 1024, instances: 256 };

/// Maximum number of parts of operations in the worker's memory.
const BUFFER_SLOTS: usize = 8;

/// Timeout of a stop for bytes that still move.
const TIMEOUT: Duration = Duration::from_secs(2);

struct RdmaPlugin {
    instances: Rc<Instances>,
    tasks: Tasks,
    buffer_slots: Rc<Semaphore>,
    peers: PeerWorker,
}

impl RdmaPlugin {
    fn find(&self, cx: &Context, handle: u64) -> Result<Rc<RdmaInstance>> {
        self.instances.0.get(cx.connection(), handle)
    }

    async fn ask(
        &self,
        cx: &Context,
        rdma: u64,
        kind: Kind,
        request: PeerRequest,
        list: impl ExactSizeIterator<Item = MemoryRange>,
    ) -> Result<u64> {
        let instance = self.find(cx, rdma)?;
        let connection = instance.connection(|_| true);
        let connection = connection.ok_or_else(|| instance.bad_state(&format!("{kind:?}")))?;
        let local = Pieces::open(&instance.base.memories, list, !kind.sends())?;
        let has_result = !kind.is_atomic() || local.len() == 8;
        ensure!(has_result, DocaError::INVALID_VALUE, "the result of a {kind:?} has 8 bytes");
        connection.requester.ask(cx, kind, request, local).await
    }
}

#[urom_plugin(peers = peers)]
impl Handler for RdmaPlugin {
    fn open(cx: &OpenContext) -> Result<Self> {
        let instances = Instances::new(cx);
        let cuts = Rc::clone(&instances);
        let peers = PeerWorker::builder(cx, Features::AM).receive_now(&instances);
        let peers = peers.on_blocked(move |error| {
            let why = format!("{error}: stop the instance, start it, export it and connect again");
            let error = Error::new(DocaError::CONNECTION_RESET, why);
            cuts.0.values().iter().for_each(|instance| instance.cut(&error));
        });
        let (peers, buffer_slots) = (peers.open()?, Rc::new(Semaphore::new(BUFFER_SLOTS)));
        Ok(RdmaPlugin { instances, tasks: cx.tasks(), buffer_slots, peers })
    }

    fn host_left(&self, connection: ConnectionId) {
        for instance in self.instances.0.all(connection) {
            instance.stop("its host has left");
        }
    }

    async fn create(&self, cx: &Context, cmd: Create) -> Result<Created> {
        let base = Base {
            permissions: RdmaInstance::permissions(cmd.permissions)?,
            memories: cx.memories(),
            receives: PostedReceives::new(),
            tasks: self.tasks.clone(),
            awake: self.peers.keep_awake(),
            buffer_slots: Rc::clone(&self.buffer_slots),
        };
        let new = |handle| Ok(RdmaInstance::new(handle, base));
        Ok(Created { rdma: self.instances.0.insert_with(cx.connection(), 0, new)?, limits: LIMITS })
    }

    async fn destroy(&self, cx: &Context, cmd: Destroy) -> Result<Destroyed> {
        let instance = self.instances.0.remove(cx.connection(), cmd.rdma)?;
        drain(instance.stop("the instance was destroyed")).await;
        Ok(Destroyed {})
    }

    async fn start(&self, cx: &Context, cmd: Start) -> Result<Started> {
        // A lost peer may have blocked the UCX worker whose address would be exported.
        if let Some(mesh) = self.peers.mesh() {
            mesh.tested().await;
        }
        self.find(cx, cmd.rdma)?.start()?;
        Ok(Started {})
    }

    async fn stop(&self, cx: &Context, cmd: Stop) -> Result<Stopped> {
        drain(self.find(cx, cmd.rdma)?.stop("the instance was stopped")).await;
        Ok(Stopped {})
    }

    async fn export(&self, cx: &Context, cmd: Export) -> Result<Exported> {
        let instance = self.find(cx, cmd.rdma)?;
        Ok(Exported { details: instance.export(self.peers.address()?)?.into() })
    }

    async fn connect(&self, cx: &Context, cmd: Connect<'_>) -> Result<Connected> {
        self.find(cx, cmd.rdma)?.connect(&self.peers, cmd.details)?;
        Ok(Connected {})
    }

    async fn query(&self, cx: &Context, cmd: Query) -> Result<StateIs> {
        let (state, error) = self.find(cx, cmd.rdma)?.state();
        let failure = error.as_ref().map_or(0, |error| error.code().code());
        let why = error.map_or_else(Vec::new, |error| error.to_string().into_bytes()).into();
        Ok(StateIs { state, failure, why })
    }

    async fn receive(&self, cx: &Context, cmd: Receive<'_>) -> Result<ReceiveDone> {
        let instance = self.find(cx, cmd.rdma)?;
        let destination = Pieces::open(&instance.base.memories, cmd.places.iter(), true)?;
        let number = instance.post(destination)?;
        cx.unless_cancelled(instance.base.receives.outcome(number)).await?
    }

    async fn send(&self, cx: &Context, cmd: Send<'_>) -> Result<Sent> {
        let request = PeerRequest::zeroed();
        self.ask(cx, cmd.rdma, Kind::Send, request, cmd.pieces.iter()).await.map(|_| Sent {})
    }

    async fn send_imm(&self, cx: &Context, cmd: SendImm<'_>) -> Result<Sent> {
        let request = PeerRequest { immediate: cmd.immediate, ..PeerRequest::zeroed() };
        self.ask(cx, cmd.rdma, Kind::SendImm, request, cmd.pieces.iter()).await.map(|_| Sent {})
    }

    async fn write(&self, cx: &Context, cmd: Write<'_>) -> Result<Written> {
        let request = PeerRequest { remote: cmd.target, ..PeerRequest::zeroed() };
        self.ask(cx, cmd.rdma, Kind::Write, request, cmd.pieces.iter()).await.map(|_| Written {})
    }

    async fn write_imm(&self, cx: &Context, cmd: WriteImm<'_>) -> Result<Written> {
        let WriteImm { rdma, target: remote, immediate, pieces } = cmd;
        let request = PeerRequest { remote, immediate, ..PeerRequest::zeroed() };
        self.ask(cx, rdma, Kind::WriteImm, request, pieces.iter()).await.map(|_| Written {})
    }

    async fn read(&self, cx: &Context, cmd: Read<'_>) -> Result<ReadDone> {
        let request = PeerRequest { remote: cmd.source, ..PeerRequest::zeroed() };
        self.ask(cx, cmd.rdma, Kind::Read, request, cmd.places.iter()).await.map(|_| ReadDone {})
    }

    async fn compare_swap(&self, cx: &Context, cmd: CompareSwap) -> Result<Swapped> {
        let CompareSwap { rdma, target: remote, compare, swap: operand, result } = cmd;
        let request = PeerRequest { remote, operand, compare, ..PeerRequest::zeroed() };
        let before = self.ask(cx, rdma, Kind::CompareSwap, request, [result].into_iter()).await?;
        Ok(Swapped { before })
    }

    async fn fetch_add(&self, cx: &Context, cmd: FetchAdd) -> Result<Added> {
        let FetchAdd { rdma, target: remote, add: operand, result } = cmd;
        let request = PeerRequest { remote, operand, ..PeerRequest::zeroed() };
        let before = self.ask(cx, rdma, Kind::FetchAdd, request, [result].into_iter()).await?;
        Ok(Added { before })
    }
}

/// Waits until the bytes of an ended connection have stopped moving, or for [`TIMEOUT`].
async fn drain(connection: Option<RdmaConnection>) {
    let Some(connection) = connection else { return };
    if time::timeout(TIMEOUT, connection.link.drained()).await.is_err() {
        log::warn!("bytes of an instance that was stopped may still move: its peer hangs");
    }
}

impl Drop for RdmaPlugin {
    fn drop(&mut self) {
        for instance in self.instances.0.take_all() {
            instance.stop("the worker of the other end has closed the plugin");
        }
    }
}

#[cfg(test)]
mod tests;
