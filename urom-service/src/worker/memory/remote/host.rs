//! Hosts that get requests, and their connections, which may fail while the host is alive.

use std::cell::RefCell;
use std::rc::Rc;

use tracing::debug;
use ucx::{AmFlags, Endpoint, Request, WorkerAddress};
use urom_abi::DocaError;
use urom_memory::Error;
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ASK, Ask};

use super::{MemoryClient, RemoteAccess, failed};

#[derive(Debug)]
pub(super) struct RemoteHost {
    pub(super) dest_id: u64,
    pub(super) token: u128,
    pub(super) endpoint: RefCell<Option<Endpoint>>,
}

impl RemoteHost {
    pub(super) fn is_failed(&self) -> bool {
        self.endpoint.borrow().as_ref().is_none_or(Endpoint::is_failed)
    }

    pub(super) fn unsent(&self) -> DocaError {
        if self.is_failed() { DocaError::CONNECTION_RESET } else { DocaError::IO_FAILED }
    }

    /// Sends a request. Returns it while UCX is sending it.
    pub(super) fn ask(
        &self,
        ask: &Ask,
        bytes: Vec<u8>,
    ) -> Result<Option<Request<Vec<u8>>>, DocaError> {
        let endpoint = self.endpoint.borrow();
        let endpoint = endpoint.as_ref().ok_or(DocaError::CONNECTION_RESET)?;
        match endpoint.am_send_now(AM_ASK, ask.as_bytes(), bytes, AmFlags::EAGER) {
            Ok((Ok(()), _)) => Ok(None),
            Ok((Err(_), _)) => Err(self.unsent()),
            Err(request) => Ok(Some(request)),
        }
    }
}

impl RemoteAccess {
    pub(super) fn host(
        &self,
        dest_id: u64,
        token: u128,
        address: &[u8],
    ) -> Result<Rc<RemoteHost>, Error> {
        let client = self.client()?;
        // SAFETY: the address is from an admitted host, which is trusted with the memory of its
        // workers: see the guide's page on security.
        let address = unsafe { WorkerAddress::from_bytes(address) }.map_err(failed)?;
        let known = self.hosts.borrow().get(&dest_id).cloned();
        let host = known.unwrap_or_else(|| {
            Rc::new(RemoteHost { dest_id, token, endpoint: RefCell::default() })
        });
        // A host whose memory thread has ended has a new thread, at another address.
        let leads_there = |endpoint: &Endpoint| {
            !endpoint.is_failed() && endpoint.address().as_bytes() == address.as_bytes()
        };
        if !host.endpoint.borrow().as_ref().is_some_and(leads_there) {
            self.connect(client, &host, &address).map_err(failed)?;
        }
        self.hosts.borrow_mut().insert(dest_id, Rc::clone(&host));
        Ok(host)
    }

    /// Creates a host's endpoint. Requests over an earlier endpoint end.
    fn connect(
        &self,
        client: &MemoryClient,
        host: &RemoteHost,
        address: &WorkerAddress,
    ) -> ucx::Result<()> {
        let dest_id = host.dest_id;
        let operations = Rc::downgrade(&client.operations);
        let hook = move |_| {
            if let Some(operations) = operations.upgrade() {
                operations.borrow_mut().lost.push(dest_id);
            }
        };
        let endpoint = client.worker.endpoint().on_error(hook).connect(address)?;
        let earlier = host.endpoint.replace(Some(endpoint));
        if earlier.is_some() {
            let mut operations = client.operations.borrow_mut();
            operations.lost.retain(|lost| *lost != dest_id);
            operations.end_of(|of| of.dest_id == dest_id, DocaError::CONNECTION_RESET);
            self.is_busy.set(true);
        }
        Ok(())
    }

    /// Reconnects to a host, maybe alive: its library fails a connection if memory cannot be read.
    pub(super) fn revive(&self, client: &MemoryClient, host: &RemoteHost) -> Result<(), DocaError> {
        let address = match &*host.endpoint.borrow() {
            Some(endpoint) if endpoint.is_failed() => endpoint.address().clone(),
            Some(_) => return Ok(()),
            None => return Err(DocaError::CONNECTION_RESET),
        };
        self.connect(client, host, &address).map_err(|error| {
            debug!("a host's memory is not reached again: {error}");
            DocaError::CONNECTION_RESET
        })
    }
}
