//! Incomplete meetings, and unknown connections.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use urom_host::DocaError;
use urom_host::gather::Rendezvous;

use crate::LIMIT;
use crate::meeting::{HANDSHAKE, deserted, handshake, meet, welcome};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn when_nobody_comes_the_missing_are_named_to_those_who_did() {
    let (listener, address) = meet();
    let came = thread::spawn(move || Rendezvous::join(address, 2, 4, LIMIT));
    let error = Rendezvous::host(listener, 4, Duration::from_millis(600)).unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
    let expected =
        "not all 4 participants came within 600ms: missing 1, 3; participant 0 listened at ";
    assert_eq!(error.to_string(), format!("{expected}{address}"));
    let error = came.join().unwrap().unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
    assert!(
        error.to_string().contains("participant 0 says: ")
            && error.to_string().contains("missing 1, 3; participant 0 listened at 127.0.0.1:")
    );
}

#[test]
fn without_participant_0_the_others_give_up_at_their_deadline_and_say_why() {
    let (_deserted, address) = deserted();
    let error = Rendezvous::join(address, 1, 2, SHORT).unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
    assert!(
        error.to_string().contains("could not be reached in time")
            && error.to_string().contains("refused")
            && error.to_string().contains(&format!("connecting to {address} failed"))
    );
}

#[test]
fn localhost_of_participant_0_is_reached_at_the_address_of_either_family() {
    // A free port; no other socket binds it by number.
    let port = meet().1.port();
    let host = thread::spawn(move || Rendezvous::join(format!("localhost:{port}"), 0, 3, LIMIT));
    let four = thread::spawn(move || Rendezvous::join(format!("127.0.0.1:{port}"), 1, 3, LIMIT));
    let six = if TcpListener::bind("[::1]:0").is_ok() { "[::1]" } else { "127.0.0.1" };
    Rendezvous::join(format!("{six}:{port}"), 2, 3, LIMIT).unwrap();
    four.join().unwrap().unwrap();
    host.join().unwrap().unwrap();
}

#[test]
fn an_error_names_the_addresses_that_a_name_means() {
    let (_deserted, address) = deserted();
    let point = format!("localhost:{}", address.port());
    let error = Rendezvous::join(point, 1, 2, SHORT).unwrap_err().to_string();
    assert!(error.contains("connecting to localhost:"), "{error}");
    assert!(error.contains(", tried as ") && error.contains("127.0.0.1:"), "{error}");
}

#[test]
fn those_who_come_before_participant_0_wait_for_it() {
    let (deserted, address) = deserted();
    let early = thread::spawn(move || Rendezvous::join(address, 1, 2, LIMIT));
    // Whether its first attempts came earlier or not: it is accepted.
    let _late = Rendezvous::host(deserted.listen(), 2, LIMIT).unwrap();
    early.join().unwrap().unwrap();
}

#[test]
fn a_participant_0_that_never_answers_is_cancelled_at_the_deadline() {
    let (_listener, address) = meet();
    let error = Rendezvous::join(address, 1, 2, SHORT).unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
    assert!(error.to_string().contains("it waits for other participants, or hangs"), "{error}");
}

#[test]
fn a_wrong_number_of_participants_ends_the_meeting_for_all() {
    let (listener, address) = meet();
    let good = thread::spawn(move || Rendezvous::join(address, 1, 3, SHORT));
    let bad = thread::spawn(move || Rendezvous::join(address, 2, 4, LIMIT));
    let error = Rendezvous::host(listener, 3, LIMIT).unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert_eq!(error.to_string(), "participant 2 expects 4 participants, participant 0 expects 3");
    let error = bad.join().unwrap().unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert!(error.to_string().contains("participant 2 expects 4"), "{error}");
    // The good one received the error, or arrived after the listener was closed.
    good.join().unwrap().unwrap_err();
}

#[test]
fn two_of_one_index_end_the_meeting() {
    let (listener, address) = meet();
    let twins = [(); 2].map(|()| thread::spawn(move || Rendezvous::join(address, 1, 3, LIMIT)));
    let error = Rendezvous::host(listener, 3, LIMIT).unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert_eq!(error.to_string(), "two processes call themselves participant 1");
    for twin in twins {
        let error = twin.join().unwrap().unwrap_err();
        assert!(
            error.to_string().contains("two processes call themselves participant 1"),
            "{error}"
        );
    }
}

#[test]
fn indices_that_cannot_be_end_the_meeting() {
    for (index, text) in [
        (0, "two processes call themselves participant 0"),
        (7, "calls itself participant 7, of 2"),
    ] {
        let (listener, address) = meet();
        let hub = thread::spawn(move || Rendezvous::host(listener, 2, LIMIT));
        let mut stream = TcpStream::connect(address).unwrap();
        handshake(&mut stream, 2, index);
        let error = hub.join().unwrap().unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(String::from_utf8_lossy(&answer).contains(text), "the cause gets the error");
    }
    let error = Rendezvous::join("127.0.0.1:1", 2, 2, LIMIT).unwrap_err();
    assert_eq!(error.to_string(), "participant 2 is not in a group of 2");
    let (listener, _) = meet();
    assert_eq!(Rendezvous::host(listener, 0, LIMIT).unwrap_err().code(), DocaError::INVALID_VALUE);
}

#[test]
fn strangers_are_turned_away_and_disturb_nobody() {
    let (listener, address) = meet();
    let mut unknown_peers: Vec<_> = (0..90).map(|_| TcpStream::connect(address).unwrap()).collect();
    for (n, peer) in unknown_peers.iter_mut().enumerate() {
        match n % 4 {
            0 => peer.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap(),
            1 => peer.write_all(b"me").unwrap(),
            2 => peer.shutdown(std::net::Shutdown::Write).unwrap(),
            _ => {}
        }
    }
    let other = thread::spawn(move || Rendezvous::join(address, 1, 2, LIMIT));
    let _hub = Rendezvous::host(listener, 2, LIMIT).unwrap();
    other.join().unwrap().unwrap();
}

#[test]
fn strangers_are_told_of_when_the_group_stays_incomplete() {
    let (listener, address) = meet();
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let from = peer.local_addr().unwrap();
    let error = Rendezvous::host(listener, 2, SHORT).unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
    assert!(
        error
            .to_string()
            .ends_with(&format!("1 connection came from other programs, the last from {from}"))
    );
}

#[test]
fn a_participant_that_died_before_the_group_was_complete_can_come_again() {
    let (listener, address) = meet();
    // All of this happens before participant 0 accepts.
    let connect = || TcpStream::connect(address).unwrap();
    let [mut died, mut again] = [connect(), connect()];
    handshake(&mut died, 3, 1);
    drop(died);
    handshake(&mut again, 3, 1);
    let other = thread::spawn(move || Rendezvous::join(address, 2, 3, LIMIT));
    let _hub = Rendezvous::host(listener, 3, LIMIT).unwrap();
    other.join().unwrap().unwrap();
    let mut answer = [0; 16];
    again.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..], welcome());
}

#[test]
fn a_meeting_point_that_is_something_else_is_an_error() {
    let (listener, address) = meet();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; HANDSHAKE]).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = Rendezvous::join(address, 1, 2, LIMIT).unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert!(error.to_string().contains("not a participant of a rendezvous"), "{error}");
    server.join().unwrap();
}

#[test]
fn a_meeting_point_that_is_taken_or_cannot_be_is_an_error() {
    let (listener, address) = meet();
    let error = Rendezvous::join(address, 0, 2, LIMIT).unwrap_err();
    assert!(
        error.to_string().starts_with(&format!("participant 0 cannot listen at {address}: ")),
        "{error}"
    );
    drop::<TcpListener>(listener);
    let error = Rendezvous::join("no port", 1, 2, SHORT).unwrap_err();
    assert!(error.to_string().contains("could not be reached"), "{error}");
}
