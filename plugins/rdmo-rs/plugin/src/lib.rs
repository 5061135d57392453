//! The RDMO plugin: appends to and scatters into a host's memory, for other processes.
//!
//! It is the worker's part of DOCA's RDMO application, with its own UCX worker and the same
//! messages byte for byte. A host is a *client*: it registers memory, and makes a receive queue for
//! each *initiator*. Initiators send active messages ([`rdmo_protocol::data`]). The plugin executes
//! them on the client's memory, which is shared with the worker or accessed by one-sided UCX.
//!
//! # Order
//! Messages of one initiator are executed in order, messages of several in any order. While a
//! pointer is fetched from a client's memory, no other message of that client starts. A pointer
//! advances only here until a flush, which waits until all data has arrived, writes the pointers,
//! reads one back, and answers. A fence also waits for all data. Mapped pointers advance in place,
//! after their data.
//!
//! # Errors
//! Only a successful flush is answered. A message is dropped as a whole, and logged, if it is
//! malformed, has an unknown key or bytes outside a region, or comes from an initiator without a
//! receive queue of that client. A failed append does not advance its pointer, so the client never
//! sees a hole. If a write of a scatter fails, the parts before it remain. A queue closes at its
//! limit, so no flush is answered after a lost message.
//!
//! # Endpoints
//! As in DOCA's plugin, endpoints lack UCX error handling: both ends of a connection must agree
//! on that, and initiators in C expect it. UCX then uses shared memory if possible, and does not
//! detect there that a peer died: operations for such a peer wait until the host leaves. UCX does
//! not check the addresses and keys in commands, so hosts are trusted with the worker's memory.

mod client;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use rdmo_protocol::data::{AM_ID, Request};
use rdmo_protocol::{
    ClientInit, ClientInitialized, Handler, MrDereg, MrDeregistered, MrReg, MrRegistered, RqCreate,
    RqCreated, RqDestroy, RqDestroyed,
};
use ucx::{Features, Message};
use urom_pdk::memory::{Exported, MemoryRange};
use urom_pdk::peers::PeerWorker;
use urom_pdk::{HostLimits, PerHost, Region, Task, Tasks, prelude::*, time};

use client::{Client, RegisteredRegion, dropped};

/// Timeout for progress of the UCX worker of a host that deregisters memory.
const TIMEOUT: Duration = Duration::from_secs(2);

struct Rdmo {
    clients: Rc<Clients>,
    memory: PerHost<RegisteredRegion>,
    tasks: Tasks,
    peers: PeerWorker,
}

/// The clients by their numbers.
type Clients = RefCell<HashMap<u64, Rc<Client>>>;

impl Rdmo {
    fn client(&self, connection: ConnectionId) -> Result<Rc<Client>> {
        let clients = self.clients.borrow();
        let client = clients.values().find(|client| client.connection == connection).cloned();
        client.ok_or_else(|| Error::new(DocaError::NOT_FOUND, "no client of this connection"))
    }
}

fn receive(clients: &Clients, message: Message<'_>) -> Result<()> {
    let request = Request::read(message.header);
    let request = request.or_code(DocaError::INVALID_VALUE, "reading a header")?;
    let Some(client) = clients.borrow().get(&request.client).cloned() else {
        bail!(DocaError::NOT_FOUND, "its client does not exist");
    };
    client.receive(request, message)
}

#[urom_plugin(peers = peers)]
impl Handler for Rdmo {
    fn open(cx: &OpenContext) -> Result<Self> {
        let clients = Rc::<Clients>::default();
        let receiver = Rc::downgrade(&clients);
        let peers = PeerWorker::builder(cx, Features::AM | Features::RMA | Features::AMO64)
            // Same setting as DOCA's plugin.
            .settings(|settings| settings.config("TCP_PUT_ENABLE", "n"))
            .listen(move |worker| {
                let receiver = receiver.clone();
                worker.set_am_handler(AM_ID, move |message: Message<'_>| {
                    let received = receiver.upgrade().map(|clients| receive(&clients, message));
                    if let Some(Err(error)) = received {
                        dropped(&error);
                    }
                })
            })
            .open_plain()?;
        let limits = HostLimits { values: usize::MAX, bytes: u64::MAX };
        let memory = PerHost::new(cx, "memory region", limits);
        Ok(Rdmo { clients, memory, tasks: cx.tasks(), peers })
    }

    fn host_left(&self, connection: ConnectionId) {
        if let Ok(client) = self.client(connection) {
            self.clients.borrow_mut().retain(|_, other| !Rc::ptr_eq(other, &client));
            // Its tasks hold it.
            client.serving.take().values().for_each(Task::cancel);
        }
    }

    async fn client_init(&self, cx: &Context, cmd: ClientInit<'_>) -> Result<ClientInitialized> {
        let is_first = self.client(cx.connection()).is_err();
        ensure!(is_first, DocaError::ALREADY_EXIST, "the connection has a client");
        let is_free = !self.clients.borrow().contains_key(&cmd.id);
        ensure!(is_free, DocaError::IN_USE, "another host has a client of this number");
        let addr = self.peers.address()?.into();
        let host = self.peers.connect_plain(cx, cmd.addr)?;
        let client = Client::new(cx, host, self.memory.clone());
        self.clients.borrow_mut().insert(cmd.id, Rc::new(client));
        Ok(ClientInitialized { addr })
    }

    async fn rq_create(&self, cx: &Context, cmd: RqCreate<'_>) -> Result<RqCreated> {
        let client = self.client(cx.connection())?;
        let initiator = self.peers.connect_plain(cx, cmd.addr)?;
        Ok(RqCreated { rq_id: client.add_queue(&self.tasks, initiator) })
    }

    async fn rq_destroy(&self, cx: &Context, cmd: RqDestroy) -> Result<RqDestroyed> {
        self.client(cx.connection())?.remove_queue(cmd.rq_id)?;
        Ok(RqDestroyed { rq_id: cmd.rq_id })
    }

    async fn mr_reg(&self, cx: &Context, cmd: MrReg<'_>) -> Result<MrRegistered> {
        let client = self.client(cx.connection())?;
        let MrReg { va, len, packed_rkey: rkey, packed_memh: memh } = cmd;
        ensure!(
            va.checked_add(len).is_some(),
            DocaError::INVALID_VALUE,
            "{len} bytes at {va:#x} go beyond the last address"
        );
        let region = match Exported::read(memh) {
            Ok(map) => {
                // Wraps for addresses before the map, so that the result exceeds every map.
                let offset = va.wrapping_sub(map.address());
                let memory = cx.memory(MemoryRange { memory: map.id(), offset, len })?;
                Region::from(memory).with_address(va)
            }
            // An exported UCX handle needs a key.
            Err(error) if rkey.is_empty() && !memh.is_empty() => return Err(error.into()),
            Err(_) => Region::remote(cx, &client.host, rkey, memh, va, len)?,
        };
        let registered = RegisteredRegion { region, pointers: RefCell::default() };
        Ok(MrRegistered { rkey: self.memory.insert(cx.connection(), len, registered)? })
    }

    async fn mr_dereg(&self, cx: &Context, cmd: MrDereg) -> Result<MrDeregistered> {
        let client = self.client(cx.connection())?;
        let registered = [client.registered(cmd.rkey)?];
        self.memory.remove(cx.connection(), cmd.rkey)?;
        let arrives = time::timeout(TIMEOUT, client.publish(&registered));
        match cx.unless_cancelled(arrives).await? {
            Ok(arrived) => arrived?,
            Err(late) if !registered[0].pointers.borrow().is_empty() => return Err(late.into()),
            // A host that does not wait for pointers may have stopped progress.
            Err(_) => log::warn!("a host's UCX worker makes no progress while memory of it goes"),
        }
        Ok(MrDeregistered { rkey: cmd.rkey })
    }
}

#[cfg(test)]
mod tests;
