//! The clients of a worker, and which of them a message is for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use rdmo_protocol::data::Request;
use ucx::{Endpoint, ErrorMode, Message, Reply, Worker, WorkerAddress};
use urom_pdk::{Tasks, prelude::*};

use crate::client::Client;

#[derive(Default)]
pub(crate) struct Clients {
    by_id: RefCell<HashMap<u64, Rc<Client>>>,
    /// One for each worker, by its number: UCX answers through the first that there is.
    endpoints: RefCell<HashMap<u64, Weak<Endpoint>>>,
}

impl Clients {
    /// Adds the host of a connection.
    pub(crate) fn add(
        &self,
        ucx: &Worker,
        tasks: &Tasks,
        connection: u64,
        id: u64,
        host: &[u8],
    ) -> Result<()> {
        if self.of(connection).is_ok() {
            return Err(Error::new(DocaError::ALREADY_EXIST, "the connection has a client"));
        }
        if self.by_id.borrow().contains_key(&id) {
            let text = format!("client {id} is another host's");
            return Err(Error::new(DocaError::IN_USE, text));
        }
        let client = Client::new(connection, self.connect(ucx, host)?, tasks);
        self.by_id.borrow_mut().insert(id, Rc::new(client));
        Ok(())
    }

    pub(crate) fn of(&self, connection: u64) -> Result<Rc<Client>> {
        let clients = self.by_id.borrow();
        let client = clients.values().find(|client| client.connection == connection);
        let missing = || Error::new(DocaError::NOT_FOUND, "no client of this connection");
        client.cloned().ok_or_else(missing)
    }

    /// Ends the client of a connection, if it has one.
    pub(crate) fn end(&self, connection: u64) {
        if let Ok(client) = self.of(connection) {
            self.by_id.borrow_mut().retain(|_, other| !Rc::ptr_eq(other, &client));
            client.end();
        }
        self.endpoints.borrow_mut().retain(|_, endpoint| endpoint.strong_count() > 0);
    }

    pub(crate) fn connect(&self, ucx: &Worker, address: &[u8]) -> Result<Rc<Endpoint>> {
        let connect = || -> ucx::Result<Rc<Endpoint>> {
            // SAFETY: a host's word, for its own worker or that of an initiator. It is trusted with
            // the worker's memory: the guide's page on security says so.
            let address = unsafe { WorkerAddress::from_raw(address) }?;
            let uid = address.worker_uid()?;
            let known = self.endpoints.borrow().get(&uid).and_then(Weak::upgrade);
            if let Some(known) = known {
                return Ok(known);
            }
            let endpoint = Rc::new(ucx.endpoint().error_mode(ErrorMode::None).connect(&address)?);
            self.endpoints.borrow_mut().insert(uid, Rc::downgrade(&endpoint));
            Ok(endpoint)
        };
        connect().or_code(DocaError::DRIVER, "connecting")
    }

    /// Puts a message into its queue.
    pub(crate) fn receive(&self, message: Message<'_>) -> Result<()> {
        let request = Request::read(message.header);
        let request = request.or_code(DocaError::INVALID_VALUE, "reading a header")?;
        let refuse = |code, text| Err(Error::new(code, text));
        let Some(from) = message.reply().as_ref().map(Reply::endpoint) else {
            return refuse(DocaError::INVALID_VALUE, "it has no UCP_AM_SEND_FLAG_REPLY");
        };
        match self.by_id.borrow().get(&request.client) {
            Some(client) => client.receive(from, request, message.data),
            None => refuse(DocaError::NOT_FOUND, "its client does not exist"),
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        // Clients and what they do hold each other.
        self.by_id.take().values().for_each(|client| client.end());
    }
}
