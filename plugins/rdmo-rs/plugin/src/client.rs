//! A client: a host, its memory, and the queues of its initiators.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rdmo_protocol::MrReg;
use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, MutexGuard};
use ucx::{Endpoint, EndpointId, Rendezvous};
use urom_pdk::prelude::*;

use crate::clients::dropped;
use crate::region::Region;

/// How many bytes of messages may wait for their turn.
const MOST_WAITING: usize = 256 << 20;

/// How many writes may be under way before the next one waits for the oldest.
const MOST_WRITES: usize = 64;

pub(crate) struct Client {
    pub(crate) connection: u64,
    /// To the host's UCX worker.
    pub(crate) host: Rc<Endpoint>,
    regions: RefCell<SlotMap<DefaultKey, Rc<Region>>>,
    queues: RefCell<BTreeMap<u64, Queue>>,
    next_queue: Cell<u64>,
    /// Held while memory is used: whoever waits for it is paused.
    memory: Mutex<Memory>,
    /// How many bytes of messages wait for their turn.
    waiting: Cell<usize>,
    /// One for each initiator.
    tasks: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
}

/// What is not known to have arrived in the host's memory.
#[derive(Default)]
struct Memory {
    /// Anything was written since the last flush of the endpoint.
    written: bool,
    writes: VecDeque<ucx::Request<Vec<u8>>>,
}

struct Queue {
    initiator: EndpointId,
    jobs: UnboundedSender<Job>,
}

/// A message that waits for its turn.
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) data: Bytes,
}

/// A message's data.
pub(crate) enum Bytes {
    Here(Vec<u8>),
    /// Still at the initiator.
    Announced(Rendezvous),
}

impl Bytes {
    /// How much of this process's memory it has.
    fn held(&self) -> usize {
        if let Bytes::Here(bytes) = self { bytes.len() } else { 0 }
    }

    fn len(&self) -> usize {
        match self {
            Bytes::Here(bytes) => bytes.len(),
            Bytes::Announced(announced) => announced.len(),
        }
    }
}

impl Client {
    pub(crate) fn new(connection: u64, host: Rc<Endpoint>) -> Client {
        Client {
            connection,
            host,
            regions: RefCell::default(),
            queues: RefCell::default(),
            next_queue: Cell::new(0),
            memory: Mutex::default(),
            waiting: Cell::new(0),
            tasks: RefCell::default(),
        }
    }

    /// Makes a queue for an initiator, and gives its number.
    pub(crate) fn add_queue(self: &Rc<Self>, initiator: Rc<Endpoint>) -> u64 {
        let (number, id) = (self.next_queue.get(), initiator.id());
        self.next_queue.set(number + 1);
        let mut queues = self.queues.borrow_mut();
        let known = queues.values().find(|queue| queue.initiator == id);
        let jobs = known.map(|queue| queue.jobs.clone()).unwrap_or_else(|| {
            let (jobs, waiting) = unbounded_channel();
            self.tasks.borrow().push(Box::pin(Rc::clone(self).serve(initiator, waiting)));
            jobs
        });
        queues.insert(number, Queue { initiator: id, jobs });
        number
    }

    /// Removes a queue. What waits in it is carried out, then its endpoint closes.
    pub(crate) fn remove_queue(&self, number: u64) -> Result<()> {
        let missing = || Error::new(DocaError::NOT_FOUND, format!("no receive queue {number}"));
        self.queues.borrow_mut().remove(&number).map(drop).ok_or_else(missing)
    }

    /// Puts a message into the queue of its initiator.
    pub(crate) fn enqueue(&self, from: EndpointId, job: Job) -> Result<()> {
        let waiting = self.waiting.get() + job.data.held();
        if waiting > MOST_WAITING {
            let text = format!("more than {MOST_WAITING} bytes wait for the host's memory");
            return Err(Error::new(DocaError::FULL, text));
        }
        let queues = self.queues.borrow();
        let queue = queues.values().find(|queue| queue.initiator == from);
        if queue.is_none_or(|queue| queue.jobs.send(job).is_err()) {
            return Err(Error::new(DocaError::NOT_FOUND, "its sender has no receive queue there"));
        }
        self.waiting.set(waiting);
        Ok(())
    }

    /// Registers memory, and gives its key.
    pub(crate) fn register(&self, cmd: &MrReg<'_>) -> Result<u64> {
        let region = Rc::new(Region::open(&self.host, cmd)?);
        Ok(self.regions.borrow_mut().insert(region).data().as_ffi())
    }

    /// Forgets memory, and gives it for the last time.
    pub(crate) fn deregister(&self, rkey: u64) -> Result<Rc<Region>> {
        let region = self.region(rkey)?;
        self.regions.borrow_mut().remove(KeyData::from_ffi(rkey).into());
        Ok(region)
    }

    /// Waits until everything that was written has arrived, then until the pointers of these
    /// regions have.
    pub(crate) async fn publish(&self, regions: &[Rc<Region>]) -> Result<()> {
        let mut memory = self.memory_after(true).await?;
        for region in regions {
            memory.written |= region.write_pointers().await?;
        }
        self.settle(&mut memory).await?;
        regions.iter().for_each(|region| region.pointers.borrow_mut().clear());
        Ok(())
    }

    /// Ends everything, and drops what is under way.
    pub(crate) fn end(&self) {
        self.queues.borrow_mut().clear();
        self.regions.borrow_mut().clear();
        // They hold this client.
        drop(self.tasks.take());
    }

    /// Polls the queues that were woken.
    pub(crate) fn run(&self) {
        let mut cx = TaskContext::from_waker(Waker::noop());
        let mut tasks = self.tasks.borrow_mut();
        while let Poll::Ready(Some(())) = tasks.poll_next_unpin(&mut cx) {}
    }

    /// Carries out an initiator's messages, one after the other.
    async fn serve(self: Rc<Self>, initiator: Rc<Endpoint>, mut jobs: UnboundedReceiver<Job>) {
        while let Some(job) = jobs.recv().await {
            self.waiting.set(self.waiting.get() - job.data.held());
            if let Err(error) = self.carry_out(&initiator, job).await {
                dropped(&error);
            }
        }
    }

    async fn carry_out(&self, initiator: &Endpoint, job: Job) -> Result<()> {
        let Job { request: Request { fence, operation, .. }, data } = job;
        match operation {
            Operation::Flush { flush_id } => {
                let regions: Vec<_> = self.regions.borrow().values().cloned().collect();
                self.publish(&regions).await?;
                let (answered, ()) =
                    initiator.am_send(AM_ID, &Flushed { flush_id }.header(), ()).await;
                answered.or_code(DocaError::DRIVER, "answering a flush")
            }
            Operation::Append { pointer, pointer_rkey, data_rkey } => {
                let target = self.region(data_rkey)?;
                let data = match data {
                    Bytes::Announced(announced) if target.imported().is_none() => {
                        Bytes::Here(fetch(announced, target.len).await?)
                    }
                    data => data,
                };
                let mut memory = self.memory_after(fence).await?;
                // Now, because they may have been deregistered meanwhile.
                let (pointers, target) = (self.region(pointer_rkey)?, self.region(data_rkey)?);
                let (at, len) = (pointers.pointer(pointer).await?, data.len());
                let offset = target.offset(at, len)?;
                match (data, target.imported()) {
                    (Bytes::Here(bytes), _) => {
                        self.write(&mut memory, &target, offset, bytes).await?;
                    }
                    (Bytes::Announced(announced), Some(imported)) => {
                        let (came, ()) = announced.recv_imported(imported, offset).await;
                        came.or_code(DocaError::DRIVER, "receiving into imported memory")?;
                    }
                    (Bytes::Announced(_), None) => unreachable!("it was fetched"),
                }
                pointers.pointers.borrow_mut().insert(pointer, at + len as u64);
                Ok(())
            }
            Operation::Scatter { count } => {
                let Bytes::Here(data) = data else { return Ok(()) };
                let parts = Part::read_all(count, &data);
                let parts = parts.or_code(DocaError::INVALID_VALUE, "reading a scatter")?;
                let mut memory = self.memory_after(fence).await?;
                let place = |part: &Part<'_>| {
                    let region = self.region(part.rkey)?;
                    let offset = region.offset(part.address, part.data.len())?;
                    Ok((region, offset, part.data.to_vec()))
                };
                // All of them, before the first is written.
                let placed = parts.iter().map(place).collect::<Result<Vec<_>>>()?;
                for (region, offset, bytes) in placed {
                    self.write(&mut memory, &region, offset, bytes).await?;
                }
                Ok(())
            }
        }
    }

    /// The client's memory, for one message; after a fence, once everything has arrived.
    async fn memory_after(&self, fence: bool) -> Result<MutexGuard<'_, Memory>> {
        let mut memory = self.memory.lock().await;
        if fence {
            self.settle(&mut memory).await?;
        }
        Ok(memory)
    }

    /// The region with this key.
    fn region(&self, rkey: u64) -> Result<Rc<Region>> {
        let (regions, key) = (self.regions.borrow(), KeyData::from_ffi(rkey));
        // Two numbers make one key, and only one of them was given out.
        let region = regions.get(key.into()).filter(|_| key.as_ffi() == rkey);
        region.cloned().ok_or_else(|| {
            Error::new(DocaError::NOT_FOUND, format!("no memory of this client has key {rkey:#x}"))
        })
    }

    /// Begins to write, and waits for the oldest write if there are many.
    async fn write(
        &self,
        memory: &mut Memory,
        region: &Region,
        offset: u64,
        bytes: Vec<u8>,
    ) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        memory.written = true;
        match region.put(offset, bytes).into_done() {
            Ok((done, _)) => done.or_code(DocaError::DRIVER, "writing to the host's memory")?,
            Err(write) => memory.writes.push_back(write),
        }
        // A write fails later only with the endpoint, and then no pointer is published.
        while memory.writes.len() > MOST_WRITES {
            if let Some(oldest) = memory.writes.pop_front() {
                drop(oldest.await);
            }
        }
        Ok(())
    }

    /// Waits until everything that was written has arrived.
    async fn settle(&self, memory: &mut Memory) -> Result<()> {
        if memory.written {
            let (flushed, ()) = self.host.flush().await;
            flushed.or_code(DocaError::DRIVER, "waiting for writes to the host's memory")?;
            *memory = Memory::default();
        }
        Ok(())
    }
}

/// Receives announced data, `most` bytes at most, into memory of this process.
async fn fetch(announced: Rendezvous, most: u64) -> Result<Vec<u8>> {
    let (mut room, len) = (Vec::new(), announced.len());
    if len as u64 > most || room.try_reserve_exact(len).is_err() {
        return Err(Error::new(DocaError::TOO_BIG, format!("no room for {len} bytes")));
    }
    room.resize(len, 0);
    let (came, bytes) = announced.recv(room).await;
    came.or_code(DocaError::DRIVER, "receiving from an initiator").map(|_| bytes)
}
