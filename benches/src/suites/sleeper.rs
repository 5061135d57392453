//! Two threads that sleep and wake each other through the kernel: the least that can be had of who sleeps between messages. Neither
//! UCX nor the kit is between them.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::cores::pin;
use crate::transport::Transport;

/// A thread on the worker's core that wakes whoever has woken it. It ends with the process.
pub(super) struct Sleeper {
    end: End,
}

/// What one thread wakes the other by, and is woken by.
struct End {
    to: OwnedFd,
    from: OwnedFd,
}

impl Sleeper {
    /// Starts it: with events in place of shared memory, and with a connection over the loopback device in place of UCX's TCP.
    ///
    /// # Errors
    /// When the system gives no thread or no descriptors.
    pub(super) fn start(transport: Transport, core: usize) -> Result<Sleeper> {
        let (end, theirs) = match transport {
            Transport::SharedMemory => End::of_events()?,
            Transport::Tcp => End::of_a_connection()?,
        };
        std::thread::spawn(move || -> rustix::io::Result<()> {
            pin(core)?;
            loop {
                theirs.wait()?;
                theirs.ring()?;
            }
        });
        Ok(Sleeper { end })
    }

    /// Wakes it, and sleeps until it has woken the caller.
    ///
    /// # Errors
    /// When its end of the connection is gone.
    pub(super) fn wake(&self) -> Result<()> {
        self.end.ring()?;
        Ok(self.end.wait()?)
    }

    /// The same, and looks for so long before it sleeps, as a host of the kit does.
    ///
    /// # Errors
    /// As [`wake`](Self::wake).
    pub(super) fn wake_and_look(&self, time: Duration) -> Result<()> {
        let begin = Instant::now();
        self.end.ring()?;
        while begin.elapsed() < time && !self.end.is_rung()? {}
        Ok(self.end.wait()?)
    }
}

impl End {
    /// Through the kernel and nothing else.
    fn of_events() -> Result<(End, End)> {
        let event = || eventfd(0, EventfdFlags::CLOEXEC);
        let (there, back) = (event()?, event()?);
        let theirs = End { to: back.try_clone()?, from: there.try_clone()? };
        Ok((End { to: there, from: back }, theirs))
    }

    /// Through a connection over the loopback device.
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
