//! Raw UCX inside a worker process, so that the kit and raw UCX are measured between the same two processes and on the
//! same threads: while it serves, the worker's thread belongs to the raw loop.

use std::cell::RefCell;

use bench_protocol::{ADDRESS, Connect, Connected, Handler, Prepare, Prepared, Serve, Served};
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

    async fn prepare(&self, _: &Context, _: Prepare) -> Result<Prepared> {
        let peer = Peer::new().map_err(driver)?;
        let bytes = peer.address().map_err(driver)?;
        let mut address = [0; ADDRESS];
        address.get_mut(..bytes.len()).ok_or(DocaError::TOO_BIG)?.copy_from_slice(&bytes);
        self.peer.replace(Some(peer));
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
}
