//! The side channel: a TCP connection for addresses and synchronisation.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ucx::Worker;

use crate::LIMIT;

/// Timeout until the server listens, and the client's polling interval.
const START: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Limit of an exchange in bytes.
const LONGEST: usize = 1024;

pub(crate) struct SideChannel<'a> {
    stream: TcpStream,
    /// Progressed during waits, because the plugin may need it.
    ucx: &'a Worker,
}

impl<'a> SideChannel<'a> {
    pub(crate) fn accept(port: u16, ucx: &'a Worker) -> Result<Self> {
        let listener =
            TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port)));
        let listener = listener.with_context(|| format!("cannot listen on port {port}"))?;
        if port == 0 {
            println!("Listening on port {}", listener.local_addr()?.port());
        }
        Self::new(listener.accept()?.0, ucx)
    }

    /// Connects to the server, and retries while the server starts.
    pub(crate) fn connect(server: &str, port: u16, ucx: &'a Worker) -> Result<Self> {
        let begin = Instant::now();
        loop {
            match TcpStream::connect((server, port)) {
                Ok(stream) => return Self::new(stream, ucx),
                Err(error)
                    if error.kind() == ErrorKind::ConnectionRefused && begin.elapsed() < START =>
                {
                    thread::sleep(PAUSE);
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("no server at {server}:{port}"));
                }
            }
        }
    }

    fn new(stream: TcpStream, ucx: &'a Worker) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(SideChannel { stream, ucx })
    }

    /// Exchanges bytes with the other end. A message is its length in 64 bits, then the bytes.
    pub(crate) fn exchange(&mut self, own: &[u8]) -> Result<Vec<u8>> {
        let message = [&(own.len() as u64).to_ne_bytes()[..], own].concat();
        // The message fits into the system's buffer.
        self.stream.write_all(&message).context("the other process is lost")?;
        let mut len = [0; 8];
        self.read(&mut len)?;
        let len = usize::try_from(u64::from_ne_bytes(len)).unwrap_or(usize::MAX);
        ensure!(
            len <= LONGEST,
            "the other process sends {len} bytes, at most {LONGEST} are allowed"
        );
        let mut theirs = vec![0; len];
        self.read(&mut theirs)?;
        Ok(theirs)
    }

    pub(crate) fn ended(&self) -> Result<()> {
        let mut byte = [0];
        self.wait("the other process does not end", |side| match (&side.stream).read(&mut byte) {
            Ok(0) => Ok(Some(())),
            Ok(_) => bail!("the other process sends more than it should"),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(_) => Ok(Some(())),
        })
    }

    /// Waits until `done` returns a value. Fails if the other end closes first.
    pub(crate) fn until<T>(&self, what: &str, mut done: impl FnMut() -> Option<T>) -> Result<T> {
        let mut turns = 0_u32;
        self.wait(what, |side| {
            turns = turns.wrapping_add(1);
            if !turns.is_multiple_of(1024) {
                return Ok(done());
            }
            // Checked before `done`, so data that arrived before the close still counts.
            let lost = matches!(side.stream.peek(&mut [0]), Ok(0));
            match done() {
                None if lost => bail!("{what}: the other process is lost"),
                found => Ok(found),
            }
        })
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let mut at = 0;
        self.wait("nothing comes from the other process", |side| {
            while at < bytes.len() {
                match (&side.stream).read(&mut bytes[at..]) {
                    Ok(0) => bail!("the other process is lost"),
                    Ok(count) => at += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                    Err(error) => return Err(error).context("the other process is lost"),
                }
            }
            Ok(Some(()))
        })
    }

    fn wait<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Result<Option<T>>) -> Result<T> {
        let mut last = Instant::now();
        loop {
            if let Some(done) = look(self)? {
                return Ok(done);
            }
            if self.ucx.progress() {
                last = Instant::now();
            } else {
                thread::yield_now();
            }
            ensure!(last.elapsed() < LIMIT, "{what} for {} s", LIMIT.as_secs());
        }
    }
}
