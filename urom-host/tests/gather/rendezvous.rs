//! Exchanges over TCP, and their failures.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use urom_host::DocaError;
use urom_host::gather::{AllGather, Rendezvous};

use crate::meeting::{HANDSHAKE, frame, group, handshake, meet, welcome};
use crate::{LIMIT, block, code, exchange, exchanges, finish};

#[test]
fn a_group_of_one_needs_no_network() {
    let mut alone = Rendezvous::join("127.0.0.1:0", 0, 1, LIMIT).unwrap();
    exchanges(&mut alone, &[3, 0, 5]);
}

#[test]
fn testing_never_waits() {
    let mut participants = group(2);
    let mut blocks = [0; 2];
    for participant in &mut participants {
        participant.begin(b"x").unwrap();
    }
    // Participant 0 does not run, so no answer can arrive; this still returns.
    assert!(!participants[1].test(&mut blocks).unwrap());
    while !participants[0].test(&mut blocks).unwrap() {}
    assert_eq!(finish(&mut participants[1], 1).unwrap(), b"xx");
}

#[test]
fn a_participant_that_has_everything_may_leave() {
    let mut participants = group(3);
    let big = 4 << 20;
    let mut hub = participants.remove(0);
    let threads: Vec<_> = participants
        .into_iter()
        .map(|mut participant| {
            thread::spawn(move || exchange(&mut participant, &block(1, 0, big)).unwrap().len())
        })
        .collect();
    assert_eq!(exchange(&mut hub, &block(0, 0, big)).unwrap().len(), 3 * big);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 3 * big);
    }
    let error = exchange(&mut hub, b"once more").unwrap_err();
    assert!(error.to_string().contains("has left"), "{error}");
    assert_eq!(code(&error), DocaError::CONNECTION_RESET);
}

#[test]
fn a_participant_that_dies_before_its_block_is_named_to_all() {
    let mut participants = group(3);
    drop(participants.pop());
    let mut last = participants.pop().unwrap();
    let mut hub = participants.pop().unwrap();
    last.begin(b"b").unwrap();
    let error = exchange(&mut hub, b"a").unwrap_err();
    assert_eq!(error.to_string(), "participant 2 has left: it closed the connection");
    assert_eq!(code(&error), DocaError::CONNECTION_RESET);
    let error = finish(&mut last, 1).unwrap_err();
    assert!(error.to_string().contains("participant 0"), "{error}");
    assert_eq!(code(&error), DocaError::CONNECTION_RESET);
    for participant in [&mut hub, &mut last] {
        let error = participant.begin(b"a").unwrap_err();
        assert_eq!(code(&error), DocaError::BAD_STATE);
        assert!(error.to_string().contains("has failed before"), "{error}");
    }
}

#[test]
fn a_participant_that_dies_half_way_through_its_block_is_noticed() {
    let mut participants = group(2);
    let (mut other, mut hub) = (participants.pop().unwrap(), participants.pop().unwrap());
    let big = 64 << 20;
    other.begin(&vec![1; big]).unwrap();
    // As much as the sockets accept; then the participant ends.
    assert!(!other.test(&mut vec![0; 2 * big]).unwrap());
    drop(other);
    let error = exchange(&mut hub, &vec![0; big]).unwrap_err();
    assert!(error.to_string().starts_with("participant 1 has left"), "{error}");
}

#[test]
fn without_participant_0_there_is_no_exchange() {
    let mut participants = group(2);
    drop(participants.remove(0));
    let error = exchange(&mut participants[0], b"a").unwrap_err();
    assert!(error.to_string().starts_with("participant 0 has left"), "{error}");
    assert_eq!(code(&error), DocaError::CONNECTION_RESET);
}

#[test]
fn participant_0_that_dies_half_way_through_the_answer_is_noticed() {
    let (mut stream, mut other) = joined();
    other.begin(b"b").unwrap();
    assert!(!other.test(&mut [0; 2]).unwrap());
    stream.read_exact(&mut [0; 17]).unwrap();
    // The header of all blocks, and one of two blocks.
    stream.write_all(&frame(b"data", 1, b"ab")[..17]).unwrap();
    drop(stream);
    let error = finish(&mut other, 1).unwrap_err();
    assert!(error.to_string().starts_with("participant 0 has left"), "{error}");
}

#[test]
fn participant_0_that_talks_nonsense_is_an_error() {
    let mut endless = frame(b"fail", 6, b"");
    endless[8..12].fill(0xff);
    for (answer, text) in [
        (frame(b"data", 2, b"ab"), "message of another exchange"),
        (frame(b"data", 1, b"abc"), "participant 0 gives 3 bytes, participant 1 2"),
        (frame(b"meet", 1, b"ab"), "message of another exchange"),
        (endless, "message of another exchange"),
        (frame(b"fail", 6, b"oops"), "participant 0 says: oops"),
        (b"GET / HTTP/1.1\r\n".to_vec(), "message of another exchange"),
    ] {
        let (mut stream, mut other) = joined();
        stream.write_all(&answer).unwrap();
        let error = exchange(&mut other, b"b").unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn a_reason_that_comes_in_parts_is_not_taken_for_blocks() {
    // First as many bytes of it as all blocks have.
    for length in [0, 1] {
        let (mut stream, mut other) = joined();
        other.begin(&vec![b'b'; length]).unwrap();
        let reason = frame(b"fail", 6, b"it is late");
        let (first, rest) = reason.split_at(16 + 2 * length);
        stream.write_all(first).unwrap();
        let mut blocks = vec![0; 2 * length];
        for _ in 0..100 {
            assert!(!other.test(&mut blocks).unwrap());
        }
        stream.write_all(rest).unwrap();
        let error = finish(&mut other, length).unwrap_err();
        assert!(error.to_string().ends_with("participant 0 says: it is late"), "{error}");
    }
}

#[test]
fn an_exchange_that_takes_too_long_says_who_is_late() {
    let (listener, address) = meet();
    let limit = Duration::from_millis(200);
    let others = [1, 2]
        .map(|index| thread::spawn(move || Rendezvous::join(address, index, 3, LIMIT).unwrap()));
    let mut hub = Rendezvous::host(listener, 3, limit).unwrap();
    let mut others = others.map(|thread| thread.join().unwrap());
    others[0].begin(b"b").unwrap();
    assert!(!others[0].test(&mut [0; 3]).unwrap());
    let error = exchange(&mut hub, b"a").unwrap_err();
    assert_eq!(code(&error), DocaError::TIME_OUT);
    assert!(error.to_string().ends_with("nothing came from participant 2"), "{error}");
    let error = finish(&mut others[0], 1).unwrap_err();
    assert_eq!(code(&error), DocaError::TIME_OUT);
    assert!(
        error.to_string().contains("participant 0 says: ")
            && error.to_string().contains("participant 2")
    );
}

#[test]
fn a_block_from_a_stranger_to_the_protocol_is_an_error() {
    let (listener, address) = meet();
    let hub = thread::spawn(move || Rendezvous::host(listener, 2, LIMIT).unwrap());
    let mut stream = TcpStream::connect(address).unwrap();
    handshake(&mut stream, 2, 1);
    let mut answer = [0; 16];
    stream.read_exact(&mut answer).unwrap();
    stream.write_all(&[0xff; 64]).unwrap();
    let error = exchange(&mut hub.join().unwrap(), b"a").unwrap_err();
    assert!(
        error.to_string().contains("participant 1 sent a message of another exchange"),
        "{error}"
    );
}

fn joined() -> (TcpStream, Rendezvous) {
    let (listener, address) = meet();
    let joined = thread::spawn(move || Rendezvous::join(address, 1, 2, LIMIT).unwrap());
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; HANDSHAKE]).unwrap();
    stream.write_all(&welcome()).unwrap();
    (stream, joined.join().unwrap())
}
