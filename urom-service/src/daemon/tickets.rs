//! Tickets: numbers nobody can guess, by which a worker knows the hosts the daemon sent.

use std::fs::File;
use std::io::{self, Read};

/// Draws tickets from the system's random numbers.
#[derive(Debug)]
pub(crate) struct Tickets {
    source: File,
}

impl Tickets {
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn open() -> io::Result<Tickets> {
        let mut tickets = Tickets { source: File::open("/dev/urandom")? };
        tickets.read()?;
        Ok(tickets)
    }

    /// A new ticket.
    ///
    /// # Panics
    /// When the system's random numbers, which were there when the daemon started, are not any more.
    pub(crate) fn draw(&mut self) -> u128 {
        self.read().expect("/dev/urandom was readable when the daemon started")
    }

    fn read(&mut self) -> io::Result<u128> {
        let mut bytes = [0; 16];
        self.source.read_exact(&mut bytes)?;
        Ok(u128::from_le_bytes(bytes))
    }
}
