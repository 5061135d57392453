//! The RDMO plugin: appends to and scatters into a host's memory, for other processes.
//!
//! It is the worker's part of DOCA's RDMO application, with a UCX worker of its own; its messages
//! are the same byte for byte. A host is a *client*: it registers memory, and makes a receive queue
//! for each *initiator*. Initiators send active messages ([`rdmo_protocol::data`]). The plugin
//! carries them out on the client's memory: on memory that the client shares with the worker, or by
//! one-sided UCX.
//!
//! # Order
//! Each initiator's messages are carried out in the order in which they came, those of several
//! initiators of a client in any. Nothing else of a client starts while a pointer is fetched from
//! its memory. A pointer advances here alone until a flush, which first waits until all data has
//! arrived, then writes the pointers, reads one back, and answers. A fence waits for all data, too.
//! Pointers in memory that is mapped advance there, each after its data.
//!
//! # Errors
//! Only a flush is answered, and only when it succeeded. A message is dropped as a whole, with a
//! line in the log, if it is malformed, names an unknown key or bytes outside a region, or comes
//! from an initiator without a receive queue of that client. An append that fails does not advance
//! its pointer, so nobody sees a hole. A scatter whose write fails leaves the parts before it
//! written. A queue closes when too much waits in it, so no flush is answered after a lost message.
//!
//! # Endpoints
//! As in DOCA's plugin they are made without UCX's error handling: both ends of a connection must
//! agree on that, and initiators in C expect it. UCX then uses shared memory where it can, and over
//! that does not notice that a peer died. What waits for such a peer waits until the host leaves.
//! UCX takes the addresses and keys in commands as they are, so hosts are trusted with the worker's
//! memory.

mod client;
mod clients;
mod region;

use std::rc::Rc;
use std::time::Duration;

use rdmo_protocol::{
    ClientInit, ClientInitialized, Handler, MrDereg, MrDeregistered, MrReg, MrRegistered, RqCreate,
    RqCreated, RqDestroy, RqDestroyed, data::AM_ID,
};
use ucx::{Features, Worker};
use urom_pdk::{Armed, Tasks, armed_by, prelude::*, time};

use client::dropped;
use clients::Clients;
use region::Region;

/// How long a host that deregisters memory may leave its UCX worker without progress.
const PATIENCE: Duration = Duration::from_secs(2);

struct Rdmo {
    clients: Rc<Clients>,
    tasks: Tasks,
    worker: Worker,
}

#[urom_plugin]
impl Handler for Rdmo {
    fn open(cx: &OpenContext) -> Result<Self> {
        let features = Features::AM | Features::RMA | Features::AMO64 | Features::WAKEUP;
        // What DOCA's plugin sets.
        let context = ucx::Context::builder(features).config("TCP_PUT_ENABLE", "n");
        let worker = context.worker_with_exports().or_code(DocaError::DRIVER, "opening UCX")?;
        let clients = Rc::new(Clients::default());
        let receiver = Rc::downgrade(&clients);
        let receive = move |message: ucx::Message<'_>| {
            let received = receiver.upgrade().map(|clients| clients.receive(message));
            received.into_iter().filter_map(Result::err).for_each(|error| dropped(&error));
        };
        worker.set_am_handler(AM_ID, receive).or_code(DocaError::DRIVER, "listening")?;
        Ok(Rdmo { clients, tasks: cx.tasks(), worker })
    }

    fn address(&self) -> Result<Vec<u8>> {
        let address = self.worker.address().or_code(DocaError::DRIVER, "asking for an address")?;
        Ok(address.raw_bytes().to_vec())
    }

    fn progress(&self) -> bool {
        self.worker.progress()
    }

    fn arm(&self) -> Armed<'_> {
        armed_by(&self.worker)
    }

    fn host_left(&self, connection: u64) {
        self.clients.end(connection);
    }

    async fn client_init(&self, cx: &Context, cmd: ClientInit<'_>) -> Result<ClientInitialized> {
        let address = self.address()?;
        self.clients.add(&self.worker, &self.tasks, cx.dest_id(), cmd.id, cmd.addr)?;
        Ok(ClientInitialized { addr: address.as_slice().into() })
    }

    async fn rq_create(&self, cx: &Context, cmd: RqCreate<'_>) -> Result<RqCreated> {
        let client = self.clients.of(cx.dest_id())?;
        let initiator = self.clients.connect(&self.worker, cmd.addr)?;
        Ok(RqCreated { rq_id: client.add_queue(initiator) })
    }

    async fn rq_destroy(&self, cx: &Context, cmd: RqDestroy) -> Result<RqDestroyed> {
        self.clients.of(cx.dest_id())?.remove_queue(cmd.rq_id)?;
        Ok(RqDestroyed { rq_id: cmd.rq_id })
    }

    async fn mr_reg(&self, cx: &Context, cmd: MrReg<'_>) -> Result<MrRegistered> {
        let client = self.clients.of(cx.dest_id())?;
        Ok(MrRegistered { rkey: client.register(Region::open(cx, &client.host, &cmd)?) })
    }

    async fn mr_dereg(&self, cx: &Context, cmd: MrDereg) -> Result<MrDeregistered> {
        let client = self.clients.of(cx.dest_id())?;
        let regions = [client.deregister(cmd.rkey)?];
        let arrives = time::timeout(PATIENCE, client.publish(&regions));
        match cx.unless_cancelled(arrives).await? {
            Ok(arrived) => arrived?,
            Err(late) if !regions[0].pointers.borrow().is_empty() => return Err(late.into()),
            // A host that has seen all it waits for need not progress its worker any more.
            Err(_) => log::warn!("a host's UCX worker makes no progress while memory of it goes"),
        }
        Ok(MrDeregistered { rkey: cmd.rkey })
    }
}

#[cfg(test)]
mod tests;
