//! Sharing memory with a worker: the path of each share, and its waiters.
//!
//! A descriptor is handed over at the worker's door. For memory without one, this process shows
//! itself there, and the kernel may let the worker copy. Where a worker cannot do either, the
//! memory thread answers the worker's questions over UCX.

mod lease;
mod ready;
#[cfg(test)]
mod tests;
mod told;

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::sync::{OnceCell, oneshot};
use tokio::task::JoinSet;
use urom_abi::DocaError;
use urom_abi::host_memory::MemoryPath;
use urom_wire::control::{Failure, HostToWorker, MemoryAnswer, MemoryPlace, MemoryWord, SharedBy};

use self::lease::Lease;
use self::ready::{Made, Offer, Reason, make_ready};
pub(super) use self::told::{Late, Told};
use crate::door::WorkerDoor;
use crate::memory_thread::MemoryThread;
use crate::stream::WorkerStream;

/// How many offers are made ready, or wait for the worker's answer, at a time: fewer than the
/// worker keeps at its door.
const AT_ONCE: usize = 32;

/// Memory that the host wants to share.
pub(super) struct Offered {
    pub(super) memory: u64,
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) access: u32,
    /// A descriptor of it, and where it begins there.
    pub(super) fd: Option<(OwnedFd, u64)>,
    /// The first path to try.
    pub(super) path: MemoryPath,
    pub(super) told: Told,
}

/// The memory of this program that one worker has.
pub(super) struct Sharing {
    /// The worker's name in log lines.
    worker: String,
    ticket: u128,
    door: WorkerDoor,
    /// The last line about a path that is slower than it could be.
    slow: String,
    /// From the first memory on that goes by the door.
    lease: Arc<OnceCell<Lease>>,
    /// The number of the last share.
    last: u64,
    /// Shares whose turn has not come.
    waiting: VecDeque<(u64, Offered)>,
    /// Offers that are made ready.
    ready: JoinSet<Made>,
    /// By number, from the host's call to the end.
    shares: HashMap<u64, Share>,
    /// The share of each memory, unless its end was asked for.
    known: HashMap<u64, u64>,
    /// Whether the kernel may copy memory of this process for the worker.
    is_copied: bool,
    /// Whether the worker may map memory of this process.
    is_mapped: bool,
    thread: Option<Arc<MemoryThread>>,
}

/// One share of a memory.
struct Share {
    memory: u64,
    is_offered: bool,
    /// From the offer to the worker's answer: the waiter for the begin, and the path's reason.
    asked: Option<(Told, Reason)>,
    /// The waiter for the end, and after how many commands it comes.
    ending: Option<(u64, Told)>,
}

impl Sharing {
    pub(super) fn new(worker: &str, ticket: u128, door: WorkerDoor) -> Sharing {
        Sharing {
            worker: worker.to_owned(),
            ticket,
            door,
            slow: String::new(),
            lease: Arc::default(),
            last: 0,
            waiting: VecDeque::new(),
            ready: JoinSet::new(),
            shares: HashMap::new(),
            known: HashMap::new(),
            is_copied: false,
            is_mapped: false,
            thread: None,
        }
    }

    /// Begins to share memory.
    pub(super) fn share(&mut self, offered: Offered) {
        let memory = offered.memory;
        if self.known.contains_key(&memory) {
            let text = "this memory is shared with this worker already";
            return offered.told.tell(&Err(Failure::new(DocaError::ALREADY_EXIST, text)));
        }
        self.last += 1;
        self.known.insert(memory, self.last);
        let share = Share { memory, is_offered: false, asked: None, ending: None };
        self.shares.insert(self.last, share);
        self.waiting.push_back((self.last, offered));
        self.begin();
    }

    /// Makes offers ready, up to the limit.
    fn begin(&mut self) {
        let asked = self.shares.values().filter(|share| share.asked.is_some()).count();
        while self.ready.len() + asked < AT_ONCE
            && let Some((share, offered)) = self.waiting.pop_front()
        {
            self.ready.spawn(make_ready(
                share,
                offered,
                self.door.clone(),
                Arc::clone(&self.lease),
                self.ticket,
            ));
        }
    }

    /// Begins to end that.
    pub(super) async fn unshare(
        &mut self,
        stream: &WorkerStream,
        memory: u64,
        after: u64,
        told: Told,
    ) {
        let Some(share) = self.known.remove(&memory) else {
            let text = "this memory is not shared with this worker";
            return told.tell(&Err(Failure::new(DocaError::NOT_FOUND, text)));
        };
        let Some(entry) = self.shares.get_mut(&share) else { return };
        entry.ending = Some((after, told));
        if entry.is_offered {
            stream.send(HostToWorker::Memory(MemoryWord::End { memory, share, after })).await;
        }
    }

    /// The next offer that is ready, and its end if that was asked for. Never ready without one.
    pub(super) async fn next_offer(&mut self) -> Vec<MemoryWord> {
        let Some(made) = self.ready.join_next().await else {
            return std::future::pending().await;
        };
        let mut words = Vec::new();
        // An error is a panic, which was reported. The host was told as its callback was dropped.
        if let Ok(Made { share, told, offer }) = made
            && let Some(entry) = self.shares.get_mut(&share)
        {
            match offer {
                Ok(Offer { offer, reason, thread }) => {
                    self.thread = thread.or(self.thread.take());
                    self.is_copied |= matches!(offer.place, MemoryPlace::Process);
                    self.is_mapped |= matches!(offer.place, MemoryPlace::Handed { .. });
                    entry.is_offered = true;
                    entry.asked = Some((told, reason));
                    let memory = offer.memory;
                    words.push(MemoryWord::Share(offer));
                    if let Some((after, _)) = entry.ending {
                        words.push(MemoryWord::End { memory, share, after });
                    }
                }
                Err(failure) => {
                    self.drop_share(share);
                    told.tell(&Err(failure));
                }
            }
        }
        self.begin();
        words
    }

    /// Hears the worker.
    pub(super) fn hear(&mut self, answer: MemoryAnswer) {
        match answer {
            MemoryAnswer::Shared { share, result } => {
                let Some(entry) = self.shares.get_mut(&share) else { return };
                let Some((told, reason)) = entry.asked.take() else { return };
                let is_ending = entry.ending.is_some();
                if let Ok(by) = &result {
                    self.note_path(MemoryPath(by.path), reason);
                }
                match (result, &self.thread) {
                    // Told when the worker's questions are answered: the first question may be
                    // there at once.
                    (Ok(SharedBy { path, ucx_address }), Some(thread))
                        if !ucx_address.is_empty() =>
                    {
                        let tell = move || told.tell(&Ok(MemoryPath(path)));
                        thread.connect(self.ticket, ucx_address, Box::new(tell));
                    }
                    (Ok(by), _) => told.tell(&Ok(MemoryPath(by.path))),
                    (Err(failure), thread) => {
                        if let Some(thread) = thread {
                            thread.forget(self.ticket, share, None);
                        }
                        // Otherwise the worker answers the end.
                        if !is_ending {
                            self.drop_share(share);
                        }
                        told.tell(&Err(failure));
                    }
                }
            }
            MemoryAnswer::Ended { share } => {
                if self.shares.get(&share).is_some_and(|share| share.ending.is_some()) {
                    self.drop_share(share);
                }
            }
        }
        self.begin();
    }

    /// Logs that a path is slower than this machine allows: each line once, until another differs.
    fn note_path(&mut self, path: MemoryPath, Reason { best, door }: Reason) {
        if !self.door.is_here || path.0 <= best.0 {
            return;
        }
        let why = door.unwrap_or_else(|| {
            "the kernel copies nothing of this process for the worker: it is of another user, or \
             kernel.yama.ptrace_scope or a container forbids it"
                .to_owned()
        });
        let (worker, path, best) = (&self.worker, path.name(), best.name());
        let line = format!("{worker} uses memory by the path `{path}`, not `{best}`: {why}");
        if line != self.slow {
            log!(info, "{line}");
            self.slow = line;
        }
    }

    /// Has the worker, which is about to be left, end all shares.
    pub(super) async fn leave(&mut self, stream: &WorkerStream) {
        if self.is_copied {
            stream.send(HostToWorker::Memory(MemoryWord::Leave)).await;
        }
    }

    /// Forgets a share that the worker does not have, or has ended. The callback for its end runs
    /// when this process does not use the memory for the worker any more.
    fn drop_share(&mut self, share: u64) {
        let Some(Share { memory, ending, .. }) = self.shares.remove(&share) else { return };
        let Some((_, told)) = ending else {
            self.known.remove(&memory);
            return;
        };
        let ended = told.ended();
        if let Some(thread) = &self.thread {
            // A thread that has ended drops this, and its UCX uses nothing then.
            thread.forget(self.ticket, share, Some(Box::new(move || drop(ended))));
        }
    }

    /// Ends all: the worker is lost, or left. Returns when nothing but mappings of the worker uses
    /// the memory any more. The callbacks of `late` follow once the mappings are gone.
    pub(super) async fn end(mut self, late: Arc<Late>) {
        self.ready.abort_all();
        while let Some(made) = self.ready.join_next().await {
            if let Ok(Made { offer: Ok(Offer { thread, .. }), .. }) = made {
                self.thread = thread.or(self.thread.take());
            }
        }
        if let Some(thread) = &self.thread {
            let (done, over) = oneshot::channel();
            thread.leave(self.ticket, done);
            // An error is the end of the thread, which uses nothing then.
            let _ = over.await;
        }
        let ending = self.shares.into_values().filter_map(|share| share.ending);
        ending.for_each(|(_, told)| late.keep(told));
        match Arc::into_inner(self.lease).and_then(OnceCell::into_inner) {
            Some(mut lease) => {
                let copies_end = !self.is_copied || lease.copies_end().await;
                if copies_end && !self.is_mapped { late.end() } else { lease.end(late) }
            }
            None => late.end(),
        }
    }
}
