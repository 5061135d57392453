//! A client: a host, its memory, and the queues of its initiators.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, MutexGuard};
use ucx::{Data, Endpoint, EndpointId};
use urom_pdk::{Task, Tasks, prelude::*};

use crate::region::{Bytes, Region};

/// How many bytes may wait for an initiator's turn, and how many may be on their way to a host.
/// Tests of the limit need not fill so much.
pub(crate) const MOST_WAITING: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// What a message or a write takes beside its data, about: UCX's part and this plugin's.
const BESIDE: usize = 256;

pub(crate) struct Client {
    pub(crate) connection: u64,
    /// To the host's UCX worker.
    pub(crate) host: Rc<Endpoint>,
    regions: RefCell<SlotMap<DefaultKey, Rc<Region>>>,
    queues: RefCell<BTreeMap<u64, Queue>>,
    next_queue: Cell<u64>,
    /// Held while memory is used: whoever waits for it is paused. The memory that writes take which
    /// arrive by a flush of the host's endpoint.
    unflushed: Mutex<usize>,
    tasks: Tasks,
    /// Those that carry out messages, by the queue's number, which may be removed.
    serving: RefCell<BTreeMap<u64, Task>>,
}

/// An initiator, and who carries out its messages.
struct Queue {
    initiator: EndpointId,
    /// None once too much waited.
    jobs: Option<UnboundedSender<Job>>,
    /// The memory of the messages that are not carried out yet.
    waiting: Rc<Cell<usize>>,
}

/// A message that waits for its turn, and the memory that it takes.
type Job = (Request, Bytes, usize);

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
        let waiting = Rc::default();
        let serving =
            Rc::clone(self).serve(number, Rc::clone(&initiator), Rc::clone(&waiting), given);
        let queue = Queue { initiator: initiator.id(), jobs: Some(jobs), waiting };
        self.queues.borrow_mut().insert(number, queue);
        let serving = self.tasks.spawn(serving);
        self.serving.borrow_mut().insert(number, serving);
        number
    }

    /// Removes a queue. What waits in it is carried out, then its endpoint closes.
    pub(crate) fn remove_queue(&self, number: u64) -> Result<()> {
        let missing = || Error::new(DocaError::NOT_FOUND, format!("no receive queue {number}"));
        self.queues.borrow_mut().remove(&number).map(drop).ok_or_else(missing)
    }

    /// Carries a message out, or puts it into the queue of its initiator. The queue takes no more
    /// once too much waits there: a flush that overtakes a lost message would be answered.
    pub(crate) fn receive(&self, from: EndpointId, request: Request, data: Data<'_>) -> Result<()> {
        let mut queues = self.queues.borrow_mut();
        let missing =
            || Error::new(DocaError::NOT_FOUND, "its sender has no open receive queue there");
        // The first alone: another takes nothing before the host has removed one that is closed.
        let queue = queues.values_mut().find(|queue| queue.initiator == from);
        let queue = queue.filter(|queue| queue.jobs.is_some()).ok_or_else(missing)?;
        let here = match &data {
            Data::Eager(bytes) => {
                if queue.waiting.get() == 0 && self.append_at_once(&request, bytes)? {
                    return Ok(());
                }
                bytes.len()
            }
            Data::Rendezvous(_) => 0,
        };
        let takes = BESIDE + here;
        let waiting = queue.waiting.get() + takes;
        if waiting > MOST_WAITING {
            queue.jobs = None;
            let text = format!(
                "more than {MOST_WAITING} bytes of its messages wait, so its receive queue closes: \
                 destroy it and make another, and flush more often"
            );
            return Err(Error::new(DocaError::FULL, text));
        }
        let data = match data {
            Data::Eager(bytes) => Bytes::Here(bytes.to_vec()),
            Data::Rendezvous(announced) => Bytes::Announced(announced),
        };
        queue.waiting.set(waiting);
        let jobs = queue.jobs.as_ref().ok_or_else(missing)?;
        jobs.send((request, data, takes)).map_err(|_| missing())
    }

    /// Carries out an append to memory that is mapped here, if nothing else is at the client's
    /// memory. Whether it did: no message has to wait for its turn and no byte is copied twice.
    fn append_at_once(&self, request: &Request, bytes: &[u8]) -> Result<bool> {
        let Operation::Append { pointer, pointer_rkey, data_rkey } = request.operation else {
            return Ok(false);
        };
        // Whatever has not arrived, arrives first.
        if self.unflushed.try_lock().is_ok_and(|unflushed| *unflushed == 0) {
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
                let word = Bytes::Here(value.to_le_bytes().into());
                self.write(&mut unflushed, region, address, word).await?;
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
        waiting: Rc<Cell<usize>>,
        mut jobs: UnboundedReceiver<Job>,
    ) {
        while let Some((request, data, takes)) = jobs.recv().await {
            if let Err(error) = self.carry_out(&initiator, request, data).await {
                dropped(&error);
            }
            waiting.set(waiting.get() - takes);
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
        self.write(&mut unflushed, &target, at, data).await?;
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
            let data = Bytes::Here(part.data.to_vec());
            self.write(&mut unflushed, region, part.address, data).await?;
        }
        Ok(())
    }

    /// Writes to a region, once what is on its way leaves room for it.
    async fn write(
        &self,
        unflushed: &mut usize,
        region: &Region,
        address: u64,
        data: Bytes,
    ) -> Result<()> {
        let takes = BESIDE + data.len();
        if *unflushed + takes > MOST_WAITING {
            self.settle(unflushed).await?;
        }
        if region.write(address, data).await? {
            *unflushed += takes;
        }
        Ok(())
    }

    /// The client's memory, for one message; after a fence, once everything has arrived.
    async fn memory_after(&self, fence: bool) -> Result<MutexGuard<'_, usize>> {
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
    async fn settle(&self, unflushed: &mut usize) -> Result<()> {
        if *unflushed > 0 {
            let (flushed, ()) = self.host.flush().await;
            flushed.or_code(DocaError::DRIVER, "waiting for writes to the host's memory")?;
            *unflushed = 0;
        }
        Ok(())
    }
}

/// Logs why a message was dropped: the first ones of this process, then each whose number is a
/// power of two. Its initiator gets no answer.
pub(crate) fn dropped(error: &Error) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    if number <= 8 || number.is_power_of_two() {
        log::warn!("message {number} of those that fail, of an initiator: {error}");
    }
}
