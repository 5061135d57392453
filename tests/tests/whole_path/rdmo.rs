//! The RDMO plugin: hosts with memory, and initiators that change it through the plugin.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rdmo_protocol::Client;
use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use ucx::{AmFlags, Context, Endpoint, ErrorMode, Features, Memory, WorkerAddress};
use urom_host::memory::{Access, MemoryPath, MemoryShare, Mmap, Share};
use urom_host::{DocaError, Host, Service, Worker};

use crate::provider::{Given, Provider};
use crate::sandbox::{LIMIT, wait_with};

const REGION: usize = 4096;

/// The worker that two hosts may share.
const WORKER: u64 = 7;

fn ucx_worker() -> Result<ucx::Worker> {
    let features = Features::AM | Features::RMA | Features::AMO64;
    Ok(Context::builder(features).config("TCP_PUT_ENABLE", "n").build()?.worker()?)
}

/// A host, one that is not a client yet, and its memory.
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

    /// Becomes a client; the plugin's address.
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
    /// With a queue at `owner`, which is client `client`.
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
        self.send(request.header(&mut Request::ROOM.clone()), data);
    }

    fn send(&self, header: &[u8], data: &[u8]) {
        self.endpoint.am_send_with(AM_ID, header, data.to_vec(), AmFlags::REPLY).detach();
    }

    fn append(&self, owner: &Owner, rkey: u64, data: &[u8]) {
        let pointer = owner.at(0);
        let append = Operation::Append { pointer, pointer_rkey: rkey, data_rkey: rkey };
        self.request(append, data);
    }

    fn flush(&self, owner: &Owner) -> Result<()> {
        let flushed = Flushed { flush_id: 0xbeef + self.answers.borrow().len() as u64 };
        self.request(Operation::Flush { flush_id: flushed.flush_id }, &[]);
        let begin = Instant::now();
        while self.answers.borrow().last() != Some(&Some(flushed)) {
            self.ucx.progress();
            owner.ucx.progress();
            ensure!(begin.elapsed() < LIMIT, "a flush is not answered");
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
        initiator.append(&owner, rkey, &[round; 8]);
        initiator.append(&owner, rkey, b"behind");
        let mut parts = Vec::new();
        for at in [1001, 2002, 3003] {
            let data = &[round, 0x33, 0x33];
            Part { address: owner.at(at), rkey, data }.write(&mut parts)?;
        }
        initiator.request(Operation::Scatter { count: 3 }, &parts);
        initiator.flush(&owner)?;
        assert_eq!(owner.bytes(8, 14), [&[round; 8][..], b"behind"].concat());
        assert_eq!(owner.bytes(0, 8), owner.at(8 + 14).to_le_bytes());
        for at in [1001, 2002, 3003] {
            assert_eq!(owner.bytes(at, 3), [round, 0x33, 0x33]);
        }
    }
    Ok(())
}

pub(crate) fn memory_that_goes_has_its_pointers_first(owner: Owner) -> Result<()> {
    let plugin = owner.introduce(0)?;
    let initiator = Initiator::new(&owner, 0, &plugin)?;
    let rkey = owner.register()?;
    owner.point_to(8);
    initiator.append(&owner, rkey, b"not flushed");
    let begin = Instant::now();
    while owner.bytes(8, 11) != b"not flushed" {
        initiator.ucx.progress();
        owner.ucx.progress();
        ensure!(begin.elapsed() < LIMIT, "nothing is appended");
    }
    owner.wait(owner.rdmo.task_mr_dereg(&owner.worker, rkey).submit()?)?;
    assert_eq!(owner.bytes(0, 8), owner.at(8 + 11).to_le_bytes());
    owner.wait(owner.rdmo.task_rq_destroy(&owner.worker, 0).submit()?)?;
    Ok(())
}

pub(crate) fn wrong_commands_and_messages_harm_nobody(owner: Owner) -> Result<()> {
    let (rdmo, worker) = (&owner.rdmo, &owner.worker);
    assert_eq!(owner.code(rdmo.task_mr_dereg(worker, 1).submit()?)?, DocaError::NOT_FOUND);
    assert_eq!(owner.code(rdmo.task_rq_destroy(worker, 0).submit()?)?, DocaError::NOT_FOUND);
    let plugin = owner.introduce(0)?;
    let address = owner.ucx.address()?;
    let again = rdmo.task_client_init(worker, 1, address.raw_bytes());
    assert_eq!(owner.code(again.submit()?)?, DocaError::ALREADY_EXIST);
    let wraps = rdmo.task_mr_reg(worker, u64::MAX, 2, b"some remote key", &[]);
    assert_eq!(owner.code(wraps.submit()?)?, DocaError::INVALID_VALUE);

    let initiator = Initiator::new(&owner, 0, &plugin)?;
    let rkey = owner.register()?;
    owner.point_to(8);
    initiator.append(&owner, rkey, b"before ");
    initiator.send(&[], b"no header");
    initiator.send(&[0; 15], b"a short one");
    initiator.send(&[9; 40], b"nobody's");
    initiator.send(&[0; 65], b"a long one");
    initiator.append(&owner, 77, b"no such key");
    initiator.append(&owner, rkey, &[1; REGION]);
    initiator.request(Operation::Scatter { count: u64::MAX }, b"no parts");
    initiator.append(&owner, rkey, b"after");
    initiator.flush(&owner)?;
    assert_eq!(owner.bytes(8, 13), b"before after\0");
    assert_eq!(owner.bytes(0, 8), owner.at(8 + 12).to_le_bytes());
    Ok(())
}

const PATHS: [MemoryPath; 3] = [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK];

/// A region in memory that its host shares with the worker.
struct Region {
    memory: Mmap,
    shared: MemoryShare,
    rkey: u64,
}

impl Region {
    fn new(owner: &Owner, path: MemoryPath) -> Result<Region> {
        let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
        let memory = match path {
            MemoryPath::MAPPED => Mmap::allocate(REGION, access)?,
            _ => Mmap::from_vec(vec![0; REGION], access)?,
        };
        let shared = memory.share_from(&owner.worker, path).wait()?;
        ensure!(shared.path() == path, "it is {}", shared.path().name());
        let (va, len, export) = (memory.address(), memory.len(), memory.export()?);
        let register = owner.rdmo.task_mr_reg(&owner.worker, va, len, &[], &export);
        let rkey = register.submit()?.wait()?.rkey;
        Ok(Region { memory, shared, rkey })
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

impl Initiator {
    fn append_to(&self, region: &Region, data: &[u8]) {
        let (pointer, rkey) = (region.memory.address(), region.rkey);
        self.request(Operation::Append { pointer, pointer_rkey: rkey, data_rkey: rkey }, data);
    }

    /// Flushes while nothing makes progress for the host but its library.
    fn flush_alone(&self) -> Result<()> {
        let flushed = Flushed { flush_id: 0xbeef + self.answers.borrow().len() as u64 };
        self.request(Operation::Flush { flush_id: flushed.flush_id }, &[]);
        let begin = Instant::now();
        while self.answers.borrow().last() != Some(&Some(flushed)) {
            self.ucx.progress();
            ensure!(begin.elapsed() < LIMIT, "a flush is not answered");
        }
        Ok(())
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
            initiator.append_to(&region, &[round; 8]);
            initiator.append_to(&region, b"behind");
            initiator.append_to(&region, &[1; REGION]);
            let mut parts = Vec::new();
            for at in [1001, 2002, 3003] {
                let (address, data) = (region.memory.address() + at, &[round, 0x33]);
                Part { address, rkey: region.rkey, data }.write(&mut parts)?;
            }
            initiator.request(Operation::Scatter { count: 3 }, &parts);
            initiator.flush_alone()?;
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
        initiator.append_to(&region, b"not flushed");
        // Behind it.
        let scatter = Part { address: va + 100, rkey: region.rkey, data: b"x" };
        let mut part = Vec::new();
        scatter.write(&mut part)?;
        initiator.request(Operation::Scatter { count: 1 }, &part);
        let begin = Instant::now();
        while region.bytes(100, 1)? != b"x" {
            initiator.ucx.progress();
            ensure!(begin.elapsed() < LIMIT, "nothing is scattered");
        }
        let Region { memory, shared, rkey } = region;
        stays.rdmo.task_mr_dereg(&stays.worker, rkey).submit()?.wait()?;
        assert_eq!(memory.view().get::<u64>(0)?, va + 8 + 11, "{path:?}");
        // The worker is done with it.
        shared.unshare().wait()?;
    }
    let region = Region::new(&leaves, MemoryPath::NETWORK)?;
    region.point_to(8)?;
    for _ in 0..10 {
        other.append_to(&region, b"under way");
        other.ucx.progress();
    }
    let Owner { worker, .. } = leaves;
    drop(worker);
    drop(region);
    let region = Region::new(&stays, MemoryPath::MAPPED)?;
    region.point_to(8)?;
    initiator.append_to(&region, b"stays");
    initiator.flush_alone()?;
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
    // Their appends are under way as the host goes.
    for _ in 0..10 {
        other.append(&leaves, theirs, &[1; 100]);
        other.ucx.progress();
    }
    let Owner { worker, ucx, memory, .. } = leaves;
    drop(worker);
    for round in 0..10 {
        initiator.append(&stays, rkey, &[round; 16]);
        initiator.flush(&stays)?;
    }
    assert_eq!(stays.bytes(0, 8), stays.at(8 + 160).to_le_bytes());
    drop((ucx, memory));
    Ok(())
}
