//! Peers in their own processes that are killed.

mod common;

use std::time::Instant;

use common::watched as worker;
use common::{
    DEADLINE, Process, again, announcements, finish, headers, is_from, log, mesh, pattern, say,
    until,
};
use ucx::{AmFlags, CloseMode, Endpoint, PeerAddress, Status, Worker};

const TRANSPORTS: [&str; 2] = ["tcp", "tcp,shm,self"];

#[derive(Debug, Clone, Copy)]
enum Way {
    Worker,
    Peer,
}

/// The peer process: sends its address, echoes messages, and never ends by itself.
#[test]
#[ignore = "the other process of the tests in this file"]
fn peer() {
    let Ok(transports) = std::env::var("UROM_TEST_TRANSPORTS") else { return };
    let mesh = mesh(&transports);
    let worker = mesh.worker().unwrap();
    worker
        .set_am_handler(1, |message| {
            message.reply().unwrap().am_send(2, message.header, ()).detach();
        })
        .unwrap();
    let _kept = announcements(&worker, 7);
    say(mesh.address().unwrap().as_bytes());
    let begin = Instant::now();
    while begin.elapsed() < 2 * DEADLINE {
        worker.progress();
    }
}

fn peer_process(transports: &str) -> (Process, PeerAddress) {
    let mut command = again("peer");
    command.env("UROM_TEST_TRANSPORTS", transports);
    let mut process = Process::start(command);
    let bytes = process.heard().expect("the peer says where it is");
    // SAFETY: an address of the process that this test has just started.
    let address = unsafe { PeerAddress::from_bytes(&bytes) }.unwrap();
    (process, address)
}

fn echo(worker: &Worker, endpoint: &Endpoint) {
    let seen = headers(worker, 2);
    assert_eq!(
        finish(&[worker], endpoint.am_send_with(1, b"there?", (), AmFlags::REPLY)).0,
        Ok(())
    );
    until(&[worker], "the echo", || !seen.borrow().is_empty());
    assert_eq!(seen.take(), [b"there?"]);
}

#[test]
fn a_killed_peer_fails_its_endpoint_and_what_waits_for_it() {
    for transports in TRANSPORTS {
        for way in [Way::Worker, Way::Peer] {
            let (mut peer, address) = peer_process(transports);
            let worker = worker(transports);
            let (seen, log) = log();
            let builder = worker.endpoint().on_error(move |status| log.borrow_mut().push(status));
            let endpoint = match way {
                Way::Worker => builder.connect(address.worker()),
                Way::Peer => builder.connect_peer(&address),
            };
            let endpoint = endpoint.unwrap();
            echo(&worker, &endpoint);
            let waiting = endpoint.am_send_with(7, b"", pattern(1 << 20), AmFlags::RENDEZVOUS);
            echo(&worker, &endpoint);
            assert!(!waiting.is_done());
            peer.kill();
            until(&[&worker], "the error", || !seen.borrow().is_empty());
            assert!(endpoint.is_failed());
            assert!(seen.borrow()[0].is_error());
            let (result, buffer) = finish(&[&worker], waiting);
            assert!(result.is_err());
            assert!(buffer == pattern(1 << 20));
            let (result, _) = finish(&[&worker], endpoint.am_send(1, b"gone", ()));
            assert!(result.is_err());
            endpoint.close(CloseMode::Flush);
            let (_other, address) = peer_process(transports);
            let endpoint = worker.connect(address.worker()).unwrap();
            echo(&worker, &endpoint);
        }
    }
}

#[test]
fn a_worker_can_be_dropped_while_its_peer_is_dead() {
    for transports in TRANSPORTS {
        let (mut peer, address) = peer_process(transports);
        let worker = worker(transports);
        let endpoint = worker.connect(address.worker()).unwrap();
        echo(&worker, &endpoint);
        peer.kill();
        endpoint.am_send(1, b"", pattern(4 << 20)).detach();
        drop(endpoint);
        drop(worker);
    }
}

#[test]
#[ignore = "the other process of the next test"]
fn a_peer_is_killed_during_long_messages_without_hooks() {
    for transports in TRANSPORTS {
        let (mut peer, address) = peer_process(transports);
        let worker = worker(transports);
        let endpoint = worker.endpoint().connect(address.worker()).unwrap();
        echo(&worker, &endpoint);
        let (sent, _) = endpoint.am_send_with(7, b"", pattern(1 << 20), AmFlags::RENDEZVOUS).wait();
        assert_eq!(sent, Err(Status::UNSUPPORTED));
        let long = |_| endpoint.am_send(7, b"", pattern(4 << 20));
        let messages: Vec<_> = (0..16).map(long).collect();
        peer.kill();
        for message in messages {
            let (_, buffer) = finish(&[&worker], message);
            assert!(buffer == pattern(4 << 20));
        }
        until(&[&worker], "the error", || endpoint.is_failed());
    }
}

#[test]
fn without_hooks_a_killed_peer_is_an_error_like_any_other() {
    if is_from(1, 22) {
        // This UCX does not crash, and sends rendezvous messages.
        return;
    }
    let mut process = again("a_peer_is_killed_during_long_messages_without_hooks");
    let output = process.env("UCX_MEM_EVENTS", "n").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
