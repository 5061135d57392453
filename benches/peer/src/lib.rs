//! Raw UCX inside a worker process, so that kit and raw UCX run between the same two processes and
//! threads. While it serves, the raw loop has the worker's thread.

mod memory;

use std::cell::RefCell;

use bench_protocol::{
    ADDRESS, Aim, Aimed, Connect, Connected, Handler, Kind, Prepare, Prepared, Serve, Served,
    TimeMemory, Timed,
};
use bench_raw::Peer;
use urom_pdk::{Context, DocaError, Error, OpenContext, Result, urom_plugin};

struct BenchPeer {
    peers: RefCell<Vec<(Kind, Peer)>>,
}

fn driver(error: impl std::fmt::Display) -> Error {
    Error::new(DocaError::DRIVER, format!("{error:#}"))
}

impl BenchPeer {
    fn with<T>(&self, kind: Kind, work: impl FnOnce(&mut Peer) -> Result<T>) -> Result<T> {
        let mut peers = self.peers.borrow_mut();
        let found = peers.iter_mut().find(|(other, _)| *other == kind);
        work(&mut found.ok_or(DocaError::BAD_STATE)?.1)
    }
}

#[urom_plugin]
impl Handler for BenchPeer {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(BenchPeer { peers: RefCell::default() })
    }

    async fn prepare(&self, _: &Context, command: Prepare) -> Result<Prepared> {
        let Prepare { number, kind } = command;
        if self.with(kind, |_| Ok(())).is_err() {
            let peer = Peer::new(number as usize, kind).map_err(driver)?;
            self.peers.borrow_mut().push((kind, peer));
        }
        let bytes = self.with(kind, |peer| peer.address().map_err(driver))?;
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
        let Serve { kind, style, bytes } = command;
        self.with(kind, |peer| peer.serve(style, bytes as usize).map_err(driver))?;
        Ok(Served {})
    }

    async fn aim(&self, _: &Context, command: Aim) -> Result<Aimed> {
        let key = command.key.get(..command.length as usize).ok_or(DocaError::INVALID_VALUE)?;
        self.with(command.kind, |peer| peer.aim(command.address, key).map_err(driver))?;
        Ok(Aimed {})
    }

    async fn time_memory(&self, cx: &Context, command: TimeMemory) -> Result<Timed> {
        memory::time(cx, &command).await
    }
}
