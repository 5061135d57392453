//! A client: a host, its memory, and the queues of its initiators.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, MutexGuard};
use ucx::{Data, Endpoint, EndpointId, Rendezvous};
use urom_pdk::prelude::*;

use crate::clients::dropped;
use crate::region::Region;

pub(crate) struct Client {
    pub(crate) connection: u64,
    /// To the host's UCX worker.
    pub(crate) host: Rc<Endpoint>,
    regions: RefCell<SlotMap<DefaultKey, Rc<Region>>>,
    queues: RefCell<BTreeMap<u64, Queue>>,
    next_queue: Cell<u64>,
    /// Held while memory is used: whoever waits for it is paused. Whether anything was written
    /// that arrives by a flush of the host's endpoint.
    unflushed: Mutex<bool>,
    /// One for each initiator.
    tasks: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
    /// Whether one of them may move: looking at all of them takes as long as a message.
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// An initiator, and who carries out its messages.
struct Queue {
    initiator: EndpointId,
    jobs: UnboundedSender<Job>,
    /// How many messages are not carried out yet.
    waiting: Rc<Cell<usize>>,
}

/// A message that waits for its turn.
type Job = (Request, Bytes);

/// A message's data.
enum Bytes {
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
            unflushed: Mutex::default(),
            tasks: RefCell::default(),
            woken: Arc::default(),
        }
    }

    /// Makes a queue for an initiator, and gives its number.
    pub(crate) fn add_queue(self: &Rc<Self>, initiator: Rc<Endpoint>) -> u64 {
        let ((jobs, given), waiting) = (unbounded_channel(), Rc::default());
        let number = self.next_queue.replace(self.next_queue.get() + 1);
        let queue = Queue { initiator: initiator.id(), jobs, waiting: Rc::clone(&waiting) };
        self.queues.borrow_mut().insert(number, queue);
        self.tasks.borrow().push(Box::pin(Rc::clone(self).serve(initiator, given, waiting)));
        self.woken.wake_by_ref();
        number
    }

    /// Removes a queue. What waits in it is carried out, then its endpoint closes.
    pub(crate) fn remove_queue(&self, number: u64) -> Result<()> {
        let missing = || Error::new(DocaError::NOT_FOUND, format!("no receive queue {number}"));
        self.queues.borrow_mut().remove(&number).map(drop).ok_or_else(missing)
    }

    /// Carries a message out, or puts it into the queue of its initiator.
    pub(crate) fn receive(&self, from: EndpointId, request: Request, data: Data<'_>) -> Result<()> {
        let queues = self.queues.borrow();
        let missing = || Error::new(DocaError::NOT_FOUND, "its sender has no receive queue there");
        let queue = queues.values().find(|queue| queue.initiator == from).ok_or_else(missing)?;
        let data = match data {
            Data::Eager(bytes) => {
                if queue.waiting.get() == 0 && self.append_at_once(&request, bytes)? {
                    return Ok(());
                }
                Bytes::Here(bytes.to_vec())
            }
            Data::Rendezvous(announced) => Bytes::Announced(announced),
        };
        queue.jobs.send((request, data)).map_err(|_| missing())?;
        queue.waiting.set(queue.waiting.get() + 1);
        Ok(())
    }

    /// Carries out an append to memory that is mapped here, if nothing else is at the client's
    /// memory. Whether it did: no message has to wait for its turn and no byte is copied twice.
    fn append_at_once(&self, request: &Request, bytes: &[u8]) -> Result<bool> {
        let Operation::Append { pointer, pointer_rkey, data_rkey } = request.operation else {
            return Ok(false);
        };
        // Whatever has not arrived, arrives first.
        if self.unflushed.try_lock().is_ok_and(|unflushed| !*unflushed) {
            let (pointers, target) = (self.region(pointer_rkey)?, self.region(data_rkey)?);
            if let (Some(word), Some(view)) = (pointers.in_place(pointer)?, target.mapped()) {
                let at = word.load(Ordering::Acquire);
                view.copy_from(target.offset(at, bytes.len())?, bytes)?;
                word.store(at + bytes.len() as u64, Ordering::Release);
                return Ok(true);
            }
        }
        Ok(false)
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
        let mut unflushed = self.memory_after(true).await?;
        for region in regions {
            let pointers = region.pointers.borrow().clone();
            for (&address, value) in &pointers {
                let offset = region.offset(address, 8)?;
                *unflushed |= region.write(offset, value.to_le_bytes().into()).await?;
            }
            // With a device this, and nothing less, makes the host's processor see them.
            if let Some((&last, _)) = pointers.last_key_value() {
                region.read(last).await?;
            }
        }
        self.settle(&mut unflushed).await?;
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
        if !self.woken.0.load(Ordering::Acquire) {
            return;
        }
        self.woken.0.store(false, Ordering::Release);
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut cx = TaskContext::from_waker(&waker);
        let mut tasks = self.tasks.borrow_mut();
        while let Poll::Ready(Some(())) = tasks.poll_next_unpin(&mut cx) {}
    }

    /// Carries out an initiator's messages, one after the other.
    async fn serve(
        self: Rc<Self>,
        initiator: Rc<Endpoint>,
        mut jobs: UnboundedReceiver<Job>,
        waiting: Rc<Cell<usize>>,
    ) {
        while let Some(job) = jobs.recv().await {
            if let Err(error) = self.carry_out(&initiator, job).await {
                dropped(&error);
            }
            waiting.set(waiting.get() - 1);
        }
    }

    async fn carry_out(&self, initiator: &Endpoint, job: Job) -> Result<()> {
        let (Request { fence, operation, .. }, data) = job;
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
                let mut unflushed = self.memory_after(fence).await?;
                // Now, because they may have been deregistered meanwhile.
                let (pointers, target) = (self.region(pointer_rkey)?, self.region(data_rkey)?);
                let in_place = pointers.in_place(pointer)?;
                let at = match in_place {
                    Some(word) => word.load(Ordering::Acquire),
                    None => pointers.pointer(pointer).await?,
                };
                let len = match &data {
                    Bytes::Here(bytes) => bytes.len(),
                    Bytes::Announced(announced) => announced.len(),
                };
                let offset = target.offset(at, len)?;
                match (data, target.imported()) {
                    (Bytes::Here(bytes), _) => *unflushed |= target.write(offset, bytes).await?,
                    (Bytes::Announced(announced), Some(imported)) => {
                        let (came, ()) = announced.recv_imported(imported, offset).await;
                        came.or_code(DocaError::DRIVER, "receiving into imported memory")?;
                    }
                    (Bytes::Announced(_), None) => unreachable!("it was fetched"),
                }
                let advanced = at + len as u64;
                match in_place {
                    Some(word) => {
                        // The host sees the pointer at once, and must see the data then.
                        self.settle(&mut unflushed).await?;
                        word.store(advanced, Ordering::Release);
                    }
                    None => _ = pointers.pointers.borrow_mut().insert(pointer, advanced),
                }
                Ok(())
            }
            (Operation::Scatter { count }, Bytes::Here(data)) => {
                let parts = Part::read_all(count, &data);
                let parts = parts.or_code(DocaError::INVALID_VALUE, "reading a scatter")?;
                let mut unflushed = self.memory_after(fence).await?;
                let place = |part: &Part<'_>| {
                    let region = self.region(part.rkey)?;
                    let offset = region.offset(part.address, part.data.len())?;
                    region.is_writable()?;
                    Ok((region, offset, part.data.to_vec()))
                };
                // All of them, before the first is written.
                let placed = parts.iter().map(place).collect::<Result<Vec<_>>>()?;
                for (region, offset, bytes) in placed {
                    *unflushed |= region.write(offset, bytes).await?;
                }
                Ok(())
            }
            (Operation::Scatter { .. }, Bytes::Announced(_)) => {
                let text = "a scatter is too long for one message";
                Err(Error::new(DocaError::NOT_SUPPORTED, text))
            }
        }
    }

    /// The client's memory, for one message; after a fence, once everything has arrived.
    async fn memory_after(&self, fence: bool) -> Result<MutexGuard<'_, bool>> {
        let mut unflushed = self.unflushed.lock().await;
        if fence {
            self.settle(&mut unflushed).await?;
        }
        Ok(unflushed)
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

    /// Waits until everything that was written has arrived.
    async fn settle(&self, unflushed: &mut bool) -> Result<()> {
        if *unflushed {
            let (flushed, ()) = self.host.flush().await;
            flushed.or_code(DocaError::DRIVER, "waiting for writes to the host's memory")?;
            *unflushed = false;
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
