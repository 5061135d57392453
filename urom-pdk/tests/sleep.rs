//! Wakes of a sleeping worker, and tasks beside the commands.

mod common;

use std::cell::Cell;
use std::ffi::c_int;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::thread;

use common::protocol::{WAIT, command, fields, script};
use common::{Worker, open};
use urom_pdk::{Task, Tasks};

fn rings(descriptors: &[c_int]) -> bool {
    let watch = |fd: &c_int| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
    let mut watched: Vec<_> = descriptors.iter().map(watch).collect();
    // SAFETY: the array has this length, and the call does not wait.
    unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, 0) > 0 }
}

fn tasks() -> Tasks {
    script().tasks.borrow().clone().expect("it was opened")
}

#[test]
fn a_wake_on_another_thread_ends_the_sleep_and_one_on_this_thread_needs_none() {
    let mut worker = open();
    worker.send(9, 1, &command(WAIT, 7));
    let waker = script().wakers.borrow()[0].clone();
    let descriptors = worker.arm().expect("nothing was woken");
    assert!(!descriptors.is_empty() && !rings(&descriptors));
    script().released.set(true);
    let other = waker.clone();
    thread::spawn(move || other.wake()).join().expect("waking does not panic");
    assert!(rings(&descriptors));
    let answers: Vec<_> = worker.progress().iter().map(fields).collect();
    assert_eq!(answers, [(WAIT, 7)]);
    // It rings once.
    assert!(!rings(&worker.arm().expect("nothing was woken")));
    worker.progress();
    waker.wake();
    assert!(!rings(&descriptors), "the worker is awake");
}

#[test]
fn a_worker_does_not_sleep_beside_a_wake_that_came_before() {
    let mut worker = open();
    worker.send(9, 1, &command(WAIT, 7));
    let waker = script().wakers.borrow()[0].clone();
    thread::spawn(move || waker.wake()).join().expect("waking does not panic");
    assert_eq!(worker.arm(), None);
    worker.progress();
    assert!(worker.arm().is_some());
}

#[test]
fn a_handler_that_has_something_to_do_keeps_the_worker_awake_and_one_that_panics_does_not() {
    let mut worker = open();
    script().moves.set(true);
    assert_eq!(worker.arm(), None);
    script().moves.set(false);
    assert_eq!(worker.arm().expect("nothing to do").len(), 1);
    script().progress_panics.set(true);
    assert_eq!(worker.arm().expect("nothing to do").len(), 1);
    worker.progress();
    assert_eq!(worker.arm(), Some(Vec::new()), "it works no more");
}

/// Starts a task that ends when the returned waker wakes it.
fn task(worker: &mut Worker, done: &Rc<Cell<u32>>) -> (Task, Waker) {
    let (done, kept) = (Rc::clone(done), Rc::new(Cell::new(None)));
    let (first, keep) = (Cell::new(true), Rc::clone(&kept));
    let task = tasks().spawn(async move {
        poll_fn(|cx| {
            keep.set(Some(cx.waker().clone()));
            if first.take() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        done.set(done.get() + 1);
    });
    worker.progress();
    (task, kept.take().expect("it was polled"))
}

#[test]
fn a_task_runs_when_it_is_woken_on_any_thread() {
    let mut worker = open();
    let done = Rc::new(Cell::new(0));
    let (_, waker) = task(&mut worker, &done);
    worker.progress();
    assert_eq!(done.get(), 0);
    let descriptors = worker.arm().expect("nothing was woken");
    thread::spawn(move || waker.wake()).join().expect("waking does not panic");
    assert!(rings(&descriptors));
    worker.progress();
    assert_eq!(done.get(), 1);
}

#[test]
fn a_task_that_was_started_is_something_to_do_and_one_that_starts_another_is_fine() {
    let mut worker = open();
    let done = Rc::new(Cell::new(0));
    let inner = Rc::clone(&done);
    tasks().spawn(async move {
        tasks().spawn(async move { inner.set(7) });
    });
    assert_eq!(worker.arm(), None);
    worker.progress();
    worker.progress();
    assert_eq!(done.get(), 7);
    assert!(worker.arm().is_some());
}

struct Dropped(Rc<Cell<u32>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn tasks_end_by_a_cancel_by_a_panic_and_at_close() {
    let mut worker = open();
    let dropped = Rc::new(Cell::new(0));
    let forever = |panics: bool| {
        let dropped = Dropped(Rc::clone(&dropped));
        tasks().spawn(async move {
            let _dropped = dropped;
            assert!(!panics, "as the test asks");
            pending::<()>().await;
        })
    };
    let (cancelled, _kept) = (forever(false), forever(false));
    forever(true);
    worker.progress();
    assert_eq!(dropped.get(), 1);
    cancelled.cancel();
    worker.progress();
    assert_eq!(dropped.get(), 2);
    let tasks = tasks();
    worker.close();
    assert_eq!(dropped.get(), 3);
    let late = Dropped(Rc::clone(&dropped));
    tasks.spawn(async move { drop(late) });
    assert_eq!(dropped.get(), 4, "nothing runs after the close");
}
