//! One process of a domain: adds two workers and a buffer, and reads the buffers of all processes.
//!
//! `UROM_DOCA_LIBRARY` selects the library. Arguments: the service (`address:...` or
//! `embedded:...`), the rendezvous (see `Participants`), this process's index, and the number of
//! processes.

use std::cell::RefCell;
use std::net::TcpListener;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use reader_protocol::{Protocol, checksum};
use ucx::{Features, Memory};
use urom_host::gather::{AllGather, Rendezvous};
use urom_host::{DocaError, DomainBuffer, Service, block_on_for};

const LIMIT: Duration = Duration::from_secs(60);
const LENGTH: usize = 256 << 10;
const WORKERS: u64 = 2;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, meeting, index, participants] = &arguments[..] else {
        bail!("four arguments, please")
    };
    let (index, participants) = (index.parse::<u32>()?, participants.parse::<u32>()?);
    let builder = match target.split_once(':').context("a target")? {
        ("address", address) => Service::builder().address(address),
        (_, path) => Service::builder().plugin_paths([path]),
    };
    let gather = Rc::new(RefCell::new(meet(meeting, index, participants)?));
    let owner = Owner::start(index)?;
    let addresses = exchange(&gather, &owner.buffer.address.to_le_bytes())?;
    let addresses: Vec<u64> = addresses
        .chunks_exact(8)
        .map(|one| u64::from_le_bytes(one.try_into().unwrap_or_default()))
        .collect();

    let service = builder.connect_blocking()?;
    let named = std::env::var_os("UROM_DOCA_LIBRARY").filter(|library| library != "builtin");
    ensure!(
        service.library().path() == named.as_deref().map(Path::new),
        "it is {:?}",
        service.library()
    );
    let reader = service.plugin::<Protocol>()?;
    let id = |worker: u64| u64::from(index) * WORKERS + worker;
    let start = |worker| service.worker().id(id(worker)).plugin(&reader).start().wait();
    let workers = (0..WORKERS).map(start).collect::<Result<Vec<_>, _>>()?;
    let mut builder = service.domain().buffer(owner.buffer.clone()).gather(Rc::clone(&gather));
    for (worker, number) in workers.iter().zip(0..) {
        builder = builder.worker(member(id(number)), worker);
    }
    let domain = block_on_for(LIMIT, builder.start())??;

    let mut flights = Vec::new();
    for worker in &workers {
        for other in 0..participants {
            let (va, sum) = (addresses[other as usize] + 5, checksum(&pattern(other)));
            for number in 0..WORKERS {
                let member = member(u64::from(other) * WORKERS + number);
                let read = reader.task_read(worker, member, va, 0, LENGTH as u64).submit()?;
                flights.push((read, sum));
            }
        }
    }
    for (flight, sum) in flights {
        let done = block_on_for(LIMIT, flight)??;
        ensure!(done.sum == sum, "a buffer was read wrong");
    }
    let look = |member, va| reader.task_look(&workers[0], member, va).submit();
    let past_end = owner.buffer.address + LENGTH as u64;
    for (member, va) in [(member(9999), addresses[0]), (member(id(0)), past_end)] {
        let error = block_on_for(LIMIT, look(member, va)?)?.err().context("nothing is there")?;
        ensure!(error.code() == DocaError::NOT_FOUND, "{error}");
    }

    // A barrier: all processes have read all buffers.
    exchange(&gather, &[])?;
    domain.stop_blocking()?;
    for worker in workers {
        block_on_for(LIMIT, worker.stop())??;
    }
    owner.stop()
}

fn meet(meeting: &str, index: u32, participants: u32) -> Result<Rendezvous> {
    if index > 0 {
        return Ok(Rendezvous::join(meeting, index, participants, LIMIT)?);
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    Ok(Rendezvous::host(listener, participants, LIMIT)?)
}

/// Ids in the domain differ from the service's.
fn member(worker: u64) -> u64 {
    worker + 100
}

fn pattern(index: u32) -> Vec<u8> {
    (0..LENGTH).map(|at| (at * 31 + at / 251) as u8 ^ index as u8).collect()
}

fn exchange(gather: &Rc<RefCell<Rendezvous>>, block: &[u8]) -> Result<Vec<u8>> {
    let mut gather = Rc::clone(gather);
    let failed = |error| anyhow!("{error}");
    gather.begin(block).map_err(failed)?;
    let mut blocks = vec![0; block.len() * gather.participants() as usize];
    while !gather.test(&mut blocks).map_err(failed)? {
        thread::yield_now();
    }
    Ok(blocks)
}

/// A thread that owns the buffer and serves remote reads of it.
struct Owner {
    buffer: DomainBuffer,
    quit: Arc<AtomicBool>,
    thread: thread::JoinHandle<Result<(), ucx::Error>>,
}

impl Owner {
    fn start(index: u32) -> Result<Owner> {
        let quit = Arc::new(AtomicBool::new(false));
        let (told, tell) = mpsc::channel();
        let theirs = Arc::clone(&quit);
        let thread = thread::spawn(move || {
            let context = ucx::Context::new(Features::RMA)?;
            let worker = context.worker()?;
            let memory = Memory::map(&context, pattern(index))?;
            let (address, length) = (memory.address(), memory.len());
            let key = memory.remote_key()?;
            let range = [address, length as u64].map(u64::to_le_bytes).concat();
            let memory_handle = [&range, worker.address()?.as_bytes()].concat();
            let _ = told.send(DomainBuffer { address, length, memory_handle, key });
            while !theirs.load(Ordering::Acquire) {
                worker.progress();
                thread::yield_now();
            }
            Ok(())
        });
        match tell.recv() {
            Ok(buffer) => Ok(Owner { buffer, quit, thread }),
            Err(_) => match thread.join() {
                Ok(Err(error)) => Err(error.into()),
                _ => bail!("the buffer's thread ended"),
            },
        }
    }

    fn stop(self) -> Result<()> {
        self.quit.store(true, Ordering::Release);
        Ok(self.thread.join().map_err(|_| anyhow!("the buffer's thread panicked"))??)
    }
}
