//! The memory thread serves workers' accesses to this program's memory over UCX. It sleeps while
//! idle, and saves programs a UCX worker of their own.

pub(crate) mod answers;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Wake;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::{oneshot, watch};
use urom_os::fork::PerProcess;
use urom_os::signals;
use urom_wire::control::Failure;
use urom_wire::mailbox::Mailbox;

use self::answers::MemoryServer;
use crate::failure::failure;

/// Memory that a worker may access. Valid until `forget`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServedMemory {
    pub(super) token: u128,
    pub(super) share: u64,
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) access: u32,
}

pub(super) type DoneCallback = Box<dyn FnOnce() + Send>;

enum MemoryJob {
    Run(Box<dyn FnOnce(&mut MemoryServer) + Send>),
    /// A worker's wait condition may be met.
    Look,
    End,
}

struct LookBell(Weak<Mailbox<MemoryJob>>);

impl Wake for LookBell {
    fn wake(self: Arc<Self>) {
        if let Some(mailbox) = self.0.upgrade() {
            mailbox.post(MemoryJob::Look);
        }
    }
}

/// A thread with a UCX worker. It ends with the last handle.
pub(super) struct MemoryThread {
    mailbox: Arc<Mailbox<MemoryJob>>,
    /// The address of its UCX worker, or the failure.
    opening: watch::Receiver<Option<Result<Vec<u8>, String>>>,
    thread: Option<JoinHandle<()>>,
}

static SHARED: PerProcess<Mutex<Weak<MemoryThread>>> = PerProcess::new(Mutex::default);

impl MemoryThread {
    pub(super) fn shared() -> Result<Arc<MemoryThread>, Failure> {
        MemoryThread::shared_at(&SHARED)
    }

    fn shared_at(slot: &Mutex<Weak<MemoryThread>>) -> Result<Arc<MemoryThread>, Failure> {
        let mut shared = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = shared.upgrade()
            && !thread.mailbox.is_closed()
        {
            return Ok(thread);
        }
        let thread = Arc::new(MemoryThread::start()?);
        *shared = Arc::downgrade(&thread);
        Ok(thread)
    }

    pub(super) fn start() -> Result<MemoryThread, Failure> {
        let mailbox = Arc::new(Mailbox::new().map_err(broken)?);
        let (orders, (opened, opening)) = (Arc::clone(&mailbox), watch::channel(None));
        let run = move || {
            // Before the answers, so that UCX is closed before waiting threads are notified.
            let orders = JobReader(orders);
            let bell = Arc::new(LookBell(Arc::downgrade(&orders.0)));
            match MemoryServer::new(bell.into()) {
                Ok((server, address)) => {
                    opened.send_replace(Some(Ok(address)));
                    serve(server, &orders.0);
                }
                Err(error) => drop(opened.send_replace(Some(Err(error.to_string())))),
            }
        };
        // UCX starts a thread.
        let thread = signals::spawn("urom-memory", run).map_err(broken)?;
        Ok(MemoryThread { mailbox, opening, thread: Some(thread) })
    }

    pub(super) async fn address(&self) -> Result<Vec<u8>, Failure> {
        let mut opening = self.opening.clone();
        match opening.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(address))) => Ok(address.clone()),
            Ok(Some(Err(error))) => Err(broken(error)),
            Ok(None) | Err(_) => Err(broken("its thread panicked")),
        }
    }

    fn run(&self, order: impl FnOnce(&mut MemoryServer) + Send + 'static) {
        self.mailbox.post(MemoryJob::Run(Box::new(order)));
    }

    pub(super) fn serve(&self, served: ServedMemory) {
        self.run(move |server| server.serve(served));
    }

    pub(super) fn connect(&self, token: u128, address: Vec<u8>, then: DoneCallback) {
        self.run(move |server| {
            server.connect(token, &address);
            then();
        });
    }

    /// Forgets a share. Runs `then` once its memory is unused, or drops it after UCX's end.
    pub(super) fn forget(&self, token: u128, share: u64, then: Option<DoneCallback>) {
        self.run(move |server| server.forget(token, share, then));
    }

    /// Forgets a stream and notifies `done` once its memory is unused.
    pub(super) fn leave(&self, token: u128, done: oneshot::Sender<()>) {
        self.run(move |server| server.leave(token, done));
    }
}

impl Drop for MemoryThread {
    fn drop(&mut self) {
        self.mailbox.post(MemoryJob::End);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // The panic was already reported.
            let _ = thread.join();
        }
    }
}

/// The thread's end of the mailbox. Its drop drops all pending orders, so waiting threads wake.
struct JobReader(Arc<Mailbox<MemoryJob>>);

impl Drop for JobReader {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn broken(why: impl std::fmt::Display) -> Failure {
    failure!(INITIALIZATION, "memory cannot be shared over a network: {why}")
}

fn serve(server: MemoryServer, mailbox: &Mailbox<MemoryJob>) {
    // In this order: after a panic, UCX closes before the remaining orders are dropped.
    let mut orders;
    let mut server = server;
    loop {
        orders = mailbox.take().into_iter();
        for order in orders.by_ref() {
            match order {
                MemoryJob::Run(run) => run(&mut server),
                MemoryJob::Look => {}
                MemoryJob::End => return server.flush(),
            }
        }
        if server.turn(|| mailbox.has_post()) || mailbox.has_post() {
            continue;
        }
        match server.arm() {
            Ok(Some(ucx)) => {
                let watch = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
                let mut watched: Vec<PollFd<'_>> = ucx.into_iter().map(watch).collect();
                watched.push(PollFd::new(mailbox.wake(), PollFlags::IN));
                let longest = server.pause().and_then(|pause| Timespec::try_from(pause).ok());
                // An interrupted sleep only ends early.
                let _ = poll(&mut watched, longest.as_ref());
            }
            Ok(None) => {}
            Err(error) => {
                log!(error, "memory is not shared over a network any more: {error}");
                return;
            }
        }
    }
}
