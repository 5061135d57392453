//! A client: a host, its memory, and the queues of its initiators.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Poll, Waker};

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, MutexGuard};
use ucx::{Endpoint, EndpointId, Rendezvous};
use urom_pdk::prelude::*;

use crate::clients::dropped;
use crate::region::Region;

/// How many writes, with their bytes, may be under way.
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
    /// One for each initiator.
    tasks: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
}

/// What is not known to have arrived in the host's memory.
#[derive(Default)]
struct Memory {
    writes: FuturesUnordered<LocalBoxFuture<'static, Result<()>>>,
    /// Whether anything was written since the last flush of the endpoint.
    is_unflushed: bool,
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

impl Client {
    pub(crate) fn new(connection: u64, host: Rc<Endpoint>) -> Client {
        Client {
            connection,
            host,
            regions: RefCell::default(),
            queues: RefCell::default(),
            next_queue: Cell::new(0),
            memory: Mutex::default(),
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
        let queues = self.queues.borrow();
        let queue = queues.values().find(|queue| queue.initiator == from);
        if queue.is_none_or(|queue| queue.jobs.send(job).is_err()) {
            return Err(Error::new(DocaError::NOT_FOUND, "its sender has no receive queue there"));
        }
        Ok(())
    }

    /// Registers memory, and gives its key.
    pub(crate) fn register(&self, region: Region) -> u64 {
        self.regions.borrow_mut().insert(Rc::new(region)).data().as_ffi()
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
            let pointers = region.pointers.borrow().clone();
            for (&address, value) in &pointers {
                let offset = region.offset(address, 8)?;
                self.write(&mut memory, region, offset, value.to_le_bytes().into()).await?;
            }
            // With a device this, and nothing less, makes the host's processor see them.
            if let Some((&last, _)) = pointers.last_key_value() {
                region.read(last).await?;
            }
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
            if let Err(error) = self.carry_out(&initiator, job).await {
                dropped(&error);
            }
        }
    }

    async fn carry_out(&self, initiator: &Endpoint, job: Job) -> Result<()> {
        let Job { request: Request { fence, operation, .. }, data } = job;
        match (operation, data) {
            (Operation::Flush { flush_id }, _) => {
                let regions: Vec<_> = self.regions.borrow().values().cloned().collect();
                self.publish(&regions).await?;
                let (answered, ()) =
                    initiator.am_send(AM_ID, &Flushed { flush_id }.header(), ()).await;
                answered.or_code(DocaError::DRIVER, "answering a flush")
            }
            (Operation::Append { pointer, pointer_rkey, data_rkey }, data) => {
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
                let in_place = pointers.in_place(pointer)?;
                let at = match in_place {
                    Some(word) => word.load(Ordering::Acquire),
                    None => pointers.pointer(pointer).await?,
                };
                let advanced = at + self.place(&mut memory, &target, at, data).await?;
                match in_place {
                    Some(word) => {
                        // The host sees the pointer at once, and must see the data then.
                        self.settle(&mut memory).await?;
                        word.store(advanced, Ordering::Release);
                    }
                    None => _ = pointers.pointers.borrow_mut().insert(pointer, advanced),
                }
                Ok(())
            }
            (Operation::Scatter { count }, Bytes::Here(data)) => {
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
            (Operation::Scatter { .. }, Bytes::Announced(_)) => {
                let text = "a scatter is too long for one message";
                Err(Error::new(DocaError::NOT_SUPPORTED, text))
            }
        }
    }

    /// Writes an append's data at an address, and gives their number.
    async fn place(
        &self,
        memory: &mut Memory,
        target: &Rc<Region>,
        at: u64,
        data: Bytes,
    ) -> Result<u64> {
        match data {
            Bytes::Here(bytes) => {
                let len = bytes.len();
                self.write(memory, target, target.offset(at, len)?, bytes).await?;
                Ok(len as u64)
            }
            Bytes::Announced(announced) => {
                let len = announced.len();
                let imported = target.imported().ok_or(DocaError::NOT_FOUND)?;
                let (came, ()) = announced.recv_imported(imported, target.offset(at, len)?).await;
                came.or_code(DocaError::DRIVER, "receiving into imported memory")
                    .map(|_| len as u64)
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

    /// Begins to write, and waits for earlier writes if there are many.
    async fn write(
        &self,
        memory: &mut Memory,
        region: &Rc<Region>,
        offset: u64,
        bytes: Vec<u8>,
    ) -> Result<()> {
        memory.is_unflushed |= region.is_remote();
        let mut write = Box::pin(Rc::clone(region).write(offset, bytes));
        match (&mut write).now_or_never() {
            Some(written) => written,
            None => {
                memory.writes.push(write);
                self.drain(memory, MOST_WRITES).await
            }
        }
    }

    /// Waits until everything that was written has arrived.
    async fn settle(&self, memory: &mut Memory) -> Result<()> {
        self.drain(memory, 0).await?;
        if memory.is_unflushed {
            let (flushed, ()) = self.host.flush().await;
            flushed.or_code(DocaError::DRIVER, "waiting for writes to the host's memory")?;
            memory.is_unflushed = false;
        }
        Ok(())
    }

    /// Waits until so many writes at most are under way.
    async fn drain(&self, memory: &mut Memory, most: usize) -> Result<()> {
        while memory.writes.len() > most {
            let written = memory.writes.next().await;
            if let Some(Err(error)) = written {
                // The host would see pointers beyond data that it has not.
                self.regions.borrow().values().for_each(|it| it.pointers.borrow_mut().clear());
                return Err(error);
            }
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
