//! Sleeping on a worker's event descriptor, and wakeups by messages.

mod common;

use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::thread;

use common::{DEADLINE, TRANSPORTS, context, finish, log};
use ucx::Worker;

fn sleep(worker: &Worker) -> bool {
    let mut poll = libc::pollfd {
        fd: worker.event_fd().unwrap().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the array has one descriptor, writable for the answer.
    let ready = unsafe { libc::poll(&mut poll, 1, DEADLINE.as_millis() as i32) };
    ready == 1
}

/// Progresses, and sleeps when idle, until `done` returns true. Returns the number of sleeps.
fn run(worker: &Worker, mut done: impl FnMut() -> bool) -> u32 {
    let mut sleeps = 0;
    while !done() {
        if !worker.progress() && worker.arm().unwrap() && !done() {
            assert!(sleep(worker), "nothing came");
            sleeps += 1;
        }
    }
    sleeps
}

#[test]
fn a_round_trip_between_two_sleeping_threads_ends() {
    for transports in TRANSPORTS {
        const ROUNDS: u8 = 100;
        let mode = if transports == "tcp" { ucx::ErrorMode::Peer } else { ucx::ErrorMode::None };
        let (tell, told) = mpsc::channel();
        let (quit, wait) = mpsc::channel::<()>();
        let echo = thread::spawn(move || {
            let worker = context(transports).worker().unwrap();
            let (seen, log) = log();
            worker
                .set_am_handler(1, move |message| {
                    message.reply().unwrap().am_send(2, message.header, ()).detach();
                    log.borrow_mut().push(message.header[0]);
                })
                .unwrap();
            tell.send(worker.address().unwrap()).unwrap();
            run(&worker, || seen.borrow().len() == usize::from(ROUNDS));
            assert_eq!(worker.flush().wait().0, Ok(()));
            while wait.recv().is_ok() {}
            assert!(seen.take().into_iter().eq(0..ROUNDS));
        });
        let address = told.recv().unwrap();
        let worker = context(transports).worker().unwrap();
        let endpoint = worker.endpoint().error_mode(mode).connect(&address).unwrap();
        let (seen, log) = log();
        worker.set_am_handler(2, move |message| log.borrow_mut().push(message.header[0])).unwrap();
        for round in 0..ROUNDS {
            endpoint.am_send_with(1, &[round], (), ucx::AmFlags::REPLY).detach();
            run(&worker, || seen.borrow().len() > usize::from(round));
        }
        assert!(seen.take().into_iter().eq(0..ROUNDS));
        drop(quit);
        echo.join().unwrap();
    }
}

#[test]
fn a_worker_with_an_error_hook_to_run_does_not_sleep() {
    let worker = context("tcp").worker().unwrap();
    let (seen, log) = log();
    let peer = context("tcp").worker().unwrap();
    let endpoint = worker
        .endpoint()
        .on_error(move |status| log.borrow_mut().push(status))
        .connect(&peer.address().unwrap())
        .unwrap();
    assert_eq!(finish(&[&worker, &peer], endpoint.flush()).0, Ok(()));
    drop(peer);
    run(&worker, || !seen.borrow().is_empty());
    assert!(seen.borrow()[0].is_error());
}
