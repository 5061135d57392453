//! The RDMO plugin: hosts with memory, and initiators that change it through the plugin.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rdmo_protocol::Client;
use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use ucx::{AmFlags, Context, Endpoint, ErrorMode, Features, Memory, WorkerAddress};
use urom_host::memory::{MemoryPath, MemoryShare, Mmap};
use urom_host::{DocaError, Host, Service, Worker};

use crate::paths::{self, BOTH, PATHS};
use crate::provider::{Given, Provider};
use crate::sandbox::{LIMIT, wait_with};

const REGION: usize = 4096;

/// Two hosts may share this worker.
const WORKER: u64 = 7;

fn ucx_worker() -> Result<ucx::Worker> {
    let features = Features::AM | Features::RMA | Features::AMO64;
    Ok(Context::builder(features).config("TCP_PUT_ENABLE", "n").build()?.worker()?)
}

pub(crate) struct Owner {
    worker: Worker,
    rdmo: Client<Host>,
    ucx: ucx::Worker,
    memory: Memory,
    _service: Service,
}

impl Owner {
    fn new(provider: &Provider) -> Result<Owner> {
        let service = provider.connect()?;
        let rdmo = service.plugin::<rdmo_protocol::Protocol>()?;
        let worker = service.worker().id(WORKER).plugin(&rdmo).start().wait()?;
        let ucx = ucx_worker()?;
        let memory = Memory::allocate(ucx.context(), REGION)?;
        Ok(Owner { worker, rdmo, ucx, memory, _service: service })
    }

    fn introduce(&self, id: u64) -> Result<Vec<u8>> {
        let address = self.ucx.address()?;
        let task = self.rdmo.task_client_init(&self.worker, id, address.raw_bytes());
        Ok(self.wait(task.submit()?)?.addr.to_vec())
    }

    fn register(&self) -> Result<u64> {
        let (va, len, key) = (self.at(0), REGION as u64, self.memory.remote_key()?);
        Ok(self.wait(self.rdmo.task_mr_reg(&self.worker, va, len, &key, &[]).submit()?)?.rkey)
    }

    fn wait<T>(&self, task: impl Future<Output = urom_host::Result<T>>) -> Result<T> {
        Ok(wait_with(task, || self.ucx.progress())??)
    }

    fn code<T>(&self, task: impl Future<Output = urom_host::Result<T>>) -> Result<DocaError> {
        let ended = wait_with(task, || self.ucx.progress())?;
        Ok(ended.err().context("it must fail")?.code())
    }

    fn at(&self, offset: usize) -> u64 {
        self.memory.address() + offset as u64
    }

    fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read(offset, &mut bytes);
        bytes
    }

    fn point_to(&self, offset: usize) {
        self.memory.write(0, &self.at(offset).to_le_bytes());
    }
}

struct Initiator {
    client: u64,
    ucx: ucx::Worker,
    endpoint: Endpoint,
    answers: Rc<RefCell<Vec<Option<Flushed>>>>,
}

impl Initiator {
    fn new(owner: &Owner, client: u64, plugin: &[u8]) -> Result<Initiator> {
        let ucx = ucx_worker()?;
        let address = ucx.address()?;
        owner.wait(owner.rdmo.task_rq_create(&owner.worker, address.raw_bytes()).submit()?)?;
        let answers = Rc::new(RefCell::new(Vec::new()));
        let answered = Rc::clone(&answers);
        ucx.set_am_handler(AM_ID, move |message| {
            answered.borrow_mut().push(Flushed::read(message.header));
        })?;
        // SAFETY: the plugin's own address.
        let plugin = unsafe { WorkerAddress::from_raw(plugin) }?;
        let endpoint = ucx.endpoint().error_mode(ErrorMode::None).connect(&plugin)?;
        Ok(Initiator { client, ucx, endpoint, answers })
    }

    fn request(&self, operation: Operation, data: &[u8]) {
        let request = Request { client: self.client, fence: true, operation };
        self.send(request.header(&mut Request::BUFFER.clone()), data);
    }

    fn send(&self, header: &[u8], data: &[u8]) {
        self.endpoint.am_send_with(AM_ID, header, data.to_vec(), AmFlags::REPLY).detach();
    }

    fn append(&self, pointer: u64, rkey: u64, data: &[u8]) {
        self.request(Operation::Append { pointer, pointer_rkey: rkey, data_rkey: rkey }, data);
    }

    fn scatter(&self, rkey: u64, addresses: &[u64], data: &[u8]) -> Result<()> {
        let mut parts = Vec::new();
        for &address in addresses {
            Part { address, rkey, data }.write(&mut parts)?;
        }
        self.request(Operation::Scatter { count: addresses.len() as u64 }, &parts);
        Ok(())
    }

    /// Flushes. Shared memory needs only the host's library: `ucx` is `None` then.
    fn flush(&self, ucx: Option<&ucx::Worker>) -> Result<()> {
        let flushed = Flushed { flush_id: 0xbeef + self.answers.borrow().len() as u64 };
        self.request(Operation::Flush { flush_id: flushed.flush_id }, &[]);
        self.until(ucx, "a flush is not answered", || {
            Ok(self.answers.borrow().last() == Some(&Some(flushed)))
        })
    }

    fn until(
        &self,
        ucx: Option<&ucx::Worker>,
        what: &str,
        done: impl Fn() -> Result<bool>,
    ) -> Result<()> {
        let begin = Instant::now();
        while !done()? {
            self.ucx.progress();
            ucx.map(ucx::Worker::progress);
            ensure!(begin.elapsed() < LIMIT, "{what}");
        }
        Ok(())
    }
}

impl Given<'_> for Owner {
    fn given(provider: &Provider) -> Result<Owner> {
        Owner::new(provider)
    }
}

pub(crate) fn an_initiator_appends_scatters_and_flushes(owner: Owner) -> Result<()> {
    let plugin = owner.introduce(0)?;
    let initiator = Initiator::new(&owner, 0, &plugin)?;
    let rkey = owner.register()?;
    for round in 0..20_u8 {
        owner.point_to(8);
        initiator.append(owner.at(0), rkey, &[round; 8]);
        initiator.append(owner.at(0), rkey, b"behind");
        let addresses = [1001, 2002, 3003].map(|at| owner.at(at));
        initiator.scatter(rkey, &addresses, &[round, 0x33, 0x33])?;
        initiator.flush(Some(&owner.ucx))?;
        assert_eq!(owner.bytes(8, 14), [&[round; 8][..], b"behind"].concat());
        assert_eq!(owner.bytes(0, 8), owner.at(8 + 14).to_le_bytes());
        for at in [1001, 2002, 3003] {
            assert_eq!(owner.bytes(at, 3), [round, 0x33, 0x33]);
        }
    }
    Ok(())
}

struct Region {
    memory: Mmap,
    shared: MemoryShare,
    rkey: u64,
}

impl Region {
    fn new(owner: &Owner, path: MemoryPath) -> Result<Region> {
        let memory = paths::allocate(REGION, BOTH, path)?;
        let shared = paths::share(&memory, &owner.worker, path)?;
        let (va, len, export) = (memory.address(), memory.len(), memory.export()?);
        let register = owner.rdmo.task_mr_reg(&owner.worker, va, len, &[], &export);
        let rkey = register.submit()?.wait()?.rkey;
        Ok(Region { memory, shared, rkey })
    }

    fn append(&self, initiator: &Initiator, data: &[u8]) {
        initiator.append(self.memory.address(), self.rkey, data);
    }

    fn point_to(&self, offset: u64) -> Result<()> {
        Ok(self.memory.view().set(0, self.memory.address() + offset)?)
    }

    fn pointed(&self) -> Result<u64> {
        Ok(self.memory.view().get::<u64>(0)? - self.memory.address())
    }

    fn bytes(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.memory.view().copy_to(offset, &mut bytes)?;
        Ok(bytes)
    }
}

pub(crate) fn shared_memory_is_appended_to_and_scattered_into_on_each_path(
    owner: Owner,
) -> Result<()> {
    let plugin = owner.introduce(0)?;
    let initiator = Initiator::new(&owner, 0, &plugin)?;
    for path in PATHS {
        let region = Region::new(&owner, path)?;
        for round in 0..20_u8 {
            region.point_to(8)?;
            region.append(&initiator, &[round; 8]);
            region.append(&initiator, b"behind");
            region.append(&initiator, &[1; REGION]);
            let addresses = [1001, 2002, 3003].map(|at| region.memory.address() + at);
            initiator.scatter(region.rkey, &addresses, &[round, 0x33])?;
            initiator.flush(None)?;
            assert_eq!(region.bytes(8, 14)?, [&[round; 8][..], b"behind"].concat(), "{path:?}");
            assert_eq!(region.pointed()?, 8 + 14);
            for at in [1001, 2002, 3003] {
                assert_eq!(region.bytes(at, 2)?, [round, 0x33]);
            }
        }
        let dereg = owner.rdmo.task_mr_dereg(&owner.worker, region.rkey).submit()?;
        dereg.wait()?;
    }
    Ok(())
}

pub(crate) fn shared_memory_ends_with_its_region_or_its_host(provider: &Provider) -> Result<()> {
    let (stays, leaves) = (Owner::new(provider)?, Owner::new(provider)?);
    let (plugin, _) = (stays.introduce(1)?, leaves.introduce(2)?);
    let initiator = Initiator::new(&stays, 1, &plugin)?;
    let other = Initiator::new(&leaves, 2, &plugin)?;
    for path in PATHS {
        let region = Region::new(&stays, path)?;
        let export = region.memory.export()?;
        let (va, len) = (region.memory.address(), region.memory.len());
        let beyond = stays.rdmo.task_mr_reg(&stays.worker, va + 1, len, &[], &export);
        assert_eq!(stays.code(beyond.submit()?)?, DocaError::INVALID_VALUE);
        let theirs = leaves.rdmo.task_mr_reg(&leaves.worker, va, len, &[], &export);
        assert_eq!(leaves.code(theirs.submit()?)?, DocaError::NOT_FOUND);
        region.point_to(8)?;
        region.append(&initiator, b"not flushed");
        // Executed after the append.
        initiator.scatter(region.rkey, &[va + 100], b"x")?;
        let scattered = || Ok(region.bytes(100, 1)? == b"x");
        initiator.until(None, "nothing is scattered", scattered)?;
        let Region { memory, shared, rkey } = region;
        stays.rdmo.task_mr_dereg(&stays.worker, rkey).submit()?.wait()?;
        assert_eq!(memory.view().get::<u64>(0)?, va + 8 + 11, "{path:?}");
        shared.unshare().wait()?;
    }
    let region = Region::new(&leaves, MemoryPath::NETWORK)?;
    region.point_to(8)?;
    for _ in 0..10 {
        region.append(&other, b"under way");
        other.ucx.progress();
    }
    let Owner { worker, .. } = leaves;
    drop(worker);
    drop(region);
    let region = Region::new(&stays, MemoryPath::MAPPED)?;
    region.point_to(8)?;
    region.append(&initiator, b"stays");
    initiator.flush(None)?;
    assert_eq!((region.pointed()?, region.bytes(8, 5)?), (8 + 5, b"stays".to_vec()));
    Ok(())
}

pub(crate) fn a_host_that_leaves_takes_nothing_from_another(provider: &Provider) -> Result<()> {
    let (stays, leaves) = (Owner::new(provider)?, Owner::new(provider)?);
    let (plugin, _) = (stays.introduce(1)?, leaves.introduce(2)?);
    let third = Owner::new(provider)?;
    let address = third.ucx.address()?;
    let taken = third.rdmo.task_client_init(&third.worker, 2, address.raw_bytes());
    assert_eq!(third.code(taken.submit()?)?, DocaError::IN_USE);
    let initiator = Initiator::new(&stays, 1, &plugin)?;
    let other = Initiator::new(&leaves, 2, &plugin)?;
    let (rkey, theirs) = (stays.register()?, leaves.register()?);
    stays.point_to(8);
    leaves.point_to(8);
    // Appends are in progress while the host leaves.
    for _ in 0..10 {
        other.append(leaves.at(0), theirs, &[1; 100]);
        other.ucx.progress();
    }
    let Owner { worker, ucx, memory, .. } = leaves;
    drop(worker);
    for round in 0..10 {
        initiator.append(stays.at(0), rkey, &[round; 16]);
        initiator.flush(Some(&stays.ucx))?;
    }
    assert_eq!(stays.bytes(0, 8), stays.at(8 + 160).to_le_bytes());
    drop((ucx, memory));
    Ok(())
}
