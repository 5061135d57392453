//! A plugin that looks members of a domain up, and reads their buffers through UCX.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use reader_protocol::{Found, Handler, Look, Read, ReadDone, checksum};
use ucx::{Features, RemoteMemory};
use urom_pdk::prelude::*;

struct Reader {
    worker: ucx::Worker,
    /// By their keys.
    windows: RefCell<HashMap<Vec<u8>, Rc<RemoteMemory>>>,
}

impl Reader {
    fn window(&self, key: &[u8]) -> Result<Rc<RemoteMemory>> {
        let mut windows = self.windows.borrow_mut();
        if let Some(window) = windows.get(key) {
            return Ok(Rc::clone(window));
        }
        // SAFETY: the key is what a host gave for its buffer, and this plugin trusts it.
        let window = unsafe { RemoteMemory::open(&self.worker, key) };
        let window = Rc::new(window.or_code(DocaError::DRIVER, "opening a window")?);
        windows.insert(key.to_vec(), Rc::clone(&window));
        Ok(window)
    }
}

#[urom_plugin]
impl Handler for Reader {
    fn open(_cx: &OpenContext) -> Result<Self> {
        let context = ucx::Context::new(Features::RMA).or_code(DocaError::DRIVER, "opening UCX")?;
        let worker = context.worker().or_code(DocaError::DRIVER, "opening UCX")?;
        Ok(Reader { worker, windows: RefCell::default() })
    }

    fn address(&self) -> Result<Vec<u8>> {
        let address =
            self.worker.address().or_code(DocaError::DRIVER, "asking UCX for an address")?;
        Ok(address.as_bytes().to_vec())
    }

    fn progress(&self) -> bool {
        self.worker.progress()
    }

    async fn look(&self, cx: &Context, cmd: Look) -> Result<Found> {
        let domains = cx.domains();
        let segment = domains.segment(cmd.member, cmd.va)?;
        Ok(Found {
            segment: segment.index().into(),
            address: checksum(domains.address(cmd.member)?),
            handle: checksum(if_any(domains.memory_handle(cmd.member, segment))?),
            key: checksum(if_any(domains.key(cmd.member, segment))?),
        })
    }

    async fn read(&self, cx: &Context, cmd: Read) -> Result<ReadDone> {
        let segment = cx.domains().segment(cmd.member, cmd.va)?;
        let window = self.window(cx.domains().key(cmd.member, segment)?)?;
        // As many bytes as the window can have.
        let length = cmd.length.min(window.len()) as usize;
        let (result, bytes) = window.get(cmd.offset, vec![0; length]).await;
        result.map_err(|status| {
            Error::new(DocaError::IO_FAILED, format!("reading a buffer: {status}"))
        })?;
        Ok(ReadDone { sum: checksum(&bytes) })
    }
}

/// A worker finds no handle or key where the host gave an empty one.
fn if_any(found: Result<&[u8]>) -> Result<&[u8]> {
    match found {
        Err(error) if error.code() == DocaError::NOT_FOUND => Ok(&[]),
        found => found,
    }
}
