//! Engines and futures of one thread: a busy one does not starve the others.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use urom_host::{Completion, DocaError, Worker, block_on};

use crate::fake::{self, script};
use crate::{Client, LIMIT, connect, connected, send, start};

const SHORT: Duration = Duration::from_millis(2);

/// A worker whose engine moves all the time while this lives.
struct Busy {
    graph: Client,
    worker: Worker,
    goes_on: Cell<bool>,
}

impl Busy {
    fn start(service: &urom_host::Service) -> Rc<Busy> {
        let (graph, worker) = start(service, 0);
        let busy = Rc::new(Busy { graph, worker, goes_on: Cell::new(true) });
        Busy::submit(&busy);
        busy
    }

    fn submit(self: &Rc<Busy>) {
        let busy = Rc::clone(self);
        let again = move |_| {
            if busy.goes_on.get() {
                Busy::submit(&busy);
            }
        };
        self.graph.task_loopback(&self.worker, 1).submit_with(again).unwrap();
    }

    fn hang(&self) -> Completion<graph_protocol::LoopbackDone> {
        self.graph.task_loopback(&self.worker, script::HANG).timeout(LIMIT).submit().unwrap()
    }

    fn end(self: Rc<Busy>) {
        self.goes_on.set(false);
        while self.worker.engine().progress() {}
    }
}

#[test]
fn waits_for_a_task_of_a_busy_engine_keep_no_other_engine_from_its_deadlines() {
    let _clean = fake::clean();
    let (service, other) = (connect(), connect());
    let busy = Busy::start(&service);
    let (graph, worker) = start(&other, 0);
    for sleeps in [false, true] {
        let hangs = busy.hang();
        let handle = hangs.handle();
        let task = graph.task_loopback(&worker, script::HANG).timeout(SHORT);
        task.submit_with(move |_| assert!(handle.cancel())).unwrap();
        let end = if sleeps { block_on(hangs) } else { hangs.wait() };
        assert_eq!(end.unwrap_err().code(), DocaError::SKIPPED, "not by its own deadline");
    }
    busy.end();
}

#[test]
fn waits_that_end_at_once_keep_no_engine_from_its_answers_and_no_task_from_its_deadline() {
    let _clean = fake::clean();
    let (service, other) = (connect(), connect());
    let (graph, worker) = start(&service, 0);
    let (theirs, elsewhere) = start(&other, 0);
    let answered = Rc::new(Cell::new(0));
    let count = || {
        let answered = Rc::clone(&answered);
        move |_| answered.set(answered.get() + 1)
    };
    theirs.task_loopback(&elsewhere, 1).submit_with(count()).unwrap();
    theirs.task_loopback(&elsewhere, script::HANG).timeout(SHORT).submit_with(count()).unwrap();
    graph.task_loopback(&worker, script::HANG).timeout(SHORT).submit_with(count()).unwrap();
    let began = Instant::now();
    while answered.get() < 3 {
        assert!(began.elapsed() < LIMIT, "only {} of 3", answered.get());
        assert_eq!(send(&graph, &worker, 7).wait().unwrap().data, 7);
    }
}

#[test]
fn a_future_of_a_busy_engine_lets_the_others_be_polled() {
    let (_clean, service) = connected();
    let busy = Busy::start(&service);
    let mut hangs = pin!(busy.hang());
    let handle = hangs.handle();
    assert!(hangs.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // It wakes its own waker to continue.
    let mut turns = 0;
    let end = block_on(poll_fn(|cx| {
        turns += 1;
        if turns == 3 {
            assert!(handle.cancel());
        }
        hangs.as_mut().poll(cx)
    }));
    assert_eq!((turns, end.unwrap_err().code()), (3, DocaError::SKIPPED));
    busy.end();
}
