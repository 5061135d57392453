//! A host program for the graph plugin: says what `tests/c/graph_host.c` says, but for what DOCA's C interface alone shows.
//!
//! Argument: the device, `mlx5_0` unless given. The service is the one that the environment names.

mod common;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Barrier;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use common::{LIMIT, code, progress, say_quiet, say_raw, submit_raw};
use graph_protocol::{Client, Protocol};
use urom_host::{
    DocaError, Host, ProgressEngine, Service, ServiceHandle, Worker, WorkerBuilder, block_on_for,
};

const TASKS: u32 = 32;
const THREADS: u64 = 4;

fn main() -> Result<()> {
    let service = common::connect()?;
    let graph = service.plugin::<Protocol>()?;
    common::say_service(&service, "worker_graph")?;
    let first = || service.worker().id(5).group(2).plugin(&graph).max_inflight(TASKS);
    let worker = Rc::new(first().start().wait()?);
    println!("worker {} runs", worker.id());
    say_quiet(service.engine());

    for data in [0, 42, u64::MAX] {
        say_loopback(&graph, &worker, data)?;
    }
    many(&graph, &worker)?;
    bad_commands(&graph, &worker)?;
    say_loopback(&graph, &worker, 7)?;
    say_group(&service, 2)?;
    say_group(&service, 99)?;
    more_workers(&service, &graph, first)?;
    threads(&service)?;
    Rc::into_inner(worker).context("a callback keeps the worker")?.stop().wait()?;
    println!("worker 5 is stopped");
    Ok(())
}

fn say_loopback(graph: &Client<Host>, worker: &Worker, data: u64) -> Result<()> {
    let loopback = graph.task_loopback(worker, data).submit()?;
    let nonzero = progress_until(worker.engine(), || loopback.is_complete());
    let result = loopback.wait();
    let came = result.as_ref().map_or(0, |done| done.data);
    println!("loopback {data}: {}, {came}, {nonzero} nonzero", code(&result).name());
    Ok(())
}

fn many(graph: &Client<Host>, worker: &Rc<Worker>) -> Result<()> {
    let (order, engine) = (Order::new(), worker.engine().clone());
    for data in 0..TASKS.into() {
        let order = Rc::clone(&order);
        graph
            .task_loopback(worker, data)
            .submit_with(move |result| order.came(result.ok().map(|done| done.data)))?;
    }
    let in_flight = worker.in_flight()?;
    let more = code(&graph.task_loopback(worker, 0).submit());
    println!("{in_flight} in flight, one more: {}", more.name());
    let nonzero = progress_until(&engine, || order.count() == TASKS.into());
    println!("{} completed {}, {nonzero} nonzero", order.count(), order.verdict());

    let order = Order::new();
    chain(graph, worker, &order, 100);
    let nonzero = progress_until(&engine, || order.count() == 100);
    println!("{} one after the other: {}, {nonzero} nonzero", order.count(), order.verdict());
    Ok(())
}

/// Submits the next one from the callback of the one before, until there were `wanted`.
fn chain(graph: &Client<Host>, worker: &Rc<Worker>, order: &Rc<Order>, wanted: u64) {
    let (again, at, mine) = (graph.clone(), Rc::clone(worker), Rc::clone(order));
    let submitted = graph.task_loopback(worker, order.count()).submit_with(move |result| {
        mine.came(result.ok().map(|done| done.data));
        if mine.count() < wanted {
            chain(&again, &at, &mine, wanted);
        }
    });
    if submitted.is_err() {
        order.came(None);
    }
}

fn bad_commands(graph: &Client<Host>, worker: &Worker) -> Result<()> {
    let (mut good, mut unknown) = ([0; 16], [0; 16]);
    good[8] = 5;
    unknown[0] = 9;
    let full = [0; 4072];
    let plugin = graph.as_ref();
    say_raw("a loopback", worker, plugin, &good)?;
    say_raw("an unknown type", worker, plugin, &unknown)?;
    say_raw("15 bytes", worker, plugin, &good[..15])?;
    say_raw("17 bytes", worker, plugin, &full[..17])?;
    say_raw("no bytes", worker, plugin, &[])?;
    say_raw("4072 bytes", worker, plugin, &full)?;
    println!(
        "4073 bytes: {}",
        expect(DocaError::TOO_BIG, &worker.command(plugin, &[0; 4073]))?.name()
    );
    let answers = [good, unknown, good].map(|bytes| submit_raw(worker, plugin, &bytes));
    let mut codes = Vec::new();
    for answer in answers {
        codes.push(block_on_for(LIMIT, answer?)?.status.name());
    }
    println!("good, bad, good: {}", codes.join(", "));
    Ok(())
}

/// More connections: to the same worker, to one that may not be made, to one with an id of the service's choice.
fn more_workers(
    service: &Service,
    graph: &Client<Host>,
    first: impl Fn() -> WorkerBuilder,
) -> Result<()> {
    let again = first().start().wait()?;
    println!("worker {} once more", again.id());
    say_loopback(graph, &again, 6)?;
    again.stop().wait()?;
    expect(DocaError::ALREADY_EXIST, &first().env("NAME", "value").start().wait())?;
    println!("worker 5 with an environment: it exists and does not start");
    let any = service.worker().group(7).plugin(graph).start().wait()?;
    ensure!(any.id() != urom_host::WORKER_ID_ANY && any.id() != 5, "worker {}", any.id());
    println!("a worker of any id has one of its own");
    Ok(any.stop().wait()?)
}

/// Several workers, each in a thread with an engine of its own.
fn threads(service: &Service) -> Result<()> {
    let quit = Barrier::new(THREADS as usize + 1);
    thread::scope(|scope| {
        let (told, tell) = std::sync::mpsc::channel();
        let threads: Vec<_> = (0..THREADS)
            .map(|id| {
                let (handle, quit, told) = (service.handle(), &quit, told.clone());
                scope.spawn(move || -> Result<()> {
                    let worker = worker_in_a_thread(&handle, id);
                    let (worker, came) =
                        worker.map_or_else(|error| (None, Err(error)), |(w, d)| (Some(w), Ok(d)));
                    let _ = told.send((id, came));
                    quit.wait();
                    Ok(worker.map_or(Ok(()), |worker| worker.stop().wait())?)
                })
            })
            .collect();
        let mut came: Vec<_> = tell.iter().take(threads.len()).collect();
        came.sort_by_key(|(id, _)| *id);
        for (id, data) in came {
            match data {
                Ok(data) => {
                    println!("worker {id} in a thread: {}, {data}", DocaError::SUCCESS.name())
                }
                Err(error) => println!("worker {id} in a thread: {error}"),
            }
        }
        let groups = say_group(service, 1).and_then(|()| say_group(service, 0));
        quit.wait();
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        groups
    })
}

fn worker_in_a_thread(service: &ServiceHandle, id: u64) -> Result<(Worker, u64)> {
    let graph = service.plugin::<Protocol>()?;
    let engine = ProgressEngine::with_library(service.library())?;
    let builder = service
        .worker()
        .engine(&engine)
        .id(id)
        .group((id % 2) as u32)
        .plugin(&graph)
        .max_inflight(2);
    let worker = builder.env("UCX_LOG_LEVEL", "warn").start().wait()?;
    let loopback = graph.task_loopback(&worker, worker.id()).submit()?;
    // The first progress that moves anything is the answer.
    while !progress(&engine) {}
    ensure!(loopback.is_complete(), "worker {id}: something else than the answer came");
    Ok((worker, loopback.wait()?.data))
}

/// Progresses until `done`, and says how many calls moved something.
fn progress_until(engine: &ProgressEngine, done: impl Fn() -> bool) -> u32 {
    let mut nonzero = 0;
    while !done() {
        nonzero += u32::from(progress(engine));
    }
    nonzero
}

fn say_group(service: &Service, group: u32) -> Result<()> {
    let ids = block_on_for(LIMIT, service.workers_of_group(group))??;
    let ids: String = ids.iter().map(|id| format!(" {id}")).collect();
    println!("workers of group {group}:{ids}");
    Ok(())
}

/// Counts completions that come in the order of their numbers.
#[derive(Default)]
struct Order {
    count: Cell<u64>,
    wrong: Cell<bool>,
}

impl Order {
    fn new() -> Rc<Order> {
        Rc::default()
    }

    fn count(&self) -> u64 {
        self.count.get()
    }

    /// One more, which says it is number `number`.
    fn came(&self, number: Option<u64>) {
        self.wrong.set(self.wrong.get() || number != Some(self.count.get()));
        self.count.set(self.count.get() + 1);
    }

    fn verdict(&self) -> &'static str {
        if self.wrong.get() { "out of order" } else { "in order" }
    }
}

/// Fails unless an error has this code.
fn expect<T>(wanted: DocaError, result: &urom_host::Result<T>) -> Result<DocaError> {
    let found = code(result);
    ensure!(found == wanted, "{} and not {}", found.name(), wanted.name());
    Ok(found)
}
