//! Meeting points and groups for the tests.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
use urom_host::gather::Rendezvous;

use crate::LIMIT;

pub(crate) fn meet() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address without a listener, which no other socket can take.
pub(crate) fn deserted() -> (Deserted, SocketAddr) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = getsockname(&socket).unwrap().try_into().unwrap();
    (Deserted(socket), address)
}

pub(crate) struct Deserted(OwnedFd);

impl Deserted {
    pub(crate) fn listen(self) -> TcpListener {
        listen(&self.0, 8).unwrap();
        self.0.into()
    }
}

pub(crate) fn group(participants: u32) -> Vec<Rendezvous> {
    let (listener, address) = meet();
    let others: Vec<_> = (1..participants)
        .map(|index| {
            thread::spawn(move || Rendezvous::join(address, index, participants, LIMIT).unwrap())
        })
        .collect();
    let mut group = vec![Rendezvous::host(listener, participants, LIMIT).unwrap()];
    group.extend(others.into_iter().map(|other| other.join().unwrap()));
    group
}

pub(crate) fn frame(kind: &[u8; 4], number: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u64).to_le_bytes();
    [kind, &number.to_le_bytes()[..], &length, body].concat()
}

pub(crate) fn handshake(stream: &mut TcpStream, participants: u64, index: u32) {
    stream.write_all(&frame(b"meet", index, &participants.to_le_bytes())).unwrap();
}

pub(crate) const HANDSHAKE: usize = 24;

pub(crate) fn welcome() -> Vec<u8> {
    frame(b"data", 0, b"")
}
