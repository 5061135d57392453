//! The RDMA plugin: DOCA RDMA's operations between the memories of two hosts.
//!
//! Each host has *instances* in its worker. The plugins of two workers connect two instances over a
//! UCX worker of their own, and move bytes between the memories that the hosts share with their
//! workers. On one machine UCX reads and writes these memories where they are.
//!
//! # Order
//! The operations of an instance start in the order in which they were submitted, and complete in
//! it. Operations on different memory of the other end run side by side. One that means memory
//! there of an earlier one waits for that. A message of the other end goes to the first receive, or
//! waits for one; so does everything behind it.
//!
//! # Errors
//! What a host may not submit is refused: a wrong state, an unknown number, a list that is too
//! long, local memory that it may not write. An operation that fails later brings both ends to the
//! state ERROR. It completes with its own error, everything else that is not complete with
//! `CONNECTION_ABORTED` and the first failure. A peer that is gone is such a failure, too. One that
//! was killed in the middle of a message may block UCX's receive queue for all others: the plugin
//! then fails all instances, and goes on with a UCX worker of another address.
//!
//! # Trust
//! UCX takes the address in the details of the other end as it is. So hosts are trusted with the
//! worker's memory. Every message carries a secret of each end, and only somebody with the details
//! of both can make one. The memory and the permissions that a message means are checked here, by
//! the worker of their owner. The first message alone, by which an end says that it has connected,
//! may come from anybody: an end that there is not answers it.

mod caller;
mod connection;
mod details;
mod failure;
mod incoming;
mod instance;
mod message;
mod outgoing;
mod pieces;
mod receives;
mod request;
mod respond;
mod table;
#[cfg(test)]
mod tests;
mod transfers;

use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use rdma_protocol::{
    Added, CompareSwap, Connect, Connected, Create, Created, Destroy, Destroyed, Export, Exported,
    FetchAdd, Handler, Limits, MemoryRange, Query, Read, ReadDone, Receive, Received, Send,
    SendImm, Sent, Start, Started, StateIs, Stop, Stopped, Swapped, Write, WriteImm, Written,
};
use smallvec::SmallVec;
use ucx::{Features, Mesh};
use urom_pdk::{Armed, Tasks, prelude::*, time};

use connection::Connection;
use failure::Failure;
use instance::Instance;
use message::OperationKind;
use pieces::Pieces;
use request::Ask;
use table::Table;

/// A list that allocates for more than one element.
type List<T> = SmallVec<[T; 1]>;

/// What every instance allows.
pub(crate) const LIMITS: Limits =
    Limits { message: 1 << 31, list: 64, operations: 1024, receives: 1024, instances: 256 };

/// How long a stop waits for bytes that move.
const PATIENCE: Duration = Duration::from_secs(2);

struct Rdma {
    table: Rc<Table>,
    tasks: Tasks,
    mesh: Mesh,
}

impl Rdma {
    fn find(&self, cx: &Context, handle: u64) -> Result<Rc<Instance>> {
        self.table.find(cx.dest_id(), handle)
    }

    /// Runs an operation with bytes of the host.
    async fn ask(
        &self,
        cx: &Context,
        rdma: u64,
        ask: Ask,
        list: impl ExactSizeIterator<Item = MemoryRange>,
    ) -> Result<u64> {
        let instance = self.find(cx, rdma)?;
        let connection = instance.connection(ask.kind.name())?;
        let local = Pieces::open(&instance.base().memories, list, !ask.kind.sends())?;
        if ask.kind.is_atomic() && local.len() != 8 {
            let text = format!("the result of a {} has 8 bytes", ask.kind.name());
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        connection.ask(cx, ask, local).await
    }
}

#[urom_plugin]
impl Handler for Rdma {
    fn open(cx: &OpenContext) -> Result<Self> {
        let table = Rc::new(Table::default());
        let (listens, cuts) = (Rc::clone(&table), Rc::clone(&table));
        let settings =
            ucx::Context::builder(Features::AM | Features::WAKEUP).watched_shared_memory();
        let on_blocked = move |error: &ucx::Error| {
            let why = format!("{error}: stop the instance, start it, export it and connect again");
            cuts.cut(&Failure::new(DocaError::CONNECTION_RESET, why));
        };
        let mesh = Mesh::open(settings, move |worker| listens.listen(worker), on_blocked);
        let mesh = mesh.or_code(DocaError::DRIVER, "opening UCX")?;
        Ok(Rdma { table, tasks: cx.tasks(), mesh })
    }

    fn address(&self) -> Result<Vec<u8>> {
        let address = self.mesh.address();
        Ok(address.or_code(DocaError::DRIVER, "asking UCX for an address")?.as_bytes().to_vec())
    }

    fn progress(&self) -> bool {
        self.table.activity.keeps_awake(self.mesh.progress())
    }

    fn arm(&self) -> Armed<'_> {
        match self.mesh.arm() {
            Ok(true) => Armed::By(self.mesh.event_fd()),
            Ok(false) => Armed::Ready,
            Err(_) => Armed::Polled,
        }
    }

    fn host_left(&self, connection: u64) {
        self.table.forget(connection);
    }

    async fn create(&self, cx: &Context, cmd: Create) -> Result<Created> {
        let permissions = Instance::permissions(cmd.permissions)?;
        let rdma = self.table.create(cx, permissions, &self.tasks)?;
        Ok(Created { rdma, limits: LIMITS })
    }

    async fn destroy(&self, cx: &Context, cmd: Destroy) -> Result<Destroyed> {
        self.find(cx, cmd.rdma)?;
        drain(self.table.destroy(cmd.rdma, "the instance was destroyed")).await;
        Ok(Destroyed {})
    }

    async fn start(&self, cx: &Context, cmd: Start) -> Result<Started> {
        // A peer that has left may have blocked the UCX worker, whose address would be exported.
        self.mesh.tested().await;
        self.find(cx, cmd.rdma)?.start()?;
        Ok(Started {})
    }

    async fn stop(&self, cx: &Context, cmd: Stop) -> Result<Stopped> {
        drain(self.find(cx, cmd.rdma)?.stop("the instance was stopped")).await;
        Ok(Stopped {})
    }

    async fn export(&self, cx: &Context, cmd: Export) -> Result<Exported> {
        let instance = self.find(cx, cmd.rdma)?;
        Ok(Exported { details: instance.export(self.address()?)?.into() })
    }

    async fn connect(&self, cx: &Context, cmd: Connect<'_>) -> Result<Connected> {
        // It may have another worker then.
        let own = self.address()?;
        self.find(cx, cmd.rdma)?.connect(&self.mesh, own, cmd.details)?;
        Ok(Connected {})
    }

    async fn query(&self, cx: &Context, cmd: Query) -> Result<StateIs> {
        let (state, failure) = self.find(cx, cmd.rdma)?.state();
        let code = failure.as_ref().map_or(DocaError::SUCCESS, |failure| failure.code);
        let why = failure.map_or_else(Vec::new, |failure| failure.why.as_bytes().to_vec());
        Ok(StateIs { state, failure: code.0, why: why.into() })
    }

    async fn receive(&self, cx: &Context, cmd: Receive<'_>) -> Result<Received> {
        let instance = self.find(cx, cmd.rdma)?;
        let places = Pieces::open(&instance.base().memories, cmd.places.iter(), true)?;
        let number = instance.post(places)?;
        let receives = &instance.base().receives;
        let received = poll_fn(|cx| receives.borrow_mut().poll(number, cx));
        match cx.unless_cancelled(received).await {
            Ok(received) => received.map_err(|failure| failure.error()),
            Err(reason) => {
                receives.borrow_mut().detach(number);
                Err(reason.into())
            }
        }
    }

    async fn send(&self, cx: &Context, cmd: Send<'_>) -> Result<Sent> {
        self.ask(cx, cmd.rdma, Ask::new(OperationKind::Send), cmd.pieces.iter()).await?;
        Ok(Sent {})
    }

    async fn send_imm(&self, cx: &Context, cmd: SendImm<'_>) -> Result<Sent> {
        let ask = Ask { immediate: cmd.immediate, ..Ask::new(OperationKind::SendImm) };
        self.ask(cx, cmd.rdma, ask, cmd.pieces.iter()).await?;
        Ok(Sent {})
    }

    async fn write(&self, cx: &Context, cmd: Write<'_>) -> Result<Written> {
        let ask = Ask { remote: cmd.target, ..Ask::new(OperationKind::Write) };
        self.ask(cx, cmd.rdma, ask, cmd.pieces.iter()).await?;
        Ok(Written {})
    }

    async fn write_imm(&self, cx: &Context, cmd: WriteImm<'_>) -> Result<Written> {
        let WriteImm { target: remote, immediate, .. } = cmd;
        let ask = Ask { remote, immediate, ..Ask::new(OperationKind::WriteImm) };
        self.ask(cx, cmd.rdma, ask, cmd.pieces.iter()).await?;
        Ok(Written {})
    }

    async fn read(&self, cx: &Context, cmd: Read<'_>) -> Result<ReadDone> {
        let ask = Ask { remote: cmd.source, ..Ask::new(OperationKind::Read) };
        self.ask(cx, cmd.rdma, ask, cmd.places.iter()).await?;
        Ok(ReadDone {})
    }

    async fn compare_swap(&self, cx: &Context, cmd: CompareSwap) -> Result<Swapped> {
        let CompareSwap { target: remote, compare, swap: operand, .. } = cmd;
        let ask = Ask { remote, operand, compare, ..Ask::new(OperationKind::CompareSwap) };
        let before = self.ask(cx, cmd.rdma, ask, [cmd.result].into_iter()).await?;
        Ok(Swapped { before })
    }

    async fn fetch_add(&self, cx: &Context, cmd: FetchAdd) -> Result<Added> {
        let FetchAdd { target: remote, add: operand, .. } = cmd;
        let ask = Ask { remote, operand, ..Ask::new(OperationKind::FetchAdd) };
        let before = self.ask(cx, cmd.rdma, ask, [cmd.result].into_iter()).await?;
        Ok(Added { before })
    }
}

/// Waits until no byte of a connection that has ended moves any more, if UCX gets that far.
async fn drain(connection: Option<Rc<Connection>>) {
    let Some(connection) = connection else { return };
    if time::timeout(PATIENCE, connection.drained()).await.is_err() {
        log::warn!("bytes of an instance that was stopped may still move: its peer hangs");
    }
}

impl Drop for Rdma {
    /// Tells the other ends. A worker gives its plugins 1.5 s.
    fn drop(&mut self) {
        self.table.clear("the worker of the other end has closed the plugin");
        self.mesh.flush(Duration::from_millis(500));
    }
}
