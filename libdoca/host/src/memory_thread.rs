//! The memory thread: it answers workers' questions about this program's memory over UCX, so that
//! no program runs a UCX worker of its own for that. It sleeps while nobody asks.

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

use self::answers::Answers;
use crate::failure::failure;

/// Memory that a worker may ask about. It stays where it is until it is forgotten.
#[derive(Debug, Clone, Copy)]
pub(super) struct Served {
    /// The ticket of the stream to the worker.
    pub(super) ticket: u128,
    pub(super) share: u64,
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) access: u32,
}

/// What to do afterwards.
pub(super) type Then = Box<dyn FnOnce() + Send>;

enum Job {
    Run(Box<dyn FnOnce(&mut Answers) + Send>),
    /// Something that a worker waits for has happened.
    Look,
    End,
}

/// Has the thread look.
struct LookBell(Weak<Mailbox<Job>>);

impl Wake for LookBell {
    fn wake(self: Arc<Self>) {
        if let Some(mailbox) = self.0.upgrade() {
            mailbox.post(Job::Look);
        }
    }
}

/// A thread with a UCX worker; it ends with the last handle.
pub(super) struct MemoryThread {
    mailbox: Arc<Mailbox<Job>>,
    /// The address of its UCX worker, or why there is none.
    opening: watch::Receiver<Option<Result<Vec<u8>, String>>>,
    thread: Option<JoinHandle<()>>,
}

static SHARED: PerProcess<Mutex<Weak<MemoryThread>>> = PerProcess::new(Mutex::default);

impl MemoryThread {
    /// The thread of this process, started if there is none that reads its orders.
    pub(super) fn shared() -> Result<Arc<MemoryThread>, Failure> {
        MemoryThread::shared_at(&SHARED)
    }

    fn shared_at(place: &Mutex<Weak<MemoryThread>>) -> Result<Arc<MemoryThread>, Failure> {
        let mut shared = place.lock().unwrap_or_else(PoisonError::into_inner);
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
            // Before the answers, so that UCX is gone when those who wait for orders are told.
            let orders = Reader(orders);
            let bell = Arc::new(LookBell(Arc::downgrade(&orders.0)));
            match Answers::new(bell.into()) {
                Ok((answers, address)) => {
                    opened.send_replace(Some(Ok(address)));
                    serve(answers, &orders.0);
                }
                Err(error) => drop(opened.send_replace(Some(Err(error.to_string())))),
            }
        };
        // UCX starts a thread of its own.
        let thread =
            signals::blocked(|| thread::Builder::new().name("urom-memory".to_owned()).spawn(run));
        Ok(MemoryThread {
            mailbox,
            opening,
            thread: Some(thread.map_err(signals::no_thread).map_err(broken)?),
        })
    }

    /// The address of its UCX worker, once there is one.
    pub(super) async fn address(&self) -> Result<Vec<u8>, Failure> {
        let mut opening = self.opening.clone();
        match opening.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(address))) => Ok(address.clone()),
            Ok(Some(Err(error))) => Err(broken(error)),
            Ok(None) | Err(_) => Err(broken("its thread panicked")),
        }
    }

    fn run(&self, order: impl FnOnce(&mut Answers) + Send + 'static) {
        self.mailbox.post(Job::Run(Box::new(order)));
    }

    /// Lets the worker of a stream ask about this memory.
    pub(super) fn serve(&self, served: Served) {
        self.run(move |answers| answers.serve(served));
    }

    /// Names the UCX worker that asks about the memory of a stream, and does something when it is
    /// answered.
    pub(super) fn connect(&self, ticket: u128, address: Vec<u8>, then: Then) {
        self.run(move |answers| {
            answers.connect(ticket, &address);
            then();
        });
    }

    /// Forgets a share, and does something when nothing uses its memory any more. A thread that
    /// ends drops it, after its UCX.
    pub(super) fn forget(&self, ticket: u128, share: u64, then: Option<Then>) {
        self.run(move |answers| answers.forget(ticket, share, then));
    }

    /// Forgets a stream, and says so when nothing uses its memory any more.
    pub(super) fn leave(&self, ticket: u128, done: oneshot::Sender<()>) {
        self.run(move |answers| answers.leave(ticket, done));
    }
}

impl Drop for MemoryThread {
    fn drop(&mut self) {
        self.mailbox.post(Job::End);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// The thread's end of the mailbox. However the thread ends, orders that it has not carried out are
/// dropped, and with them what those who wait would be told by.
struct Reader(Arc<Mailbox<Job>>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn broken(why: impl std::fmt::Display) -> Failure {
    failure!(INITIALIZATION, "memory cannot be shared over a network: {why}")
}

/// Answers until it is told to end.
fn serve(answers: Answers, mailbox: &Mailbox<Job>) {
    // In this order: after a panic, UCX is gone when the orders that are left are dropped.
    let mut orders;
    let mut answers = answers;
    loop {
        orders = mailbox.take().into_iter();
        for order in orders.by_ref() {
            match order {
                Job::Run(run) => run(&mut answers),
                Job::Look => {}
                Job::End => return answers.flush(),
            }
        }
        if answers.turn(|| mailbox.has_post()) || mailbox.has_post() {
            continue;
        }
        match answers.arm() {
            Ok(Some(ucx)) => {
                let watch = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
                let mut watched: Vec<PollFd<'_>> = ucx.into_iter().map(watch).collect();
                watched.push(PollFd::new(mailbox.wake(), PollFlags::IN));
                let longest = answers.pause().and_then(|pause| Timespec::try_from(pause).ok());
                // An interrupted sleep is a short one.
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
