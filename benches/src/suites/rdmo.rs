//! Appends through the RDMO plugin, from the host to memory that it shares with the worker, against
//! raw UCX: the same message to a loop in the same worker, which puts its bytes into the host's
//! memory. Both messages have RDMO's header and the sender's endpoint: without them a message of 64
//! bytes takes a third less time.
//!
//! The time is from the send until the host sees the bytes: the pointer after them with the plugin,
//! their last word with raw UCX. Both fill as many slots in turn. A round's figure is the median of
//! its messages.

use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, Result};
use bench_protocol::ADDRESS;
use bench_raw::{Kind, PUT, Peer, SLOTS, STOP, Style};
use rdmo_protocol::data::{AM_ID, Operation, Request};
use ucx::{AmFlags, Endpoint, ErrorMode, Features, WorkerAddress};
use urom_host::memory::{Access, MemoryShare, Mmap, Share};
use urom_host::{Host, Service, Worker};

use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::party::{RawClient, introduce, prepare, serve};
use crate::statistics::of_rounds;

/// Offset of the slots: after the pointer, in separate cache lines.
const FIRST: u64 = 64;
/// First messages of a round, so that the other side's data leaves the caches.
const WARM_UP: u64 = 64;

static DATA: [u8; PUT] = [0x5a; PUT];

struct Appender {
    bench: RawClient,
    worker: Worker,
    raw: Peer,
    /// This process's UCX worker as client and initiator.
    ucx: ucx::Worker,
    plugin: Endpoint,
    memory: Mmap,
    rkey: u64,
    _shared: MemoryShare,
    _rdmo: rdmo_protocol::Client<Host>,
    _service: Service,
    _daemon: Daemon,
}

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let party = Appender::start(launch)?;
    party.append(WARM_UP)?;
    let count = launch.trips(party.append(WARM_UP)?, 1000).min(100_000);
    let name = format!("rdmo/append/{}/{PUT}", launch.transport.name());
    let figure = launch.compare(name, "raw UCX message and put", |side| {
        if side == 0 {
            party.append(WARM_UP)?;
            return party.append(count);
        }
        let serving = serve(&party.bench, &party.worker, Kind::Putting, Style::Put, 0)?;
        // Includes the time until the worker begins.
        party.put(0, WARM_UP)?;
        let time = party.put(WARM_UP, count)?;
        party.raw.send(STOP);
        party.raw.progress();
        serving.wait()?;
        Ok(time)
    })?;
    Ok(vec![figure])
}

impl Appender {
    fn start(launch: &Launch) -> Result<Appender> {
        let daemon = launch.daemon(&["worker_rdmo", "worker_benchpeer"])?;
        let service = daemon.connect()?;
        let rdmo = service.plugin::<rdmo_protocol::Protocol>()?;
        let bench = service.plugin::<bench_protocol::Protocol>()?;
        let plugins = [rdmo.plugin(), bench.plugin()];
        let worker = worker(&service, &plugins, launch.cores.worker())?;
        pin(launch.cores.host(0))?;

        let mut raw = Peer::new(0, Kind::Putting)?;
        raw.connect(&prepare(&bench, &worker, 0, Kind::Putting)?)?;
        introduce(&bench, &worker, &raw.address()?, Kind::Putting)?;
        let (address, bytes) = raw.allocate()?;
        let mut key = [0; ADDRESS];
        key.get_mut(..bytes.len()).context("a remote key is too long")?.copy_from_slice(&bytes);
        let length = bytes.len() as u64;
        bench.task_aim(&worker, address, key, length, Kind::Putting).submit()?.wait()?;

        let ucx = ucx::Context::builder(Features::AM | Features::RMA).build()?.worker()?;
        let own = ucx.address()?;
        let client = rdmo.task_client_init(&worker, 0, own.raw_bytes()).submit()?.wait()?;
        // SAFETY: the plugin's own address.
        let address = unsafe { WorkerAddress::from_raw(&client.addr) }?;
        let plugin = ucx.endpoint().error_mode(ErrorMode::None).connect(&address)?;
        rdmo.task_rq_create(&worker, own.raw_bytes()).submit()?.wait()?;
        let both = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
        let memory = Mmap::allocate(FIRST as usize + PUT * SLOTS, both)?;
        let shared = memory.share(&worker).wait()?;
        let (va, len, export) = (memory.address(), memory.len(), memory.export()?);
        let registered = rdmo.task_mr_reg(&worker, va, len, &[], &export).submit()?.wait()?;
        Ok(Appender {
            bench,
            raw,
            ucx,
            plugin,
            memory,
            rkey: registered.rkey,
            _shared: shared,
            worker,
            _rdmo: rdmo,
            _service: service,
            _daemon: daemon,
        })
    }

    fn append(&self, count: u64) -> Result<f64> {
        let (pointer, word) = (self.memory.address(), self.memory.view().atomic_u64(0)?);
        let (request, mut buffer) = (self.request(), Request::BUFFER);
        let header = request.header(&mut buffer);
        let (mut to, mut times) = (0, Vec::with_capacity(count as usize));
        for number in 0..count {
            if number % SLOTS as u64 == 0 {
                to = pointer + FIRST;
                word.store(to, Ordering::Release);
            }
            to += PUT as u64;
            let begin = Instant::now();
            self.plugin.am_send_with(AM_ID, header, &DATA[..], AmFlags::REPLY).detach();
            while word.load(Ordering::Acquire) != to {
                self.ucx.progress();
            }
            times.push(begin.elapsed().as_nanos() as f64);
        }
        of_rounds(&times)
    }

    fn request(&self) -> Request {
        let (pointer, rkey) = (self.memory.address(), self.rkey);
        let operation = Operation::Append { pointer, pointer_rkey: rkey, data_rkey: rkey };
        Request { client: 0, fence: false, operation }
    }

    fn put(&self, first: u64, count: u64) -> Result<f64> {
        let (request, mut buffer) = (self.request(), Request::BUFFER);
        let header = request.header(&mut buffer);
        let mut times = Vec::with_capacity(count as usize);
        for number in first..first + count {
            let mut message = DATA;
            // Never zero, the memory's first value.
            message[PUT - 8..].copy_from_slice(&(number + 1).to_ne_bytes());
            let begin = Instant::now();
            self.raw.send_and_see(number, header, &message);
            times.push(begin.elapsed().as_nanos() as f64);
        }
        of_rounds(&times)
    }
}
