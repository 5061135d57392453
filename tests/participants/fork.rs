//! A host that forks after it has connected. The argument selects a scenario; the environment
//! selects service and library. The exit status is 0 if every check holds.

use std::cell::Cell;
use std::fmt::Debug;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::rc::Rc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use graph_protocol::Client;
use urom_host::gather::InProcess;
use urom_host::memory::{Access, Inventory, MemoryPath, Mmap, Share, SyncEvent};
use urom_host::tokio::{HostThread, drive};
use urom_host::{
    DocaError, Error, Host, ProgressEngine, RawReply, Service, Worker, block_on, block_on_for,
};

const LIMIT: Duration = Duration::from_secs(20);

const AT_ONCE: Duration = Duration::from_secs(1);

const CHILDREN: u64 = 4;

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("commands") => commands(),
        Some("drops") => drops(),
        Some("memory") => memory(),
        Some("anew") => anew(),
        Some("threads") => threads(),
        Some("prefork") => prefork(),
        Some("daemon") => daemon(),
        Some("programs") => programs(),
        other => bail!("{other:?} is nothing to try"),
    }
}

struct Connected {
    graph: Client<Host>,
    worker: Worker,
    service: Service,
}

fn connect() -> Result<Connected> {
    // A library without extensions requires a device; others accept one.
    let service = Service::builder().device("mlx5_0").connect_blocking()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let worker = block_on_for(LIMIT, service.worker().plugin(&graph).start())??;
    Ok(Connected { graph, worker, service })
}

impl Connected {
    fn works(&self, seed: u64) -> Result<()> {
        for data in seed * 1000..seed * 1000 + 100 {
            let answer = self.graph.task_loopback(&self.worker, data).submit()?;
            ensure!(block_on_for(LIMIT, answer)??.data == data, "the answer is another's");
        }
        Ok(())
    }
}

/// Runs a child that ends with `exit`, including exit handlers.
fn start_child(run: impl FnOnce() -> Result<()>) -> Result<i32> {
    // SAFETY: the library's other threads leave nothing in a state that harms the child.
    match unsafe { libc::fork() } {
        -1 => bail!("cannot fork: {}", std::io::Error::last_os_error()),
        0 => {
            let result = run();
            if let Err(error) = &result {
                eprintln!("in the child: {error:?}");
            }
            std::process::exit(i32::from(result.is_err()))
        }
        child => Ok(child),
    }
}

fn wait_for(child: i32) -> Result<()> {
    let mut status = 0;
    // SAFETY: a child of this process, and a local variable.
    ensure!(unsafe { libc::waitpid(child, &mut status, 0) } == child, "no child");
    ensure!(status == 0, "the child ended with {status:#x}");
    Ok(())
}

fn in_child(run: impl FnOnce() -> Result<()>) -> Result<()> {
    wait_for(start_child(run)?)
}

fn refused<T>(what: &str, result: Result<T, impl Into<Error>>) -> Result<()> {
    let Err(error) = result else { bail!("{what} goes through in a child") };
    let error = error.into();
    ensure!(error.code() == DocaError::BAD_STATE, "{what}: {error}");
    let parent = std::os::unix::process::parent_id();
    let why = format!("made before fork, in process {parent}");
    ensure!(error.to_string().contains(&why), "{what}: {error}");
    Ok(())
}

fn soon<T>(what: &str, run: impl FnOnce() -> T) -> Result<T> {
    let begin = Instant::now();
    let value = run();
    let time = begin.elapsed();
    ensure!(time < AT_ONCE, "{what} took {time:?}");
    Ok(value)
}

/// Children use every object while the parent's commands are in flight.
fn commands() -> Result<()> {
    let host = connect()?;
    let Connected { graph, worker, service } = &host;
    let handle = service.handle();
    let engine = ProgressEngine::with_library(service.library())?;
    for round in 0..CHILDREN {
        let mut answers: Vec<_> = (0..8)
            .map(|data| graph.task_loopback(worker, round * 8 + data).submit())
            .collect::<Result<_, _>>()?;
        let of_child = answers.split_off(4);
        let called = graph.task_loopback(worker, 1).submit_with(|_| ())?;
        let mut command = [0; 16];
        command[8] = 7;
        let raw = worker.task(graph, &command).submit()?;
        let query = service.workers_of_group(0);
        let starting = service.worker().plugin(graph).start();
        let child = start_child(|| {
            soon("all that is refused", || {
                refused("a command", graph.task_loopback(worker, 99).submit())?;
                refused("a callback", graph.task_loopback(worker, 9).submit_with(|_| ()))?;
                refused("bytes", worker.task(graph, &command).submit())?;
                let mut waiting = of_child.into_iter();
                let mut next = || waiting.next().context("a completion");
                refused("a completion", next()?.wait())?;
                refused("a future", block_on(next()?))?;
                let told = Rc::new(Cell::new(Ok(())));
                let theirs = Rc::clone(&told);
                next()?.on_complete(move |answer| theirs.set(answer.map(drop)));
                refused("`on_complete`", told.replace(Ok(())))?;
                let last = next()?;
                ensure!(last.is_complete() && !last.cancel() && !called.cancel());
                let RawReply { status, why, .. } = raw.wait()?;
                ensure!(status == DocaError::BAD_STATE && why.starts_with("made before fork"));
                refused("a query", query.wait())?;
                refused("another query", block_on(handle.workers_of_group(0)))?;
                refused("a start", starting.wait())?;
                refused("another start", service.worker().plugin(graph).start().wait())?;
                refused("a worker of an engine", {
                    let new = connect()?;
                    new.service.worker().engine(&engine).plugin(&new.graph).start().wait()
                })?;
                refused("a restart", worker.restart().wait())?;
                refused("a stop", worker.clone().stop().wait())?;
                refused("a state", worker.state())?;
                refused("a group", worker.group())?;
                refused("a count", worker.in_flight())?;
                refused("an engine", service.engine().in_flight())?;
                refused("a notification", service.engine().request_notification())?;
                refused("its end", service.engine().clear_notification())?;
                ensure!(!service.progress() && !engine.progress(), "nothing moves");
                refused("a plugin", service.plugin_named("worker_graph"))?;
                let domain = service.domain().worker(0, worker).gather(InProcess::alone());
                refused("a domain", domain.start().wait())?;
                let why = service.failure().context("a failure")?;
                ensure!(worker.failure().context("a failure")? == why);
                Ok(())
            })?
        })?;
        // The child is running now: commands on a shared connection would collide.
        for (answer, data) in answers.into_iter().zip(0..) {
            let data = round * 8 + data;
            ensure!(block_on_for(LIMIT, answer)??.data == data, "the answer is another's");
        }
        host.works(round)?;
        wait_for(child)?;
        host.works(round)?;
    }
    Ok(())
}

fn drops() -> Result<()> {
    let host = connect()?;
    for _ in 0..CHILDREN {
        let again = connect()?;
        let answer = again.graph.task_loopback(&again.worker, 5).submit()?;
        let memory = Mmap::allocate(4096, Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE)?;
        let shared = block_on(memory.share(&again.worker)).ok();
        let domain = again.service.domain().worker(0, &again.worker);
        let domain = block_on_for(LIMIT, domain.gather(InProcess::alone()).start())??;
        let query = again.service.workers_of_group(0);
        let everything = (domain, shared, memory, query, again);
        let mut everything = Some((everything, answer));
        in_child(|| {
            in_child(|| soon("a drop in a grandchild", || drop(everything.take())))?;
            soon("a drop", || drop(everything.take()))
        })?;
        let ((domain, shared, _memory, query, again), answer) = everything.context("all")?;
        ensure!(block_on_for(LIMIT, answer)??.data == 5);
        again.works(1)?;
        block_on_for(LIMIT, query)??;
        if let Some(shared) = shared {
            block_on_for(LIMIT, shared.unshare())??;
        }
        domain.stop_blocking()?;
        block_on_for(LIMIT, again.worker.stop())??;
        host.works(2)?;
    }
    Ok(())
}

/// Memory and counters. Parent and child wait for the parent's counter.
fn memory() -> Result<()> {
    let host = connect()?;
    let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
    let mut map = Mmap::allocate(4096, access)?;
    let inventory = Inventory::new(2)?;
    let buffer = inventory.take(&map, ..64)?;
    let event = SyncEvent::new()?;
    let exported = event.export()?;
    let other = event.wait_until_greater(100);
    let mut watched = std::pin::pin!(event.wait_until_greater(0));
    ensure!(block_on_for(Duration::from_millis(1), &mut watched).is_err());
    let mut shared: Vec<_> = [MemoryPath::MAPPED, MemoryPath::NETWORK]
        .into_iter()
        .filter_map(|path| {
            let map = Mmap::allocate(4096, access).ok()?;
            Some((block_on(map.share_from(&host.worker, path)).ok()?, map))
        })
        .collect();
    in_child(|| {
        soon("all that is refused", || {
            refused("a future", block_on(watched))?;
            refused("a new future", block_on(event.wait_until_greater(7)))?;
            refused("a wait", event.wait_until_greater_blocking(7, None))?;
            refused("a store", event.set(9))?;
            refused("an addition", event.fetch_add(9))?;
            refused("an export", event.export())?;
            refused("a map's export", map.export())?;
            refused("a slice", map.try_exclusive_bytes().map(drop))?;
            refused("a share", map.share(&host.worker).wait())?;
            while let Some((shared, _)) = shared.pop() {
                refused("the end of a share", shared.unshare().wait())?;
            }
            refused("a buffer", inventory.take(&map, ..64))?;
            refused("bytes of a buffer", buffer.append(b"x"))?;
            drop((other, buffer, map));
            anyhow::Ok(())
        })??;
        let (of_parent, own) = (SyncEvent::import(&exported)?, SyncEvent::new()?);
        ensure!(of_parent.range().memory != own.range().memory);
        of_parent.fetch_add(1)?;
        let waiting = own.wait_until_greater(0);
        let adding = std::thread::spawn({
            let own = own.clone();
            move || own.fetch_add(1)
        });
        ensure!(block_on_for(LIMIT, waiting)?? == 1);
        ensure!(matches!(adding.join(), Ok(Ok(0))));
        Ok(())
    })?;
    ensure!(event.wait_until_greater_blocking(0, LIMIT)? == 1, "the child has added");
    event.set(200)?;
    ensure!(block_on_for(LIMIT, SyncEvent::wait_until_greater(&event, 100))?? == 200);
    for (shared, _map) in shared {
        block_on_for(LIMIT, shared.unshare())??;
    }
    host.works(3)
}

fn everything_works(seed: u64) -> Result<()> {
    let host = connect()?;
    host.works(seed)?;
    let domain = host.service.domain().worker(0, &host.worker).gather(InProcess::alone());
    let domain = block_on_for(LIMIT, domain.start())??;
    let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
    for path in [MemoryPath::MAPPED, MemoryPath::NETWORK] {
        let map = Mmap::allocate(4096, access)?;
        match block_on_for(LIMIT, map.share_from(&host.worker, path))? {
            Ok(shared) => block_on_for(LIMIT, shared.unshare())??,
            Err(error) => ensure!(error.code() == DocaError::NOT_SUPPORTED, "{error}"),
        }
    }
    ensure!(!block_on_for(LIMIT, host.service.workers_of_group(0))??.is_empty());
    domain.stop_blocking()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let driven = drive(async { host.graph.task_loopback(&host.worker, 3).submit()?.await });
    ensure!(runtime.block_on(driven)?.data == 3);
    block_on_for(LIMIT, host.worker.stop())??;
    Ok(())
}

fn anew() -> Result<()> {
    in_child(|| everything_works(1))?;
    let host = connect()?;
    for round in 0..CHILDREN {
        let child = start_child(|| {
            everything_works(round + 10)?;
            in_child(|| everything_works(round + 20))
        })?;
        host.works(round)?;
        everything_works(round + 30)?;
        wait_for(child)?;
        host.works(round)?;
    }
    Ok(())
}

/// Threads use the library continuously while this thread forks.
fn threads() -> Result<()> {
    let host = connect()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let on_thread = runtime.block_on(HostThread::start(async || connect().map_err(told)))?;
    let over = AtomicBool::new(false);
    // A fork while a thread is inside UCX's set-up is not supported.
    let ready = Barrier::new(3);
    std::thread::scope(|scope| {
        let busy: Vec<_> = (0..2)
            .map(|seed| {
                let (handle, over, ready) = (host.service.handle(), &over, &ready);
                scope.spawn(move || -> Result<()> {
                    let graph = handle.plugin::<graph_protocol::Protocol>()?;
                    let event = SyncEvent::new()?;
                    let worker = block_on_for(LIMIT, handle.worker().plugin(&graph).start())??;
                    ready.wait();
                    for data in 0.. {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        let answer = graph.task_loopback(&worker, data << 1 | seed).submit()?;
                        ensure!(block_on_for(LIMIT, answer)??.data == data << 1 | seed);
                        ensure!(event.fetch_add(1)? == data);
                    }
                    Ok(())
                })
            })
            .collect();
        ready.wait();
        let children = (0..8).try_for_each(|round| {
            in_child(|| {
                let new = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                let run = on_thread.run(async |_: &Connected| Ok::<_, Error>(()));
                soon("a thread's refusal", || refused("a thread", new.block_on(run)))??;
                everything_works(round)
            })
        });
        over.store(true, Ordering::Relaxed);
        for thread in busy {
            let ended = thread.join();
            ended.map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        children
    })?;
    let works = async |host: &Connected| host.works(1).map_err(told);
    runtime.block_on(on_thread.run(works))?;
    host.works(4)
}

fn told(error: impl Debug) -> Error {
    Error::new(DocaError::UNEXPECTED, format!("{error:?}"))
}

/// A server that connects and then forks its children. Each child connects itself and serves
/// requests.
fn prefork() -> Result<()> {
    let host = connect()?;
    let mut children = Vec::new();
    for _ in 0..CHILDREN {
        let (own, mut theirs) = UnixStream::pair()?;
        let child = start_child(|| {
            let host = connect()?;
            let mut request = [0; 8];
            loop {
                theirs.read_exact(&mut request)?;
                let data = u64::from_le_bytes(request);
                if data == 0 {
                    return Ok(());
                }
                let answer = host.graph.task_loopback(&host.worker, data).submit()?;
                theirs.write_all(&block_on_for(LIMIT, answer)??.data.to_le_bytes())?;
            }
        })?;
        own.set_read_timeout(Some(LIMIT))?;
        children.push((own, child));
    }
    for request in 1..=200_u64 {
        for ((connection, _), number) in children.iter_mut().zip(0_u64..) {
            connection.write_all(&(request << 8 | number).to_le_bytes())?;
        }
        for ((connection, _), number) in children.iter_mut().zip(0_u64..) {
            let mut answer = [0; 8];
            connection.read_exact(&mut answer)?;
            ensure!(u64::from_le_bytes(answer) == request << 8 | number, "it is another's");
        }
    }
    host.works(5)?;
    for (mut connection, child) in children {
        connection.write_all(&[0; 8])?;
        wait_for(child)?;
    }
    host.works(6)
}

/// `daemon(3)`, before and after connecting. Each daemon reports to its creator.
fn daemon() -> Result<()> {
    for connects_before in [false, true] {
        let (mut report, mut to_parent) = UnixStream::pair()?;
        report.set_read_timeout(Some(LIMIT))?;
        in_child(|| {
            let before = connects_before.then(connect).transpose()?;
            // SAFETY: forks, and ends the process that called it at once.
            ensure!(unsafe { libc::daemon(1, 1) } == 0);
            if let Some(before) = &before {
                let Err(error) = before.graph.task_loopback(&before.worker, 1).submit() else {
                    bail!("a command goes through in a daemon")
                };
                ensure!(error.code() == DocaError::BAD_STATE, "{error}");
            }
            soon("a drop", || drop(before))?;
            everything_works(7)?;
            Ok(to_parent.write_all(b"works")?)
        })?;
        let mut said = [0; 5];
        report.read_exact(&mut said).context("the daemon does not report")?;
        ensure!(&said == b"works");
    }
    Ok(())
}

/// Children that exec: `posix_spawn`, and `fork` with `exec`.
fn programs() -> Result<()> {
    use std::os::unix::process::CommandExt;

    let host = connect()?;
    let answer = host.graph.task_loopback(&host.worker, 5).submit()?;
    ensure!(Command::new("true").status()?.success());
    let mut forked = Command::new("true");
    // SAFETY: the closure does nothing; the standard library forks for one.
    unsafe { forked.pre_exec(|| Ok(())) };
    ensure!(forked.status()?.success());
    ensure!(block_on_for(LIMIT, answer)??.data == 5);
    host.works(8)
}
