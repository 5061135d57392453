//! An instance of the plugin, as a host uses it.

use std::rc::Rc;
use std::time::Duration;

use rdma_protocol::{
    Access, Added, Client, Limits, Protocol, ReadDone, ReceiveDone, Sent, State, Swapped, Written,
};
use urom_abi::protocol::Reply;
use urom_host::memory::{Mmap, ShareGuard};
use urom_host::{Completion, DocaError, Host, Result, Worker};

use crate::gate::Gate;
use crate::local::{Destination, Ranges, Sealed, Source};
use crate::operation::Operation;
use crate::registered::RegisteredMaps;
use crate::remote::{RemoteAddress, refused};

macro_rules! submit {
    ($this:ident, $task:expr) => {{
        let task = $task;
        match $this.deadline {
            Some(limit) => task.timeout(limit).submit(),
            None => task.submit(),
        }
    }};
}

/// One end of a connection between two hosts (`doca_rdma`); see the crate's example.
///
/// A clone is a second handle. Dropping the last handle destroys the instance at the worker.
/// Operations run and complete in call order. An instance stays on its worker's thread.
///
/// # Errors of operations
/// An operation that cannot be submitted does not affect the instance: `BAD_STATE` in another state
/// than [`Connected`](State::Connected), `NOT_PERMITTED` for local memory without
/// `LOCAL_READ_WRITE`, `TOO_BIG` beyond the [limits](Self::limits), `FULL` for too many at a time.
///
/// An operation that fails later brings both ends to the state [`Error`](State::Error):
/// `NOT_PERMITTED`, `NOT_FOUND` or `INVALID_VALUE` for the other end's memory, `IO_FAILED` for a
/// message that does not fit its receive. All other pending operations, and all on the loss of the
/// other end, end with `CONNECTION_ABORTED` and the text of the first failure.
#[derive(Clone, Debug)]
pub struct Rdma {
    inner: Rc<RdmaInstance>,
    deadline: Option<Duration>,
}

struct RdmaInstance {
    worker: Worker,
    client: Client<Host>,
    registered: Rc<RegisteredMaps>,
    gate: Rc<Gate>,
    rdma: u64,
    limits: Limits,
}

impl std::fmt::Debug for RdmaInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RdmaInstance").field("rdma", &self.rdma).finish_non_exhaustive()
    }
}

impl Drop for RdmaInstance {
    fn drop(&mut self) {
        // The worker's host may be gone, and the instance with it.
        let _ = self.client.task_destroy(&self.worker, self.rdma).submit_with(|_| {});
    }
}

/// The failure of an instance in the state [`Error`](State::Error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The code of the first operation that failed.
    pub code: DocaError,
    /// The reason.
    pub why: String,
}

/// Builds an instance.
#[derive(Debug)]
#[must_use = "`start` makes the instance"]
pub struct Builder<'a> {
    worker: &'a Worker,
    permissions: Access,
}

impl Builder<'_> {
    /// Sets the other end's permissions (`doca_rdma_set_permissions`): `RDMA_READ`, `RDMA_WRITE`,
    /// `RDMA_ATOMIC`; the memory must permit the access too. Nothing by default.
    pub fn permissions(mut self, permissions: Access) -> Self {
        self.permissions = permissions;
        self
    }

    /// Creates the instance in [`Init`](State::Init) (`doca_rdma_create`, `doca_ctx_start`).
    ///
    /// # Errors
    /// `NOT_FOUND` or `UNSUPPORTED_VERSION` when the service lacks the plugin, `INVALID_VALUE` for
    /// other permissions, `FULL` at the host's limit of instances.
    pub async fn start(self) -> Result<Rdma> {
        let worker = self.worker.clone();
        let client = worker.service().plugin::<Protocol>()?;
        let permissions = self.permissions.bits();
        let created = client.task_create(&worker).permissions(permissions).submit()?.await?;
        let registered = worker.attached::<RegisteredMaps>();
        let (rdma, limits) = (created.rdma, created.limits);
        let gate = Rc::default();
        let inner = Rc::new(RdmaInstance { worker, client, registered, gate, rdma, limits });
        let rdma = Rdma { inner, deadline: None };
        rdma.start().await?;
        Ok(rdma)
    }
}

impl Rdma {
    /// Returns a builder for an instance in a worker that runs the plugin `worker_rdma`.
    pub fn builder(worker: &Worker) -> Builder<'_> {
        Builder { worker, permissions: Access::empty() }
    }

    /// Returns the same instance with a deadline for its operations, counted from their submission:
    /// later ones end with `TIME_OUT` here. The worker may still complete such an operation, and
    /// change its destination, until the instance is [stopped](Self::stop).
    #[must_use]
    pub fn within(&self, limit: Duration) -> Rdma {
        Rdma { inner: Rc::clone(&self.inner), deadline: Some(limit) }
    }

    /// Returns the plugin's limits.
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

    /// Brings the instance to RESET (`doca_ctx_stop`). Pending operations end with `SHUTDOWN`.
    pub async fn stop(&self) -> Result<()> {
        let inner = &*self.inner;
        inner.client.task_stop(&inner.worker, inner.rdma).submit()?.await?;
        Ok(())
    }

    /// Returns the details for the other end (`doca_rdma_export`), valid until the instance stops
    /// or fails. They are secret: anyone who has the details of both ends can impersonate either.
    ///
    /// # Errors
    /// `BAD_STATE` in another state than INIT.
    pub async fn export(&self) -> Result<Vec<u8>> {
        let inner = &*self.inner;
        let exported = inner.client.task_export(&inner.worker, inner.rdma).submit()?.await?;
        Ok(exported.details.to_vec())
    }

    /// Connects to the other end (`doca_rdma_connect`), and brings the instance to CONNECTED. It
    /// does not wait for the other end; operations do.
    ///
    /// # Errors
    /// `BAD_STATE` in another state than INIT; `INVALID_VALUE` or `UNSUPPORTED_VERSION` for foreign
    /// bytes; `NOT_CONNECTED` when UCX cannot reach the other end.
    pub async fn connect(&self, details: &[u8]) -> Result<()> {
        let inner = &*self.inner;
        inner.client.task_connect(&inner.worker, inner.rdma, details).submit()?.await?;
        Ok(())
    }

    /// Returns the state (`doca_ctx_get_state`), and in ERROR the first failure.
    pub async fn state(&self) -> Result<(State, Option<Failed>)> {
        let inner = &*self.inner;
        let is = inner.client.task_query(&inner.worker, inner.rdma).submit()?.await?;
        let why = String::from_utf8_lossy(&is.why).into_owned();
        let failed = Failed { code: DocaError::from_code(is.failure), why };
        Ok((is.state, (is.state == State::Error).then_some(failed)))
    }

    /// Shares a map with the worker, so that operations on it are submitted at once. An operation
    /// shares its local memory itself, but is then submitted later: see [`Operation`].
    pub async fn register(&self, map: &Mmap) -> Result<()> {
        let inner = &*self.inner;
        inner.registered.share(&inner.worker, &map.begin_share()).await
    }

    /// Exports a map for the other end (`doca_mmap_export_rdma`), until [`release`](Self::release).
    ///
    /// # Errors
    /// `NOT_PERMITTED` if the map grants no access, or as
    /// [`share`](urom_host::memory::Share::share).
    pub async fn export_mmap(&self, map: &Mmap) -> Result<Vec<u8>> {
        let others = Access::RDMA_READ | Access::RDMA_WRITE | Access::RDMA_ATOMIC;
        if !map.access().intersects(others) {
            return Err(refused(
                DocaError::NOT_PERMITTED,
                "exporting memory to the other end",
                "it lacks RDMA_READ, RDMA_WRITE and RDMA_ATOMIC",
            ));
        }
        let exported = map.export()?;
        self.register(map).await?;
        Ok(exported)
    }

    /// Ends the worker's use of a map after its operations; then [`Mmap::bytes`] works again.
    pub async fn release(&self, map: &Mmap) -> Result<()> {
        match self.inner.registered.unshare(map) {
            Some(ended) => ended.await,
            None => Ok(()),
        }
    }

    /// Receives a message (`doca_rdma_task_receive`), in INIT and CONNECTED, in call order. A
    /// message longer than the destination fails both ends with `IO_FAILED`.
    pub fn receive<D>(&self, destination: D) -> Operation<ReceiveDone, D>
    where
        D: Destination,
    {
        let mut list = Ranges::new();
        destination.receive_ranges(&mut |range| list.push(range));
        let maps = self.new_maps(&destination);
        self.run(maps, destination, move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_receive(worker, *rdma, &list[..]))
        })
    }

    /// Sends a message to the next receive of the other end (`doca_rdma_task_send`).
    pub fn send(&self, source: impl Source) -> Operation<Sent> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_send(worker, *rdma, &list[..]))
        })
    }

    /// Sends like [`send`](Self::send), with a number for the receiver (`doca_rdma_task_send_imm`).
    pub fn send_imm(&self, source: impl Source, immediate: u32) -> Operation<Sent> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            let immediate = immediate.to_be_bytes();
            submit!(this, client.task_send_imm(worker, *rdma, immediate, &list[..]))
        })
    }

    /// Writes to the other end's memory (`doca_rdma_task_write`).
    pub fn write(&self, source: impl Source, target: RemoteAddress) -> Operation<Written> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_write(worker, *rdma, target.address, &list[..]))
        })
    }

    /// Writes, and completes a receive of the other end with a number (`doca_rdma_task_write_imm`).
    pub fn write_imm(
        &self,
        source: impl Source,
        target: RemoteAddress,
        immediate: u32,
    ) -> Operation<Written> {
        let list = pieces(&source);
        let maps = self.new_maps(&source);
        self.run(maps, (), move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            let (target, immediate) = (target.address, immediate.to_be_bytes());
            let task = client.task_write_imm(worker, *rdma, target, immediate, &list[..]);
            submit!(this, task)
        })
    }

    /// Reads from the other end's memory (`doca_rdma_task_read`) to fill the destination.
    pub fn read(
        &self,
        source: RemoteAddress,
        destination: impl Destination,
    ) -> Operation<ReadDone> {
        let mut list = Ranges::new();
        destination.read_ranges(&mut |range| list.push(range));
        let maps = self.new_maps(&destination);
        self.run(maps, (), move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            submit!(this, client.task_read(worker, *rdma, source.address, &list[..]))
        })
    }

    /// Replaces eight bytes of the other end's memory, little-endian, if they equal `compare`
    /// (`doca_rdma_task_atomic_cmp_swp`). The value before goes to `result` and is returned.
    pub fn compare_swap(
        &self,
        target: RemoteAddress,
        compare: u64,
        swap: u64,
        result: impl Destination,
    ) -> Operation<Swapped> {
        let list = read_ranges(&result);
        let maps = self.new_maps(&result);
        self.run(maps, (), move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            let [result] = list[..] else { return Err(one_range()) };
            let target = target.address;
            submit!(this, client.task_compare_swap(worker, *rdma, target, compare, swap, result))
        })
    }

    /// Adds to eight bytes of the other end's memory, little-endian, wrapping
    /// (`doca_rdma_task_atomic_fetch_add`). The value before goes to `result` and is returned.
    pub fn fetch_add(
        &self,
        target: RemoteAddress,
        add: u64,
        result: impl Destination,
    ) -> Operation<Added> {
        let list = read_ranges(&result);
        let maps = self.new_maps(&result);
        self.run(maps, (), move |this| {
            let RdmaInstance { client, worker, rdma, .. } = &*this.inner;
            let [result] = list[..] else { return Err(one_range()) };
            submit!(this, client.task_fetch_add(worker, *rdma, target.address, add, result))
        })
    }

    /// Returns the maps of an operation that must wait for a new map or an earlier operation.
    fn new_maps(&self, local: &impl Sealed) -> Result<Vec<ShareGuard>> {
        let mut has_to_wait = !self.inner.gate.is_open();
        local.each_map(&mut |map| has_to_wait |= !self.inner.registered.has(&map))?;
        let mut maps = Vec::new();
        if has_to_wait {
            local.each_map(&mut |map| maps.push(map))?;
        }
        Ok(maps)
    }

    /// Submits an operation, or starts to share its memory first.
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

fn read_ranges(destination: &impl Destination) -> Ranges {
    let mut list = Ranges::new();
    destination.read_ranges(&mut |range| list.push(range));
    list
}

fn one_range() -> urom_host::Error {
    refused(
        DocaError::INVALID_VALUE,
        "an atomic operation",
        "what it finds goes to eight bytes in one range",
    )
}
