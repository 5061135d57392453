//! Restarting a dead worker.

use std::os::fd::AsRawFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use urom_host::{DocaError, Pending, Worker};

use crate::fake::{START_FAILURES, script};
use crate::{Client, connected, fails, send, sleep_until, start, world};

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn a_worker_that_died_is_started_again_and_one_that_runs_is_not() {
    let (_clean, service) = connected();
    let graph = service.plugin::<graph_protocol::Protocol>().unwrap();
    let builder = service.worker().id(5).group(2).plugin(&graph).max_inflight(4).timeout(SHORT);
    let worker = builder.start().wait().unwrap();
    assert_eq!(worker.restart().wait().unwrap_err().code(), DocaError::IN_USE);
    let dies = send(&graph, &worker, script::DIE | 11);
    assert_eq!(dies.wait().unwrap_err().code(), DocaError::CONNECTION_RESET);
    let again = worker.restart().wait().unwrap();
    assert_eq!((again.id(), again.max_inflight()), (5, 4));
    let [before, after] = [&worker, &again].map(|worker| worker.engine().as_raw_fd());
    assert_eq!(before, after, "the engine is the same");
    let hangs = graph.task_loopback(&again, script::HANG).submit().unwrap();
    assert_eq!(
        hangs.wait().unwrap_err().code(),
        DocaError::TIME_OUT,
        "the deadline is the same, too"
    );
    drop(worker);
    assert_eq!(graph.task_loopback(&again, 3).submit().unwrap().wait().unwrap().data, 3);
}

fn dead<'a>(graph: &Client, worker: &'a Worker, failures: &[DocaError]) -> &'a Worker {
    let dies = graph.task_loopback(worker, script::DIE | 11).submit().unwrap();
    assert_eq!(dies.wait().unwrap_err().code(), DocaError::CONNECTION_RESET);
    START_FAILURES.lock().unwrap().extend(failures);
    worker
}

fn failures_left() -> usize {
    START_FAILURES.lock().unwrap().len()
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn each_of_two_restarts_that_pause_is_woken_by_the_descriptor() {
    let (_clean, service) = connected();
    let (graph, first) = start(&service, 5);
    let (_, second) = start(&service, 6);
    let begin = |worker, failures| {
        let restart = dead(&graph, worker, &vec![DocaError::ALREADY_EXIST; failures]).restart();
        (Box::pin(restart), Arc::new(Woken(true.into())))
    };
    let mut restarts = vec![begin(&second, 3)];
    let mut begun = 1;
    first.engine().request_notification().unwrap();
    sleep_until(first.engine(), || {
        // As an executor does: a future without a wake-up is not polled.
        while restarts.iter().any(|(_, woken)| woken.0.load(SeqCst)) {
            restarts.retain_mut(|(restart, woken)| {
                let waker = Waker::from(Arc::clone(woken));
                if !woken.0.swap(false, SeqCst) {
                    return true;
                }
                let polled = restart.as_mut().poll(&mut Context::from_waker(&waker));
                polled.map(Result::unwrap).is_pending()
            });
            if begun == 1 && failures_left() == 0 {
                // The second is about to pause for 4 ms, the first for 1 ms.
                restarts.push(begin(&first, 1));
                begun = 2;
            }
        }
        restarts.is_empty()
    });
    assert_eq!(begun, 2);
}

/// Polls only when the engine's descriptor is readable, as an event loop does.
fn wait_on_the_descriptor(worker: &Worker, starting: Pending<Worker>) -> Worker {
    let mut starting = pin!(starting);
    let mut started = None;
    worker.engine().request_notification().unwrap();
    sleep_until(worker.engine(), || {
        match starting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(worker) => started = Some(worker.unwrap()),
            Poll::Pending => {}
        }
        started.is_some()
    });
    started.unwrap()
}

#[test]
fn a_restart_waits_longer_and_longer_for_a_service_that_takes_the_old_worker_for_one_that_runs() {
    let (_clean, service) = connected();
    let early = [DocaError::ALREADY_EXIST, DocaError::FULL, DocaError::ALREADY_EXIST];
    for on_descriptor in [false, true] {
        let (graph, worker) = start(&service, 5);
        let began = Instant::now();
        let restart = dead(&graph, &worker, &early).restart();
        let again = if on_descriptor {
            wait_on_the_descriptor(&worker, restart)
        } else {
            restart.wait().unwrap()
        };
        assert!(began.elapsed() >= Duration::from_millis(1 + 2 + 4), "{:?}", began.elapsed());
        assert_eq!((again.id(), failures_left()), (5, 0));
    }
}

#[test]
fn a_service_that_does_not_let_go_of_the_old_worker_is_asked_a_few_times_in_two_seconds() {
    let (_clean, _service, graph, worker) = world(5);
    let began = Instant::now();
    fails(
        dead(&graph, &worker, &[DocaError::ALREADY_EXIST; 100]).restart().wait(),
        DocaError::ALREADY_EXIST,
        &[],
    );
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert!((80..99).contains(&failures_left()), "{} asked", 100 - failures_left());
}

#[test]
fn a_worker_that_dies_while_it_starts_again_is_not_started_once_more() {
    let (_clean, _service, graph, worker) = world(5);
    let lost = [DocaError::ALREADY_EXIST, DocaError::CONNECTION_RESET, DocaError::CONNECTION_RESET];
    let error = dead(&graph, &worker, &lost).restart().wait().unwrap_err();
    assert_eq!((error.code(), failures_left()), (DocaError::CONNECTION_RESET, 1));
}
