//! An instance of the plugin, as a host uses it.

use std::rc::Rc;
use std::time::Duration;

use rdma_protocol::{
    Access, Added, Client, Limits, Protocol, ReadDone, Received, Sent, State, Swapped, Written,
};
use urom_abi::protocol::Reply;
use urom_host::memory::{Mmap, ShareGuard};
use urom_host::{Completion, DocaError, Host, Result, Worker};

use crate::gate::Gate;
use crate::local::{Destination, Ranges, Sealed, Source};
use crate::operation::Operation;
use crate::registered::Registered;
use crate::remote::{RemotePlace, refused};

/// Submits a task, with the deadline of the instance if it has one.
macro_rules! submit {
    ($this:ident, $task:expr) => {{
        let task = $task;
        match $this.deadline {
            Some(limit) => task.deadline(limit).submit(),
            None => task.submit(),
        }
    }};
}

/// One end of a connection between two hosts (`doca_rdma`). The crate's page shows its use.
///
/// A clone is a second handle. When the last one is dropped, the worker destroys the instance. Its
/// operations are carried out and complete in the order of the calls.
///
/// It stays on the thread of its worker.
///
/// # Errors of operations
/// An operation that cannot be submitted leaves the instance as it is: `BAD_STATE` in another state
/// than [`Connected`](State::Connected), `NOT_PERMITTED` for local memory without
/// `LOCAL_READ_WRITE`, `TOO_BIG` beyond the [limits](Self::limits), `FULL` for too many at a time.
///
/// One that fails later brings both ends to the state [`Error`](State::Error): `NOT_PERMITTED`,
/// `NOT_FOUND` or `INVALID_VALUE` for the other end's memory, `IO_FAILED` for a message that does
/// not fit its receive. Everything else that is not complete ends with `CONNECTION_ABORTED` and the
/// text of the first failure. So it does when the other end is gone.
#[derive(Clone, Debug)]
pub struct Rdma {
    inner: Rc<Inner>,
    deadline: Option<Duration>,
}

struct Inner {
    worker: Worker,
    client: Client<Host>,
    registered: Rc<Registered>,
    gate: Rc<Gate>,
    rdma: u64,
    limits: Limits,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("rdma", &self.rdma).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The worker's host may be gone, and then so is the instance.
        let _ = self.client.task_destroy(&self.worker, self.rdma).submit_with(|_| {});
    }
}

/// Why an instance is in the state [`Error`](State::Error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The code of the first operation that failed.
    pub code: DocaError,
    /// What failed.
    pub why: String,
}

/// The settings of an instance.
#[derive(Debug)]
#[must_use = "`start` makes the instance"]
pub struct Builder<'a> {
    worker: &'a Worker,
    permissions: Access,
}

impl Builder<'_> {
    /// What the other end may do with memory that permits it, too (`doca_rdma_set_permissions`):
    /// `RDMA_READ`, `RDMA_WRITE`, `RDMA_ATOMIC`. Nothing by default.
    pub fn permissions(mut self, permissions: Access) -> Self {
        self.permissions = permissions;
        self
    }

    /// Creates the instance and brings it to the state [`Init`](State::Init) (`doca_rdma_create`,
    /// `doca_ctx_start`).
    ///
    /// # Errors
    /// `NOT_FOUND` or `UNSUPPORTED_VERSION` when the service lacks the plugin, `INVALID_VALUE` for
    /// other permissions, `FULL` when the host has as many instances as it may.
    pub async fn start(self) -> Result<Rdma> {
        let worker = self.worker.clone();
        let client = worker.service().plugin::<Protocol>()?;
        let permissions = self.permissions.bits();
        let created = client.task_create(&worker).permissions(permissions).submit()?.await?;
        let registered = worker.attached::<Registered>();
        let (rdma, limits) = (created.rdma, created.limits);
        let gate = Rc::default();
        let inner = Rc::new(Inner { worker, client, registered, gate, rdma, limits });
        let rdma = Rdma { inner, deadline: None };
        rdma.start().await?;
        Ok(rdma)
    }
}

impl Rdma {
    /// Begins to make an instance in a worker that runs the plugin `worker_rdma`.
    pub fn builder(worker: &Worker) -> Builder<'_> {
        Builder { worker, permissions: Access::empty() }
    }

    /// The same instance, whose operations have a deadline, counted from their submission: one that
    /// is not complete by then ends with `TIME_OUT` here. It stays in its place at the worker,
    /// which may complete it later. So the bytes of its destination may still change, until the
    /// instance was [stopped](Self::stop).
    #[must_use]
    pub fn within(&self, limit: Duration) -> Rdma {
        Rdma { inner: Rc::clone(&self.inner), deadline: Some(limit) }
    }

    /// What the plugin allows.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.inner.limits
    }

    /// Brings the instance from RESET to INIT (`doca_ctx_start`).
    pub async fn start(&self) -> Result<()> {
        let inner = &*self.inner;
        inner.client.task_start(&inner.worker, inner.rdma).submit()?.await?;
        Ok(())
    }

    /// Brings the instance to RESET (`doca_ctx_stop`). Operations that are not complete end with
    /// `SHUTDOWN`.
    pub async fn stop(&self) -> Result<()> {
        let inner = &*self.inner;
        inner.client.task_stop(&inner.worker, inner.rdma).submit()?.await?;
        Ok(())
    }

    /// The details for the other end (`doca_rdma_export`). They are good until the instance stops
    /// or fails. They are a secret: whoever has those of both ends can speak for either.
    ///
    /// # Errors
    /// `BAD_STATE` in another state than INIT.
    pub async fn export(&self) -> Result<Vec<u8>> {
        let inner = &*self.inner;
        let exported = inner.client.task_export(&inner.worker, inner.rdma).submit()?.await?;
        Ok(exported.details.to_vec())
    }

    /// Connects to the other end (`doca_rdma_connect`), and brings the instance to CONNECTED. It
    /// does not wait for the other end: operations do.
    ///
    /// # Errors
    /// `BAD_STATE` in another state than INIT; `INVALID_VALUE` or `UNSUPPORTED_VERSION` for bytes
    /// that no other end exported; `NOT_CONNECTED` when UCX has no way there.
    pub async fn connect(&self, details: &[u8]) -> Result<()> {
        let inner = &*self.inner;
        inner.client.task_connect(&inner.worker, inner.rdma, details).submit()?.await?;
        Ok(())
    }

    /// The state (`doca_ctx_get_state`), and in ERROR what failed first.
    pub async fn state(&self) -> Result<(State, Option<Failed>)> {
        let inner = &*self.inner;
        let is = inner.client.task_query(&inner.worker, inner.rdma).submit()?.await?;
        let why = String::from_utf8_lossy(&is.why).into_owned();
        let failed = Failed { code: DocaError(is.failure), why };
        Ok((is.state, (is.state == State::Error).then_some(failed)))
    }

    /// Shares a map with the worker, so that operations on it are submitted by their calls. An
    /// operation shares its local memory by itself, but is submitted later then: see [`Operation`].
    pub async fn register(&self, map: &Mmap) -> Result<()> {
        let inner = &*self.inner;
        inner.registered.share(&inner.worker, &map.begin_share()).await
    }

    /// Registers a map and exports it for the other end (`doca_mmap_export_rdma`).
    /// [`release`](Self::release) ends its use.
    ///
    /// # Errors
    /// `NOT_PERMITTED` if the map permits others nothing, and those of
    /// [`Share::share`](urom_host::memory::Share::share).
    pub async fn export_mmap(&self, map: &Mmap) -> Result<Vec<u8>> {
        let others = Access::RDMA_READ | Access::RDMA_WRITE | Access::RDMA_ATOMIC;
        if !map.access().intersects(others) {
            return Err(refused(
                DocaError::NOT_PERMITTED,
                "exporting memory to the other end",
                "it has none of RDMA_READ, RDMA_WRITE and RDMA_ATOMIC",
            ));
        }
        let exported = map.export()?;
        self.register(map).await?;
        Ok(exported)
    }

    /// Ends the use of a map by this worker, once the operations on it are over: then
    /// [`Mmap::bytes`] gives the memory as a slice again.
    pub async fn release(&self, map: &Mmap) -> Result<()> {
        match self.inner.registered.unshare(map) {
            Some(ended) => ended.await,
            None => Ok(()),
        }
    }

    /// Receives a message (`doca_rdma_task_receive`), in the states INIT and CONNECTED. Messages go
    /// to receives in the order of the calls. A message that is longer than the destination fails
    /// both ends with `IO_FAILED`.
    pub fn receive<D>(&self, destination: D) -> Operation<Received, D>
    where
        D: Destination,
    {
        let mut list = Ranges::new();
        destination.rooms(&mut |range| list.push(range));
        let maps = self.new_maps(&destination);
        self.run(maps, destination, move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_receive(worker, *rdma, &list[..]))
        })
    }

    /// Sends a message to the next receive of the other end (`doca_rdma_task_send`).
    pub fn send(&self, source: impl Source) -> Operation<Sent> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_send(worker, *rdma, &list[..]))
        })
    }

    /// As [`send`](Self::send), with a number for the receiver (`doca_rdma_task_send_imm`).
    pub fn send_imm(&self, source: impl Source, immediate: u32) -> Operation<Sent> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            let immediate = immediate.to_be_bytes();
            submit!(this, client.task_send_imm(worker, *rdma, immediate, &list[..]))
        })
    }

    /// Writes to the other end's memory (`doca_rdma_task_write`).
    pub fn write(&self, source: impl Source, target: RemotePlace) -> Operation<Written> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_write(worker, *rdma, target.place, &list[..]))
        })
    }

    /// As [`write`](Self::write), and completes a receive of the other end with a number
    /// (`doca_rdma_task_write_imm`).
    pub fn write_imm(
        &self,
        source: impl Source,
        target: RemotePlace,
        immediate: u32,
    ) -> Operation<Written> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            let (target, immediate) = (target.place, immediate.to_be_bytes());
            let task = client.task_write_imm(worker, *rdma, target, immediate, &list[..]);
            submit!(this, task)
        })
    }

    /// Reads from the other end's memory (`doca_rdma_task_read`): as many bytes as the destination
    /// has.
    pub fn read(&self, source: RemotePlace, destination: impl Destination) -> Operation<ReadDone> {
        let mut list = Ranges::new();
        destination.places(&mut |range| list.push(range));
        let maps = self.new_maps(&destination);
        self.run(maps, (), move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_read(worker, *rdma, source.place, &list[..]))
        })
    }

    /// Replaces eight bytes of the other end's memory by `swap` if they are `compare`
    /// (`doca_rdma_task_atomic_cmp_swp`), little-endian. The eight bytes from before go to
    /// `result`, which has eight, and are returned.
    pub fn compare_swap(
        &self,
        target: RemotePlace,
        compare: u64,
        swap: u64,
        result: impl Destination,
    ) -> Operation<Swapped> {
        let list = places(&result);
        let maps = self.new_maps(&result);
        self.run(maps, (), move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            let [result] = list[..] else { return Err(one_place()) };
            let task = client.task_compare_swap(worker, *rdma, target.place, compare, swap, result);
            submit!(this, task)
        })
    }

    /// Adds to eight bytes of the other end's memory (`doca_rdma_task_atomic_fetch_add`),
    /// little-endian; overflow wraps. The eight bytes from before go to `result`, which has eight,
    /// and are returned.
    pub fn fetch_add(
        &self,
        target: RemotePlace,
        add: u64,
        result: impl Destination,
    ) -> Operation<Added> {
        let list = places(&result);
        let maps = self.new_maps(&result);
        self.run(maps, (), move |this| {
            let Inner { client, worker, rdma, .. } = &*this.inner;
            let [result] = list[..] else { return Err(one_place()) };
            submit!(this, client.task_fetch_add(worker, *rdma, target.place, add, result))
        })
    }

    /// The maps of an operation that has to wait: for one of them that the worker does not have
    /// yet, or for an operation before it.
    fn new_maps(&self, local: &impl Sealed) -> Result<Vec<ShareGuard>> {
        let mut has_to_wait = !self.inner.gate.is_open();
        local.each_map(&mut |map| has_to_wait |= !self.inner.registered.has(&map))?;
        let mut maps = Vec::new();
        if has_to_wait {
            local.each_map(&mut |map| maps.push(map))?;
        }
        Ok(maps)
    }

    /// Submits an operation, or begins to share its memory first.
    fn run<R: Reply, L>(
        &self,
        maps: Result<Vec<ShareGuard>>,
        local: L,
        submit: impl FnOnce(&Rdma) -> Result<Completion<R>> + 'static,
    ) -> Operation<R, L> {
        let maps = match maps {
            Ok(maps) => maps,
            Err(error) => return Operation::submitted(Err(error), local, self),
        };
        if maps.is_empty() && self.inner.gate.is_open() {
            return Operation::submitted(submit(self), local, self);
        }
        let (this, turn) = (self.clone(), self.inner.gate.wait());
        let submitting = async move {
            turn.comes().await;
            for map in &maps {
                this.inner.registered.share(&this.inner.worker, map).await?;
            }
            submit(&this)
        };
        Operation::waiting(submitting, local, self)
    }
}

fn pieces(source: &impl Source) -> Ranges {
    let mut list = Ranges::new();
    source.pieces(&mut |range| list.push(range));
    list
}

fn places(destination: &impl Destination) -> Ranges {
    let mut list = Ranges::new();
    destination.places(&mut |range| list.push(range));
    list
}

fn one_place() -> urom_host::Error {
    refused(
        DocaError::INVALID_VALUE,
        "an atomic operation",
        "what it finds goes to eight bytes in one place",
    )
}
