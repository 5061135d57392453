//! Raw UCX inside a worker process, so that the kit and raw UCX are measured between the same two processes and on the
//! same threads: while it serves, the worker's thread belongs to the raw loop.

use std::cell::RefCell;

use bench_protocol::{
    ADDRESS, Connect, Connected, Forward, HandOn, Handler, Prepare, Prepared, Relay, Serve, Served, Take,
};
use bench_raw::Peer;
use urom_pdk::{Context, DocaError, Error, OpenContext, Result, urom_plugin};

struct BenchPeer {
    peer: RefCell<Option<Peer>>,
}

fn driver(what: String) -> Error {
    Error::new(DocaError::DRIVER, what)
}

#[urom_plugin]
impl Handler for BenchPeer {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(BenchPeer { peer: RefCell::new(None) })
    }

    async fn prepare(&self, _: &Context, command: Prepare) -> Result<Prepared> {
        let mut peer = self.peer.borrow_mut();
        let peer = match &mut *peer {
            Some(peer) => peer,
            none => {
                let make = if command.tags == 0 { Peer::new } else { Peer::with_tags };
                none.insert(make(command.number as usize).map_err(driver)?)
            }
        };
        let bytes = peer.address().map_err(driver)?;
        let mut address = [0; ADDRESS];
        address.get_mut(..bytes.len()).ok_or(DocaError::TOO_BIG)?.copy_from_slice(&bytes);
        Ok(Prepared { address, length: bytes.len() as u64 })
    }

    async fn connect(&self, _: &Context, command: Connect) -> Result<Connected> {
        let address = command.address.get(..command.length as usize).ok_or(DocaError::INVALID_VALUE)?;
        let mut peer = self.peer.borrow_mut();
        peer.as_mut().ok_or(DocaError::BAD_STATE)?.connect(address).map_err(driver)?;
        Ok(Connected {})
    }

    async fn serve(&self, _: &Context, _: Serve) -> Result<Served> {
        self.peer.borrow().as_ref().ok_or(DocaError::BAD_STATE)?.serve();
        Ok(Served {})
    }

    async fn forward(&self, _: &Context, command: Forward) -> Result<Served> {
        let bytes = vec![0x5a; command.bytes as usize];
        self.peer.borrow().as_ref().ok_or(DocaError::BAD_STATE)?.forward(&bytes);
        Ok(Served {})
    }

    async fn relay(&self, _: &Context, command: Relay) -> Result<Served> {
        let Relay { head, bytes } = command;
        self.peer.borrow().as_ref().ok_or(DocaError::BAD_STATE)?.relay(head as usize, bytes as usize);
        Ok(Served {})
    }

    async fn take(&self, _: &Context, command: Take) -> Result<Served> {
        let mut room = vec![0; command.bytes as usize];
        self.peer.borrow().as_ref().ok_or(DocaError::BAD_STATE)?.take(&mut room);
        Ok(Served {})
    }

    async fn hand_on(&self, _: &Context, command: HandOn) -> Result<Served> {
        self.peer.borrow().as_ref().ok_or(DocaError::BAD_STATE)?.hand_on(command.bytes as usize);
        Ok(Served {})
    }
}
