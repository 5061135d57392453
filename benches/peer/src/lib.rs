//! Raw UCX inside a worker process: the kit and raw UCX are measured between the same two processes
//! and on the same threads. While it serves, the worker's thread belongs to the raw loop.

use std::cell::RefCell;

use bench_protocol::{ADDRESS, Connect, Connected, Handler, Prepare, Prepared, Serve, Served};
use bench_raw::{Kind, Peer, Style};
use urom_pdk::{Context, DocaError, Error, OpenContext, Result, urom_plugin};

struct BenchPeer {
    /// By the number of their kind.
    peers: [RefCell<Option<Peer>>; Kind::COUNT],
}

fn driver(error: impl std::fmt::Display) -> Error {
    Error::new(DocaError::DRIVER, format!("{error:#}"))
}

impl BenchPeer {
    /// Uses the peer of a kind, if it was prepared.
    fn with<T>(&self, kind: u64, work: impl FnOnce(&mut Peer) -> Result<T>) -> Result<T> {
        let peer = self.peers.get(kind as usize).ok_or(DocaError::INVALID_VALUE)?;
        work(peer.borrow_mut().as_mut().ok_or(DocaError::BAD_STATE)?)
    }
}

#[urom_plugin]
impl Handler for BenchPeer {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(BenchPeer { peers: Default::default() })
    }

    async fn prepare(&self, _: &Context, command: Prepare) -> Result<Prepared> {
        let kind = Kind::of(command.kind).ok_or(DocaError::INVALID_VALUE)?;
        let mut peer = self.peers[command.kind as usize].borrow_mut();
        let peer = match &mut *peer {
            Some(peer) => peer,
            none => none.insert(Peer::new(command.number as usize, kind).map_err(driver)?),
        };
        let bytes = peer.address().map_err(driver)?;
        let mut address = [0; ADDRESS];
        address.get_mut(..bytes.len()).ok_or(DocaError::TOO_BIG)?.copy_from_slice(&bytes);
        Ok(Prepared { address, length: bytes.len() as u64 })
    }

    async fn connect(&self, _: &Context, command: Connect) -> Result<Connected> {
        let address =
            command.address.get(..command.length as usize).ok_or(DocaError::INVALID_VALUE)?;
        self.with(command.kind, |peer| peer.connect(address).map_err(driver))?;
        Ok(Connected {})
    }

    async fn serve(&self, _: &Context, command: Serve) -> Result<Served> {
        let style = Style::of(command.style).ok_or(DocaError::INVALID_VALUE)?;
        self.with(command.kind, |peer| peer.serve(style, command.bytes as usize).map_err(driver))?;
        Ok(Served {})
    }
}
