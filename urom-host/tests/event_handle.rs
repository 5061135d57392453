//! Sleeping on the event handle: in this crate's wait, and in other event loops.

mod embedded_support;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use embedded_support::{Graph, LIMIT, connect, start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use urom_host::gather::InProcess;
use urom_host::{ProgressEngine, block_on_for};

fn is_readable(engine: &ProgressEngine, limit: Duration) -> bool {
    let mut set = [PollFd::new(engine, PollFlags::IN)];
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    poll(&mut set, Some(&limit)).unwrap() == 1
}

#[test]
fn an_event_loop_is_woken_to_look_after_an_exchange_with_another_thread() {
    let service = connect();
    let (_, worker) = start(&service);
    let mut group = InProcess::group(2);
    let (late, mine) = (group.pop().unwrap(), group.pop().unwrap());
    let handle = service.handle();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        let graph = handle.plugin::<Graph>().unwrap();
        let worker = handle.worker().plugin(&graph).start().wait().unwrap();
        handle.domain().worker(1, &worker).gather(late).start().wait().unwrap().participants()
    });
    let (engine, began) = (service.engine(), Instant::now());
    let mut starting = service.domain().worker(0, &worker).gather(mine).start();
    let mut slept = 0;
    let domain = loop {
        while engine.progress() {}
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(domain) = Pin::new(&mut starting).poll(&mut cx) {
            break domain.unwrap();
        }
        engine.request_notification().unwrap();
        assert!(is_readable(engine, LIMIT), "never woken");
        engine.clear_notification().unwrap();
        slept += 1;
    };
    assert!(began.elapsed() >= Duration::from_millis(100), "the other one had not begun");
    assert_eq!((domain.participants(), other.join().unwrap()), (2, 2));
    // About once a millisecond during the exchange.
    assert!((20..1000).contains(&slept), "the event loop slept {slept} times");
}

#[test]
fn the_handle_is_quiet_while_nothing_is_in_flight_and_readable_once_a_reply_is_there() {
    let service = connect();
    let (graph, worker) = start(&service);
    let engine = service.engine();
    let woken = || {
        while engine.progress() {}
        engine.request_notification().unwrap();
        let woken = is_readable(engine, Duration::from_millis(50));
        engine.clear_notification().unwrap();
        woken
    };
    // The start ends after a moment; then nothing is ready.
    assert!((0..20).any(|_| !woken()), "never quiet");
    for data in 0..100 {
        if data < 10 {
            assert!(!woken(), "woken for nothing, before {data}");
        }
        let flight = graph.task_loopback(&worker, data).submit().unwrap();
        while !flight.is_complete() {
            engine.request_notification().unwrap();
            assert!(is_readable(engine, LIMIT), "never woken for {data}");
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
        // Idle longer than either side spins, with the engine armed.
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
