//! Workers and domains that stop after their drop: their engine destroys them later.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use urom_host::{ContextState, ProgressEngine, Service, block_on_for};

use crate::domains::{domain, run};
use crate::fake::{self, HABIT, habit, live, script};
use crate::{Graph, connected, send, start, world};

/// The longest drop on a busy machine: a drop waits for 0.1 s.
const BRIEFLY: Duration = Duration::from_millis(400);

/// A drop that itself waits for the end takes at least this long.
const WAITS: Duration = Duration::from_millis(600);

fn freeze() {
    HABIT.store(habit::FREEZES, Ordering::SeqCst);
}

fn thaw() {
    HABIT.store(habit::GOOD, Ordering::SeqCst);
}

fn thaw_later() -> JoinHandle<()> {
    std::thread::spawn(|| {
        std::thread::sleep(WAITS);
        thaw();
    })
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

#[test]
fn a_worker_that_does_not_stop_is_destroyed_by_a_later_progress() {
    let (_clean, service, graph, worker) = world(0);
    let (_, other) = start(&service, 1);
    drop(send(&graph, &worker, script::HANG));
    let before = live();
    freeze();
    let took = timed(|| drop(worker));
    assert!(took < BRIEFLY, "{took:?}");
    while service.progress() {}
    assert_eq!((live(), other.state().unwrap()), (before, ContextState::Running));
    thaw();
    while service.progress() {}
    assert_eq!(live(), before - 1);
}

#[test]
fn a_stop_that_is_cancelled_is_over_with_a_later_progress() {
    let (_clean, service, _, worker) = world(0);
    let before = live();
    freeze();
    let took = timed(|| drop(worker.stop()));
    assert!(took < BRIEFLY && live() == before, "{took:?}");
    thaw();
    while service.progress() {}
    assert_eq!(live(), before - 1);
}

#[test]
fn the_last_user_of_an_engine_waits_for_those_that_leave() {
    let (_clean, service) = connected();
    let engine = service.engine().clone();
    let workers = [0, 1, 2].map(|id| start(&service, id).1);
    freeze();
    let took = timed(|| drop(service));
    assert!(took < BRIEFLY, "workers keep the service: {took:?}");
    workers.into_iter().for_each(drop);
    let thawing = thaw_later();
    let took = timed(|| drop(engine));
    assert!(took > WAITS / 2, "{took:?}");
    assert_eq!(live(), 0);
    thawing.join().unwrap();
}

#[test]
fn a_worker_that_has_its_engine_alone_waits_for_its_own_end() {
    let (_clean, service) = connected();
    let graph = service.plugin::<Graph>().unwrap();
    let worker = service.handle().worker().plugin(&graph).start().wait().unwrap();
    let before = live();
    freeze();
    let thawing = thaw_later();
    drop(worker);
    assert_eq!(live(), before - 2);
    thawing.join().unwrap();
}

#[test]
fn an_engine_whose_last_user_goes_in_a_callback_waits_after_it() {
    let (_clean, service) = connected();
    let engine = ProgressEngine::with_library(service.library()).unwrap();
    let graph = service.plugin::<Graph>().unwrap();
    let on_its_own =
        |id| service.worker().id(id).engine(&engine).plugin(&graph).start().wait().unwrap();
    let (leaves, worker) = (on_its_own(1), on_its_own(2));
    let before = live();
    freeze();
    drop(leaves);
    let slot = Rc::new(RefCell::new(None));
    let (theirs, inside) = (Rc::clone(&slot), Rc::new(Cell::new(0)));
    let seen = Rc::clone(&inside);
    let task = graph.task_loopback(&worker, 1);
    task.submit_with(move |_| {
        drop(theirs.borrow_mut().take());
        seen.set(live());
    })
    .unwrap();
    *slot.borrow_mut() = Some((engine, worker));
    let thawing = thaw_later();
    // The worker dropped in the callback is destroyed after it, and the engine with it.
    block_on_for(BRIEFLY, pending::<()>()).unwrap_err();
    thawing.join().unwrap();
    assert!(inside.get() >= before);
    assert_eq!(live(), before - 3);
}

#[test]
fn a_domain_that_does_not_stop_keeps_its_drop_waiting_and_its_worker_goes_with_it() {
    let (_clean, service, _, worker) = world(0);
    let domain = run(domain(&service, &worker));
    drop(worker);
    let before = live();
    freeze();
    let thawing = thaw_later();
    let took = timed(|| drop(domain));
    assert!(took > WAITS / 2, "{took:?}");
    assert_eq!(live(), before - 2);
    thawing.join().unwrap();
}

#[test]
fn the_drop_of_a_worker_waits_where_the_library_does_not_take_it_over() {
    let _clean = fake::clean();
    let service = Service::builder().library(fake::plain_library()).connect_blocking().unwrap();
    let (_, worker) = start(&service, 0);
    let before = live();
    freeze();
    let thawing = thaw_later();
    let took = timed(|| drop(worker));
    assert!(took > WAITS / 2, "{took:?}");
    assert_eq!(live(), before - 1);
    thawing.join().unwrap();
}
