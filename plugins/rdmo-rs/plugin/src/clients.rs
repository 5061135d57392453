//! The clients of a worker, and which of them a message is for.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use rdmo_protocol::data::{Operation, Request};
use ucx::{Data, Endpoint, ErrorMode, Message, Worker, WorkerAddress};
use urom_pdk::prelude::*;

use crate::client::{Bytes, Client, Job};

/// So many messages that were dropped get a line each, then every one whose number is a power of
/// two.
const LINES: u64 = 8;

#[derive(Default)]
pub(crate) struct Clients {
    by_id: RefCell<HashMap<u64, Rc<Client>>>,
    /// One for each worker, by its number: UCX answers through the first that there is.
    endpoints: RefCell<HashMap<u64, Weak<Endpoint>>>,
    pub(crate) failures: Rc<Failures>,
}

impl Clients {
    /// Adds the host of a connection.
    pub(crate) fn add(&self, ucx: &Worker, connection: u64, id: u64, host: &[u8]) -> Result<()> {
        if self.of(connection).is_ok() {
            return Err(Error::new(DocaError::ALREADY_EXIST, "the connection has a client"));
        }
        // A host that is lost may have left nothing but its number.
        let taken = self.by_id.borrow().get(&id).cloned();
        if let Some(other) = taken {
            if !other.is_lost() {
                let text = format!("client {id} is another host's");
                return Err(Error::new(DocaError::IN_USE, text));
            }
            self.end(other.connection());
        }
        let client = Client::new(connection, self.connect(ucx, host)?, self.failures.clone());
        self.by_id.borrow_mut().insert(id, Rc::new(client));
        Ok(())
    }

    /// The client of a connection.
    pub(crate) fn of(&self, connection: u64) -> Result<Rc<Client>> {
        let clients = self.by_id.borrow();
        let client = clients.values().find(|client| client.connection() == connection);
        client.cloned().ok_or_else(|| {
            Error::new(DocaError::NOT_FOUND, "the connection has no client: initialize one first")
        })
    }

    /// Ends the client of a connection, if it has one.
    pub(crate) fn end(&self, connection: u64) {
        let Ok(client) = self.of(connection) else { return };
        self.by_id.borrow_mut().retain(|_, other| !Rc::ptr_eq(other, &client));
        client.end();
        self.endpoints.borrow_mut().retain(|_, endpoint| endpoint.strong_count() > 0);
    }

    /// Ends all.
    pub(crate) fn end_all(&self) {
        let clients = self.by_id.take();
        clients.values().for_each(|client| client.end());
    }

    /// The endpoint to the worker with this address of UCX's.
    pub(crate) fn connect(&self, ucx: &Worker, address: &[u8]) -> Result<Rc<Endpoint>> {
        let connect = || -> ucx::Result<Rc<Endpoint>> {
            // SAFETY: a host's word, for its own worker or that of an initiator. It is trusted with
            // the worker's memory: the guide's page on security says so.
            let address = unsafe { WorkerAddress::from_raw(address) }?;
            let uid = address.worker_uid()?;
            let known = self.endpoints.borrow().get(&uid).and_then(Weak::upgrade);
            if let Some(known) = known.filter(|known| !known.is_failed()) {
                return Ok(known);
            }
            let endpoint = Rc::new(ucx.endpoint().error_mode(ErrorMode::None).connect(&address)?);
            self.endpoints.borrow_mut().insert(uid, Rc::downgrade(&endpoint));
            Ok(endpoint)
        };
        connect().or_code(DocaError::DRIVER, "connecting")
    }

    /// Polls what was woken.
    pub(crate) fn run(&self) {
        self.by_id.borrow().values().for_each(|client| client.run());
    }

    /// Takes a message in, or drops it.
    pub(crate) fn receive(&self, message: Message<'_>) {
        if let Err(error) = self.accept(message) {
            self.failures.note(&error);
        }
    }

    fn accept(&self, message: Message<'_>) -> Result<()> {
        let request = Request::read(message.header);
        let request = request.or_code(DocaError::INVALID_VALUE, "reading a header")?;
        let from = message.reply().map(|reply| reply.endpoint());
        let from = from.ok_or_else(|| {
            let text = "an initiator must send with UCP_AM_SEND_FLAG_REPLY";
            Error::new(DocaError::INVALID_VALUE, text)
        })?;
        let clients = self.by_id.borrow();
        let client = clients.get(&request.client).ok_or_else(|| {
            Error::new(DocaError::NOT_FOUND, format!("there is no client {}", request.client))
        })?;
        let data = match (message.data, request.operation) {
            (Data::Eager(bytes), _) => Bytes::Here(bytes.to_vec()),
            (Data::Rendezvous(announced), Operation::Append { .. }) => Bytes::Announced(announced),
            (Data::Rendezvous(announced), _) => {
                let text = format!("{} bytes in one message are too many", announced.len());
                return Err(Error::new(DocaError::NOT_SUPPORTED, text));
            }
        };
        client.enqueue(from, Job { request, data })
    }
}

/// What failed without anybody to tell, in the log.
#[derive(Default)]
pub(crate) struct Failures(Cell<u64>);

impl Failures {
    pub(crate) fn note(&self, error: &Error) {
        let count = self.0.get() + 1;
        self.0.set(count);
        if count <= LINES || count.is_power_of_two() {
            log::warn!("an initiator's message failed, number {count} of this worker: {error}");
        }
    }
}
