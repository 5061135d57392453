//! Two threads that sleep and wake each other through the kernel, without UCX and the kit: the
//! fastest that a service can be that sleeps between messages.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::cores::pin;
use crate::transport::Transport;

/// A thread on the worker's core that wakes whoever woke it. It ends with the process.
pub(super) struct Sleeper(End);

/// What one thread wakes the other by, and is woken by.
struct End {
    to: OwnedFd,
    from: OwnedFd,
}

impl Sleeper {
    /// Starts it: with events in place of shared memory, with a connection over the loopback device
    /// in place of UCX's TCP.
    pub(super) fn start(transport: Transport, core: usize) -> Result<Sleeper> {
        let (end, theirs) = match transport {
            Transport::SharedMemory => End::of_events()?,
            Transport::Tcp => End::of_a_connection()?,
        };
        std::thread::spawn(move || -> Result<()> {
            pin(core)?;
            loop {
                theirs.wait()?;
                theirs.ring()?;
            }
        });
        Ok(Sleeper(end))
    }

    /// Wakes it, and sleeps until it has woken the caller.
    pub(super) fn wake(&self) -> Result<()> {
        self.wake_and_look(Duration::ZERO)
    }

    /// The same, and polls for some time before it sleeps, as a host of the kit does.
    pub(super) fn wake_and_look(&self, time: Duration) -> Result<()> {
        let begin = Instant::now();
        self.0.ring()?;
        while !time.is_zero() && begin.elapsed() < time && !self.0.is_rung()? {}
        Ok(self.0.wait()?)
    }
}

impl End {
    fn of_events() -> Result<(End, End)> {
        let event = || eventfd(0, EventfdFlags::CLOEXEC);
        let (there, back) = (event()?, event()?);
        let theirs = End { to: back.try_clone()?, from: there.try_clone()? };
        Ok((End { to: there, from: back }, theirs))
    }

    fn of_a_connection() -> Result<(End, End)> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let ours = TcpStream::connect(listener.local_addr()?)?;
        let (theirs, _) = listener.accept()?;
        let end = |stream: TcpStream| -> Result<End> {
            stream.set_nodelay(true)?;
            Ok(End { to: stream.try_clone()?.into(), from: stream.into() })
        };
        Ok((end(ours)?, end(theirs)?))
    }

    fn ring(&self) -> rustix::io::Result<()> {
        rustix::io::write(&self.to, &1u64.to_ne_bytes()).map(drop)
    }

    fn is_rung(&self) -> rustix::io::Result<bool> {
        let mut fds = [PollFd::new(&self.from, PollFlags::IN)];
        Ok(poll(&mut fds, Some(&Timespec::default()))? > 0)
    }

    fn wait(&self) -> rustix::io::Result<()> {
        rustix::io::read(&self.from, &mut [0; 8]).map(drop)
    }
}
