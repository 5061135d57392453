//! A plugin that looks up domain members and reads their buffers through UCX.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use reader_protocol::{Found, Handler, Look, Read, ReadDone, checksum};
use ucx::{Features, RemoteMemory, WorkerAddress};
use urom_pdk::prelude::*;
use urom_pdk::{Domains, Segment};

struct Reader {
    worker: ucx::Worker,
    /// Keyed by the hosts' memory handles.
    buffers: RefCell<HashMap<Vec<u8>, Rc<RemoteMemory>>>,
}

impl Reader {
    fn buffer(
        &self,
        domains: &Domains<'_>,
        member: u64,
        segment: Segment,
    ) -> Result<Rc<RemoteMemory>> {
        let (owner, key) = (domains.memory_handle(member, segment)?, domains.key(member, segment)?);
        let (described, mut buffers) = ([owner, key].concat(), self.buffers.borrow_mut());
        if let Some(buffer) = buffers.get(&described) {
            return Ok(Rc::clone(buffer));
        }
        let (start, rest) = number(owner)?;
        let (len, at) = number(rest)?;
        // SAFETY: the host supplied the address for its buffer, and this plugin trusts the host.
        let address = unsafe { WorkerAddress::from_bytes(at) };
        let endpoint = address.and_then(|address| self.worker.connect(&address).map(Rc::new));
        let endpoint = endpoint.or_code(DocaError::DRIVER, "connecting to a buffer's owner")?;
        // SAFETY: as above; the host keeps the buffer while it is in the domain.
        let buffer = unsafe { endpoint.remote_memory(key, start, len) };
        let buffer = Rc::new(buffer.or_code(DocaError::DRIVER, "unpacking a buffer's key")?);
        buffers.insert(described, Rc::clone(&buffer));
        Ok(buffer)
    }
}

#[urom_plugin]
impl Handler for Reader {
    fn open(_cx: &OpenContext) -> Result<Self> {
        let context = ucx::Context::new(Features::RMA).or_code(DocaError::DRIVER, "opening UCX")?;
        let worker = context.worker().or_code(DocaError::DRIVER, "opening UCX")?;
        Ok(Reader { worker, buffers: RefCell::default() })
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
        let buffer = self.buffer(&cx.domains(), cmd.member, segment)?;
        let length = cmd.length.min(buffer.len()) as usize;
        let (result, bytes) = buffer.get(cmd.offset, vec![0; length]).await;
        result.map_err(|status| {
            Error::new(DocaError::IO_FAILED, format!("reading a buffer: {status}"))
        })?;
        Ok(ReadDone { sum: checksum(&bytes) })
    }
}

fn number(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk().ok_or(DocaError::INVALID_VALUE)?;
    Ok((u64::from_le_bytes(*number), rest))
}

/// The worker reports an empty handle or key as missing.
fn if_any(found: Result<&[u8]>) -> Result<&[u8]> {
    match found {
        Err(error) if error.code() == DocaError::NOT_FOUND => Ok(&[]),
        found => found,
    }
}
