//! Control messages of every type on a stream.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::memory::within;
use super::{now, stream};
use crate::control::{
    DaemonToHost, DaemonToWorker, HostToDaemon, HostToWorker, WorkerToDaemon, WorkerToHost,
};
use crate::peer_timeout::PeerTimeout;
use crate::stream::{StreamError, receive, send};

/// The most memory allocated for a claimed length before its bytes arrive.
const CLAIM: usize = 1 << 20;

/// The most memory for one byte of a message: an empty text takes one byte in a list, and an
/// element of a vector that grows by doubling.
const GROWTH: usize = 3 * size_of::<String>();

/// A malformed message ends the stream; a valid one survives a round trip.
pub fn control_messages(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    match choice % 6 {
        0 => all::<HostToDaemon>(bytes),
        1 => all::<DaemonToHost>(bytes),
        2 => all::<HostToWorker>(bytes),
        3 => all::<WorkerToHost>(bytes),
        4 => all::<DaemonToWorker>(bytes),
        _ => all::<WorkerToDaemon>(bytes),
    }
}

fn all<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) {
    let mut stream = stream(bytes);
    let limit = CLAIM + GROWTH * bytes.len() + (16 << 10);
    let end = loop {
        let left = stream.reader().len();
        match within(limit, || now(receive::<T>(&mut stream, PeerTimeout::default()))) {
            Ok(message) => {
                assert!(stream.reader().len() < left, "a message takes bytes");
                said_again(&message);
            }
            Err(error) => break error,
        }
    };
    match end {
        StreamError::Closed => assert!(stream.reader().is_empty(), "bytes were left unread"),
        StreamError::Io(error) => assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof),
        StreamError::Garbage(text) => assert!(!text.is_empty()),
        other => panic!("a stream is closed or carries garbage, not: {other}"),
    }
}

fn said_again<T: Serialize + DeserializeOwned + Debug>(message: &T) {
    let mut bytes = Vec::new();
    now(send(&mut bytes, message)).expect("what was received can be sent");
    let again: T = now(receive(&mut &bytes[..], PeerTimeout::default()))
        .expect("what was sent can be received");
    assert_eq!(format!("{again:?}"), format!("{message:?}"));
}
