//! Reading and writing as much as a connection takes at the moment.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Goes on reading into `room`, of which `filled` bytes are there; whether it is full.
pub(super) fn fill(
    stream: &mut TcpStream,
    room: &mut [u8],
    filled: &mut usize,
) -> io::Result<bool> {
    while *filled < room.len() {
        match stream.read(&mut room[*filled..]) {
            Ok(0) => {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection"));
            }
            Ok(count) => *filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Goes on writing `parts`, of whose bytes `sent` are out; whether all are.
pub(super) fn drain(
    stream: &mut TcpStream,
    parts: [&[u8]; 2],
    sent: &mut usize,
) -> io::Result<bool> {
    let total = parts[0].len() + parts[1].len();
    while *sent < total {
        let rest = match sent.checked_sub(parts[0].len()) {
            Some(past) => &parts[1][past..],
            None => &parts[0][*sent..],
        };
        match stream.write(rest) {
            Ok(count) => *sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether the other end closed the connection, or it broke.
pub(super) fn check(stream: &TcpStream) -> io::Result<()> {
    match stream.peek(&mut [0]) {
        Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection")),
        Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Err(error)
        }
        _ => Ok(()),
    }
}
