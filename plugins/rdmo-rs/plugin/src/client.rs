//! A client: a host, its memory, and the queues of its initiators.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, MutexGuard};
use ucx::{Data, Endpoint, EndpointId};
use urom_pdk::{Task, Tasks, prelude::*};

use crate::clients::dropped;
use crate::region::{Bytes, Region};

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
    tasks: Tasks,
    /// Those that carry out messages, by the queue's number, which may be removed.
    serving: RefCell<BTreeMap<u64, Task>>,
}

/// An initiator, and who carries out its messages.
struct Queue {
    initiator: EndpointId,
    jobs: UnboundedSender<Job>,
    /// Each message that is not carried out yet has one of these, too.
    waiting: Rc<()>,
}

/// A message that waits for its turn.
type Job = (Request, Bytes, Rc<()>);

impl Client {
    pub(crate) fn new(connection: u64, host: Rc<Endpoint>, tasks: &Tasks) -> Client {
        Client {
            connection,
            host,
            regions: RefCell::default(),
            queues: RefCell::default(),
            next_queue: Cell::new(0),
            unflushed: Mutex::default(),
            tasks: tasks.clone(),
            serving: RefCell::default(),
        }
    }

    /// Makes a queue for an initiator, and gives its number.
    pub(crate) fn add_queue(self: &Rc<Self>, initiator: Rc<Endpoint>) -> u64 {
        let (jobs, given) = unbounded_channel();
        let number = self.next_queue.replace(self.next_queue.get() + 1);
        let queue = Queue { initiator: initiator.id(), jobs, waiting: Rc::default() };
        self.queues.borrow_mut().insert(number, queue);
        let serving = self.tasks.spawn(Rc::clone(self).serve(number, initiator, given));
        self.serving.borrow_mut().insert(number, serving);
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
                if Rc::strong_count(&queue.waiting) == 1 && self.append_at_once(&request, bytes)? {
                    return Ok(());
                }
                Bytes::Here(bytes.to_vec())
            }
            Data::Rendezvous(announced) => Bytes::Announced(announced),
        };
        let job = (request, data, Rc::clone(&queue.waiting));
        queue.jobs.send(job).map_err(|_| missing())
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
                *unflushed |=
                    region.write(address, Bytes::Here(value.to_le_bytes().into())).await?;
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
        self.serving.take().values().for_each(Task::cancel);
    }

    /// Carries out an initiator's messages, one after the other.
    async fn serve(
        self: Rc<Self>,
        number: u64,
        initiator: Rc<Endpoint>,
        mut jobs: UnboundedReceiver<Job>,
    ) {
        while let Some((request, data, _waiting)) = jobs.recv().await {
            if let Err(error) = self.carry_out(&initiator, request, data).await {
                dropped(&error);
            }
        }
        self.serving.borrow_mut().remove(&number);
    }

    async fn carry_out(&self, to: &Endpoint, request: Request, data: Bytes) -> Result<()> {
        let Request { fence, operation, .. } = request;
        match (operation, data) {
            (Operation::Flush { flush_id }, _) => {
                let regions: Vec<_> = self.regions.borrow().values().cloned().collect();
                self.publish(&regions).await?;
                let (answered, ()) = to.am_send(AM_ID, &Flushed { flush_id }.header(), ()).await;
                answered.or_code(DocaError::DRIVER, "answering a flush")
            }
            (Operation::Append { pointer, pointer_rkey, data_rkey }, data) => {
                self.append(fence, pointer, [pointer_rkey, data_rkey], data).await
            }
            (Operation::Scatter { count }, Bytes::Here(data)) => {
                let parts = Part::read_all(count, &data);
                let parts = parts.or_code(DocaError::INVALID_VALUE, "reading a scatter")?;
                self.scatter(fence, &parts).await
            }
            (Operation::Scatter { .. }, Bytes::Announced(_)) => {
                let text = "a scatter is too long for one message";
                Err(Error::new(DocaError::NOT_SUPPORTED, text))
            }
        }
    }

    async fn append(&self, fence: bool, pointer: u64, rkeys: [u64; 2], data: Bytes) -> Result<()> {
        // Before the client's memory is held: an initiator that stops keeps no other waiting.
        let data = self.region(rkeys[1])?.fetch(data).await?;
        let mut unflushed = self.memory_after(fence).await?;
        // Now, because they may have been deregistered meanwhile.
        let [pointers, target] = [self.region(rkeys[0])?, self.region(rkeys[1])?];
        let (at, len) = (pointers.pointer(pointer).await?, data.len() as u64);
        *unflushed |= target.write(at, data).await?;
        if pointers.mapped().is_some() {
            // The host sees the pointer at once, and must see the data then.
            self.settle(&mut unflushed).await?;
        }
        pointers.advance(pointer, at + len)
    }

    async fn scatter(&self, fence: bool, parts: &[Part<'_>]) -> Result<()> {
        let mut unflushed = self.memory_after(fence).await?;
        let place = |part: &Part<'_>| {
            let region = self.region(part.rkey)?;
            region.check_write(part.address, part.data.len())?;
            Ok(region)
        };
        // All of them, before the first is written.
        let regions = parts.iter().map(place).collect::<Result<Vec<_>>>()?;
        for (region, part) in regions.iter().zip(parts) {
            *unflushed |= region.write(part.address, Bytes::Here(part.data.to_vec())).await?;
        }
        Ok(())
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
