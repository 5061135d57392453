//! Sleeping on the event handle: in this crate's own wait, and in others.

mod embedded_support;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use embedded_support::{Graph, LIMIT, connect, start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::LocalSet;
use urom_host::gather::InProcess;
use urom_host::{ProgressEngine, Service, block_on_for};

/// Progresses an engine whenever its handle says so, and counts how often it slept.
async fn drive(engine: ProgressEngine, slept: Rc<Cell<usize>>) {
    // SAFETY: the engine keeps its descriptor as long as a clone of it lives, and never replaces
    // it.
    let handle =
        unsafe { AsyncFd::register_with_interest(engine.clone(), Interest::READABLE) }.unwrap();
    loop {
        while engine.progress() {}
        engine.request_notification().unwrap();
        slept.set(slept.get() + 1);
        handle.readable().await.unwrap().clear_ready();
        engine.clear_notification().unwrap();
    }
}

fn tokio_with(service: &Service, test: impl AsyncFnOnce()) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let slept = Rc::new(Cell::new(0));
    LocalSet::new().block_on(&runtime, async {
        let driver = tokio::task::spawn_local(drive(service.engine().clone(), Rc::clone(&slept)));
        tokio::time::timeout(LIMIT, test()).await.expect("in time");
        driver.abort();
        let _ = driver.await;
    });
    slept.get()
}

#[test]
fn tokio_is_woken_to_look_after_an_exchange_with_another_thread() {
    let service = connect();
    let graph = service.plugin::<Graph>().unwrap();
    let mut group = InProcess::group(2);
    let (late, mine) = (group.pop().unwrap(), group.pop().unwrap());
    let handle = service.handle();
    let (go, wait) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        wait.recv().unwrap();
        let graph = handle.plugin::<Graph>().unwrap();
        let worker = handle.worker().plugin(&graph).start().wait().unwrap();
        handle.domain().worker(1, &worker).gather(late).start().wait().unwrap().participants()
    });
    let slept = tokio_with(&service, async || {
        let worker = service.worker().plugin(&graph).start().await.unwrap();
        let mut start = service.domain().worker(0, &worker).gather(mine).start();
        let early = tokio::time::timeout(Duration::from_millis(100), &mut start).await;
        assert!(early.is_err(), "the other one has not begun");
        go.send(()).unwrap();
        assert_eq!(start.await.unwrap().participants(), 2);
    });
    assert_eq!(other.join().unwrap(), 2);
    // About once a millisecond while the exchange was under way.
    assert!((20..1000).contains(&slept), "the driver slept {slept} times");
}

#[test]
fn the_handle_is_quiet_while_nothing_is_in_flight_and_readable_once_a_reply_is_there() {
    let service = connect();
    let (graph, worker) = start(&service);
    let engine = service.engine();
    let readable = |limit: Duration| {
        let mut set = [PollFd::new(engine, PollFlags::IN)];
        let limit =
            Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        poll(&mut set, Some(&limit)).unwrap() == 1
    };
    let woken = || {
        while engine.progress() {}
        engine.request_notification().unwrap();
        let woken = readable(Duration::from_millis(50));
        engine.clear_notification().unwrap();
        woken
    };
    // What is left of the start takes a moment; from then on nothing is to be done.
    assert!((0..20).any(|_| !woken()), "never quiet");
    for data in 0..100 {
        if data < 10 {
            // Long enough for the worker to fall asleep as well.
            assert!(!woken(), "woken for nothing, before {data}");
        }
        let flight = graph.task_loopback(&worker, data).submit().unwrap();
        while !flight.is_complete() {
            engine.request_notification().unwrap();
            assert!(readable(LIMIT), "never woken for {data}");
            engine.clear_notification().unwrap();
            while engine.progress() {}
        }
        assert_eq!(flight.wait().unwrap().data, data);
    }
}

#[test]
fn a_blocking_wait_sleeps_and_misses_nothing() {
    let service = connect();
    let (graph, worker) = start(&service);
    for data in 0..300 {
        // Idle for longer than either side spins, with the engine armed.
        block_on_for(Duration::from_micros(500), std::future::pending::<()>()).unwrap_err();
        assert_eq!(graph.task_loopback(&worker, data).submit().unwrap().wait().unwrap().data, data);
    }
}

#[test]
fn waiting_for_nothing_uses_no_cpu() {
    let service = connect();
    let (_graph, _worker) = start(&service);
    let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (before, limit) = (used(), Duration::from_millis(300));
    block_on_for(limit, std::future::pending::<()>()).unwrap_err();
    let after = used();
    let nanos = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec;
    assert!(nanos < 30_000_000, "{nanos} ns of CPU in {limit:?}");
}
