//! A client: a host, its memory, and the queues of its initiators.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use ucx::{AmData, Endpoint, EndpointId, Message};
use urom_pdk::{PerHost, Region, Task, Tasks, peers::PeerData, prelude::*};

/// Limit in bytes of a queue's messages, and of a host's unflushed writes; smaller in tests.
pub(crate) const MOST_WAITING: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Approximate memory of a message or a write in addition to its data.
const BESIDE: usize = 256;

pub(crate) struct Client {
    pub(crate) connection: ConnectionId,
    pub(crate) host: Rc<Endpoint>,
    memory: PerHost<RegisteredRegion>,
    queues: RefCell<BTreeMap<u64, ReceiveQueue>>,
    next_queue: Cell<u64>,
    /// Bytes to flush on the host's endpoint. Locked while memory is used.
    unflushed: Mutex<usize>,
    /// The tasks of the queues, and of removed queues that still have messages.
    pub(crate) serving: RefCell<BTreeMap<u64, Task>>,
}

struct ReceiveQueue {
    initiator: EndpointId,
    /// Messages with their data and memory; `None` after the queue exceeded its limit.
    jobs: Option<UnboundedSender<(Request, PeerData, usize)>>,
    waiting: Rc<Cell<usize>>,
}

pub(crate) struct RegisteredRegion {
    pub(crate) region: Region,
    /// The values of pointers that appends have advanced, by their addresses.
    pub(crate) pointers: RefCell<BTreeMap<u64, u64>>,
}

impl RegisteredRegion {
    /// Returns the pointer at `address`, if the memory is mapped into this process.
    fn in_place(&self, address: u64) -> Result<Option<&AtomicU64>> {
        let Some(view) = self.region.mapped() else { return Ok(None) };
        Ok(Some(view.atomic_u64(self.region.offset(address, 8)?)?))
    }

    /// Returns the pointer at `address`: the client's value, unless it was advanced since.
    async fn pointer(&self, address: u64) -> Result<u64> {
        if let Some(word) = self.in_place(address)? {
            return Ok(word.load(Ordering::Acquire));
        }
        if let Some(value) = self.pointers.borrow().get(&address) {
            return Ok(*value);
        }
        self.read(address).await
    }

    async fn read(&self, address: u64) -> Result<u64> {
        let mut word = [0; 8];
        self.region.read(self.region.offset(address, 8)?, &mut word).await?;
        Ok(u64::from_le_bytes(word))
    }

    /// Advances the pointer at `address`; in mapped memory, the client sees it at once.
    fn advance(&self, address: u64, value: u64) -> Result<()> {
        match self.in_place(address)? {
            Some(word) => word.store(value, Ordering::Release),
            None => _ = self.pointers.borrow_mut().insert(address, value),
        }
        Ok(())
    }
}

impl Client {
    pub(crate) fn new(cx: &Context, host: Rc<Endpoint>, memory: PerHost<RegisteredRegion>) -> Self {
        let connection = cx.connection();
        let (queues, next_queue, unflushed, serving) = Default::default();
        Client { connection, host, memory, queues, next_queue, unflushed, serving }
    }

    pub(crate) fn add_queue(self: &Rc<Self>, tasks: &Tasks, initiator: Rc<Endpoint>) -> u64 {
        let (jobs, mut given) = unbounded_channel();
        let number = self.next_queue.replace(self.next_queue.get() + 1);
        let (waiting, id) = (Rc::<Cell<usize>>::default(), initiator.id());
        let queue = ReceiveQueue { initiator: id, jobs: Some(jobs), waiting: Rc::clone(&waiting) };
        let client = Rc::clone(self);
        let serving = tasks.spawn(async move {
            while let Some((request, data, takes)) = given.recv().await {
                if let Err(error) = client.carry_out(&initiator, request, data).await {
                    dropped(&error);
                }
                waiting.set(waiting.get() - takes);
            }
            client.serving.borrow_mut().remove(&number);
        });
        self.queues.borrow_mut().insert(number, queue);
        self.serving.borrow_mut().insert(number, serving);
        number
    }

    /// Removes a queue. Its messages are still executed, then its endpoint closes.
    pub(crate) fn remove_queue(&self, number: u64) -> Result<()> {
        let missing = || Error::new(DocaError::NOT_FOUND, format!("no receive queue {number}"));
        self.queues.borrow_mut().remove(&number).map(drop).ok_or_else(missing)
    }

    /// Executes or queues a message. A queue over the limit closes, or a flush would hide the loss.
    pub(crate) fn receive(&self, request: Request, message: Message<'_>) -> Result<()> {
        let Some(reply) = message.reply() else {
            bail!(DocaError::INVALID_VALUE, "it lacks UCP_AM_SEND_FLAG_REPLY");
        };
        let missing =
            || Error::new(DocaError::NOT_FOUND, "its sender lacks an open receive queue there");
        let mut queues = self.queues.borrow_mut();
        // The first one: a second queue is used when the host has removed the closed first.
        let queue = queues.values_mut().find(|queue| queue.initiator == reply.endpoint());
        let queue = queue.ok_or_else(missing)?;
        let jobs = queue.jobs.as_ref().ok_or_else(missing)?;
        let mut takes = BESIDE;
        if let AmData::Eager(bytes) = &message.data {
            if queue.waiting.get() == 0 && self.append_at_once(&request, bytes)? {
                return Ok(());
            }
            takes += bytes.len();
        }
        let waiting = queue.waiting.get() + takes;
        if waiting > MOST_WAITING {
            queue.jobs = None;
            bail!(
                DocaError::FULL,
                "more than {MOST_WAITING} bytes of its messages wait, so its receive queue closes: \
                 destroy it and make another, and flush more often"
            );
        }
        queue.waiting.set(waiting);
        jobs.send((request, PeerData::copied(message.data)?, takes)).map_err(|_| missing())
    }

    /// Executes an append to mapped memory at once, with one copy, if the client's memory is idle.
    fn append_at_once(&self, request: &Request, bytes: &[u8]) -> Result<bool> {
        let Operation::Append { pointer, pointer_rkey, data_rkey } = request.operation else {
            return Ok(false);
        };
        // Earlier writes must arrive first.
        if self.unflushed.try_lock().is_ok_and(|unflushed| *unflushed == 0) {
            let (pointers, target) = (self.registered(pointer_rkey)?, self.registered(data_rkey)?);
            if let (Some(word), Some(view)) = (pointers.in_place(pointer)?, target.region.mapped())
            {
                let (at, len) = (word.load(Ordering::Acquire), bytes.len() as u64);
                view.copy_from(target.region.offset(at, len)?, bytes)?;
                word.store(at + len, Ordering::Release);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until all writes have arrived, then until the pointers of these regions have.
    pub(crate) async fn publish(&self, all: &[Rc<RegisteredRegion>]) -> Result<()> {
        let mut unflushed = self.unflushed.lock().await;
        self.settle(&mut unflushed).await?;
        for registered in all {
            let pointers = registered.pointers.borrow().clone();
            for (&address, value) in &pointers {
                let word = PeerData::Here(value.to_le_bytes().into());
                self.put(&mut unflushed, &registered.region, address, word).await?;
            }
            // With a device, only a read makes the host's processor see the pointers.
            if let Some((&last, _)) = pointers.last_key_value() {
                registered.read(last).await?;
            }
        }
        self.settle(&mut unflushed).await?;
        all.iter().for_each(|registered| registered.pointers.borrow_mut().clear());
        Ok(())
    }

    async fn carry_out(&self, to: &Endpoint, request: Request, data: PeerData) -> Result<()> {
        if request.fence {
            self.settle(&mut *self.unflushed.lock().await).await?;
        }
        match request.operation {
            Operation::Flush { flush_id } => {
                self.publish(&self.memory.all(self.connection)).await?;
                let (answered, ()) = to.am_send(AM_ID, &Flushed { flush_id }.header(), ()).await;
                answered.or_code(DocaError::DRIVER, "answering a flush")
            }
            Operation::Append { pointer, pointer_rkey, data_rkey } => {
                self.append(pointer, [pointer_rkey, data_rkey], data).await
            }
            Operation::Scatter { count } => self.scatter(count, data).await,
        }
    }

    async fn append(&self, pointer: u64, rkeys: [u64; 2], mut data: PeerData) -> Result<()> {
        let target = self.registered(rkeys[1])?;
        if !target.region.has_device() {
            // Before the client's memory is locked: a stopped initiator does not delay others.
            let most = usize::try_from(target.region.len()).unwrap_or(usize::MAX);
            data = PeerData::Here(data.into_bytes(most).await?);
        }
        let mut unflushed = self.unflushed.lock().await;
        // After the wait, because they may have been deregistered meanwhile.
        let [pointers, target] = [self.registered(rkeys[0])?, self.registered(rkeys[1])?];
        let (at, len) = (pointers.pointer(pointer).await?, data.len() as u64);
        self.put(&mut unflushed, &target.region, at, data).await?;
        if pointers.region.mapped().is_some() {
            // The host sees the pointer at once, so the data must be there.
            self.settle(&mut unflushed).await?;
        }
        pointers.advance(pointer, at + len)
    }

    async fn scatter(&self, count: u64, data: PeerData) -> Result<()> {
        let PeerData::Here(data) = data else {
            bail!(DocaError::NOT_SUPPORTED, "a scatter exceeds one message");
        };
        let parts = Part::read_all(count, &data);
        let parts = parts.or_code(DocaError::INVALID_VALUE, "reading a scatter")?;
        let mut unflushed = self.unflushed.lock().await;
        let mut targets = Vec::new();
        // All of them, before the first is written.
        for part in &parts {
            let target = self.registered(part.rkey)?;
            target.region.check_write()?;
            target.region.offset(part.address, part.data.len() as u64)?;
            targets.push(target);
        }
        for (target, part) in targets.iter().zip(parts) {
            let data = PeerData::Here(part.data.to_vec());
            self.put(&mut unflushed, &target.region, part.address, data).await?;
        }
        Ok(())
    }

    /// Writes to a region, after a flush if unflushed writes reach the limit.
    async fn put(&self, unflushed: &mut usize, to: &Region, at: u64, data: PeerData) -> Result<()> {
        let takes = BESIDE + data.len();
        if *unflushed + takes > MOST_WAITING {
            self.settle(unflushed).await?;
        }
        if to.receive(to.offset(at, data.len() as u64)?, data).await? {
            *unflushed += takes;
        }
        Ok(())
    }

    pub(crate) fn registered(&self, rkey: u64) -> Result<Rc<RegisteredRegion>> {
        let text = || format!("no memory of this client has key {rkey:#x}");
        let missing = || Error::new(DocaError::NOT_FOUND, text());
        self.memory.find(self.connection, rkey).ok_or_else(missing)
    }

    async fn settle(&self, unflushed: &mut usize) -> Result<()> {
        if *unflushed > 0 {
            let (flushed, ()) = self.host.flush().await;
            flushed.or_code(DocaError::DRIVER, "waiting for writes to the host's memory")?;
            *unflushed = 0;
        }
        Ok(())
    }
}

/// Logs why a message was dropped. Its initiator gets no answer.
pub(crate) fn dropped(error: &Error) {
    limited!(log::warn!("a message of an initiator was dropped: {error}"));
}
