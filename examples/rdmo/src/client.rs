//! The client, an initiator: uses UCX and the messages of the data path, without UROM.

use std::cell::Cell;
use std::rc::Rc;

use anyhow::{Context, Result};
use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use ucx::{AmFlags, Endpoint, ErrorMode, Worker, WorkerAddress};

use crate::options::Options;
use crate::side::SideChannel;
use crate::{BYTES, PARTS, perf, ucx_worker};

/// The sample's id of its flushes.
const FLUSH: u64 = 0xbeef;

pub(crate) fn run(options: &Options) -> Result<()> {
    let ucx = ucx_worker()?;
    println!("Created client UCP Worker");
    let server = options.server_name.as_deref().context("the client needs --server-name")?;
    let mut side = SideChannel::connect(server, options.port, &ucx)?;
    let dev = side.exchange(ucx.address()?.raw_bytes())?;
    println!("Client received remote data, length: {}", dev.len());
    println!("Received dev addr (len: {})", dev.len());
    let mut initiator = Initiator::connect(&ucx, &dev)?;
    println!("Created initiator EP: {}", initiator.endpoint.id());

    let memory = side.exchange(&[])?;
    println!("Client received remote data, length: {}", memory.len());
    let words = memory.as_chunks().0.iter().copied().map(u64::from_ne_bytes);
    let [rkey, queue] = words.collect::<Vec<_>>()[..] else {
        anyhow::bail!("{} bytes are not a key and a pointer", memory.len());
    };
    println!("Received rkey {rkey} and queue pointer {queue:#x}");
    (initiator.rkey, initiator.queue) = (rkey, queue);

    println!("Send buffer contains [{}] char", char::from(BYTES[0]));
    initiator.append(false, BYTES.to_vec());
    println!("RDMO Append complete");
    initiator.request(true, Operation::Flush { flush_id: FLUSH }, Vec::new());
    println!("Sent flush request");
    let id = initiator.flushed(&side)?;
    println!("Received AM Reply, ID: {id:#x}");
    println!("Flush complete");
    side.exchange(&[])?;

    let mut parts = Vec::new();
    for address in (queue..).step_by(BYTES.len()).take(PARTS) {
        Part { address, rkey, data: &BYTES }.write(&mut parts)?;
    }
    initiator.request(false, Operation::Scatter { count: PARTS as u64 }, parts);
    println!("RDMO Scatter complete");
    initiator.request(true, Operation::Flush { flush_id: FLUSH }, Vec::new());
    println!("Sent flush request");
    let id = initiator.flushed(&side)?;
    println!("Received AM Reply, ID: {id:#x}");
    println!("Flush complete");
    if options.perf {
        side.exchange(&[])?;
        print!("{}", perf::measure(&initiator, &side, options.time)?);
    }
    Ok(())
}

pub(crate) struct Initiator {
    endpoint: Endpoint,
    answer: Rc<Cell<Option<u64>>>,
    pub(crate) rkey: u64,
    /// Address of the memory, which begins with a pointer.
    pub(crate) queue: u64,
}

impl Initiator {
    fn connect(ucx: &Worker, dev: &[u8]) -> Result<Initiator> {
        // SAFETY: the address is from the server, which runs this program.
        let address = unsafe { WorkerAddress::from_raw(dev) }?;
        // As the plugin's endpoint: both modes must be equal.
        let endpoint = ucx.endpoint().error_mode(ErrorMode::None).connect(&address)?;
        let answer = Rc::new(Cell::new(None));
        let answered = Rc::clone(&answer);
        ucx.set_am_handler(AM_ID, move |message| {
            answered.set(Flushed::read(message.header).map(|flushed| flushed.flush_id));
        })?;
        Ok(Initiator { endpoint, answer, rkey: 0, queue: 0 })
    }

    pub(crate) fn request(&self, fence: bool, operation: Operation, data: Vec<u8>) {
        let request = Request { client: 0, fence, operation };
        let mut buffer = Request::BUFFER;
        let header = request.header(&mut buffer);
        self.endpoint.am_send_with(AM_ID, header, data, AmFlags::REPLY).detach();
    }

    /// Appends at the pointer in the first word of the memory.
    pub(crate) fn append(&self, fence: bool, data: Vec<u8>) {
        let (pointer, rkey) = (self.queue, self.rkey);
        let append = Operation::Append { pointer, pointer_rkey: rkey, data_rkey: rkey };
        self.request(fence, append, data);
    }

    pub(crate) fn flushed(&self, side: &SideChannel<'_>) -> Result<u64> {
        side.until("a flush is not answered", || self.answer.take())
    }
}
