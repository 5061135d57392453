//! Sharing memory with a worker: the path and the callbacks of each share. The host sends a
//! memory's descriptor to the worker's socket. Without a descriptor, this process connects there,
//! and the kernel may let the worker copy. As a fallback, the memory thread serves it over UCX.

mod callback;
mod ready;
#[cfg(test)]
mod tests;
mod use_guard;

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::sync::{OnceCell, oneshot};
use tokio::task::JoinSet;
use urom_abi::DocaError;
use urom_abi::host_memory::MemoryPath;
use urom_wire::control::{
    Failure, HostToWorker, MemoryAnswer, MemoryLocation, MemoryWord, SharedBy,
};

pub(super) use self::callback::{LateCallbacks, ShareCallback};
use self::ready::{Offer, PreparedOffer, Reason, make_ready};
use self::use_guard::UseGuard;
use crate::memory_thread::MemoryThread;
use crate::socket::WorkerSocket;
use crate::stream::WorkerStream;

/// Maximum concurrent offers, below the limit of the worker's socket.
const AT_ONCE: usize = 32;

pub(super) struct ShareRequest {
    pub(super) memory: u64,
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) access: u32,
    /// Descriptor and offset.
    pub(super) fd: Option<(OwnedFd, u64)>,
    /// The first path to try.
    pub(super) path: MemoryPath,
    pub(super) callback: ShareCallback,
}

#[derive(Default)]
pub(super) struct Sharing {
    worker: String,
    token: u128,
    socket: WorkerSocket,
    /// The last logged warning about a slow path.
    slow: String,
    /// Set by the first share with a socket.
    use_guard: Arc<OnceCell<UseGuard>>,
    last: u64,
    /// Shares that are not offered yet.
    waiting: VecDeque<(u64, ShareRequest)>,
    ready: JoinSet<PreparedOffer>,
    /// By number, from the host's call to the end.
    shares: HashMap<u64, ShareState>,
    /// The share of each memory, until its end is requested.
    known: HashMap<u64, u64>,
    /// Whether the kernel may copy this process's memory for the worker.
    is_copied: bool,
    is_mapped: bool,
    thread: Option<Arc<MemoryThread>>,
}

struct ShareState {
    memory: u64,
    is_offered: bool,
    /// From the offer to the worker's answer: the callback and the path's reason.
    asked: Option<(ShareCallback, Reason)>,
    /// The command count after which the share ends, and the callback.
    ending: Option<(u64, ShareCallback)>,
}

impl Sharing {
    pub(super) fn new(worker: &str, token: u128, socket: WorkerSocket) -> Sharing {
        Sharing { worker: worker.to_owned(), token, socket, ..Sharing::default() }
    }

    pub(super) fn share(&mut self, offered: ShareRequest) {
        let memory = offered.memory;
        if self.known.contains_key(&memory) {
            let text = "this memory is shared with this worker already";
            return offered.callback.complete(&Err(Failure::new(DocaError::ALREADY_EXIST, text)));
        }
        self.last += 1;
        self.known.insert(memory, self.last);
        let share = ShareState { memory, is_offered: false, asked: None, ending: None };
        self.shares.insert(self.last, share);
        self.waiting.push_back((self.last, offered));
        self.begin();
    }

    fn begin(&mut self) {
        let asked = self.shares.values().filter(|share| share.asked.is_some()).count();
        while self.ready.len() + asked < AT_ONCE
            && let Some((share, offered)) = self.waiting.pop_front()
        {
            self.ready.spawn(make_ready(
                share,
                offered,
                self.socket.clone(),
                Arc::clone(&self.use_guard),
                self.token,
            ));
        }
    }

    pub(super) async fn unshare(
        &mut self,
        stream: &WorkerStream,
        memory: u64,
        after: u64,
        callback: ShareCallback,
    ) {
        let Some(share) = self.known.remove(&memory) else {
            let text = "this memory is not shared with this worker";
            return callback.complete(&Err(Failure::new(DocaError::NOT_FOUND, text)));
        };
        let Some(entry) = self.shares.get_mut(&share) else { return };
        entry.ending = Some((after, callback));
        if entry.is_offered {
            stream.send(HostToWorker::Memory(MemoryWord::End { memory, share, after })).await;
        }
    }

    /// Returns the next ready offer, and its end if requested. Pending without prepared offers.
    pub(super) async fn next_offer(&mut self) -> Vec<MemoryWord> {
        let Some(made) = self.ready.join_next().await else {
            return std::future::pending().await;
        };
        let mut words = Vec::new();
        // The panic was already reported, and the dropped callback notified the host.
        if let Ok(PreparedOffer { share, callback, offer }) = made
            && let Some(entry) = self.shares.get_mut(&share)
        {
            match offer {
                Ok(Offer { offer, reason, thread }) => {
                    self.thread = thread.or(self.thread.take());
                    self.is_copied |= matches!(offer.location, MemoryLocation::Process);
                    self.is_mapped |= matches!(offer.location, MemoryLocation::Handed { .. });
                    entry.is_offered = true;
                    entry.asked = Some((callback, reason));
                    let memory = offer.memory;
                    words.push(MemoryWord::Share(offer));
                    if let Some((after, _)) = entry.ending {
                        words.push(MemoryWord::End { memory, share, after });
                    }
                }
                Err(failure) => {
                    self.drop_share(share);
                    callback.complete(&Err(failure));
                }
            }
        }
        self.begin();
        words
    }

    pub(super) fn on_answer(&mut self, answer: MemoryAnswer) {
        match answer {
            MemoryAnswer::Shared { share, result } => {
                let Some(entry) = self.shares.get_mut(&share) else { return };
                let Some((callback, reason)) = entry.asked.take() else { return };
                let is_ending = entry.ending.is_some();
                if let Ok(by) = &result {
                    self.note_path(MemoryPath(by.path), reason);
                }
                match (result, &self.thread) {
                    // After the memory thread accepts questions: the host may cause one at once.
                    (Ok(SharedBy { path, ucx_address }), Some(thread))
                        if !ucx_address.is_empty() =>
                    {
                        let complete = move || callback.complete(&Ok(MemoryPath(path)));
                        thread.connect(self.token, ucx_address, Box::new(complete));
                    }
                    (Ok(by), _) => callback.complete(&Ok(MemoryPath(by.path))),
                    (Err(failure), thread) => {
                        if let Some(thread) = thread {
                            thread.forget(self.token, share, None);
                        }
                        // Otherwise the worker answers the end.
                        if !is_ending {
                            self.drop_share(share);
                        }
                        callback.complete(&Err(failure));
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

    /// Logs that a path is slower than possible on this machine, once per distinct line.
    fn note_path(&mut self, path: MemoryPath, Reason { best, socket }: Reason) {
        if !self.socket.is_here || path.0 <= best.0 {
            return;
        }
        let why = socket.unwrap_or_else(|| {
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

    /// Ends all shares at the worker before this host leaves it.
    pub(super) async fn leave(&mut self, stream: &WorkerStream) {
        if self.is_copied {
            stream.send(HostToWorker::Memory(MemoryWord::Leave)).await;
        }
    }

    /// Removes a refused or ended share. Runs the end callback once this process stops using it.
    fn drop_share(&mut self, share: u64) {
        let Some(ShareState { memory, ending, .. }) = self.shares.remove(&share) else { return };
        let Some((_, callback)) = ending else {
            self.known.remove(&memory);
            return;
        };
        let ended = callback.ended();
        if let Some(thread) = &self.thread {
            // A thread that ends closes UCX and then drops this.
            thread.forget(self.token, share, Some(Box::new(move || drop(ended))));
        }
    }

    /// Ends all shares of a lost or left worker. Returns when only the worker's mappings use the
    /// memory; `late` runs its callbacks after their end.
    pub(super) async fn end(mut self, late: Arc<LateCallbacks>) {
        self.ready.abort_all();
        while let Some(made) = self.ready.join_next().await {
            if let Ok(PreparedOffer { offer: Ok(Offer { thread, .. }), .. }) = made {
                self.thread = thread.or(self.thread.take());
            }
        }
        if let Some(thread) = &self.thread {
            let (done, over) = oneshot::channel();
            thread.leave(self.token, done);
            // An error means that the thread has ended and does not use the memory.
            let _ = over.await;
        }
        let ending = self.shares.into_values().filter_map(|share| share.ending);
        ending.for_each(|(_, callback)| late.keep(callback));
        match Arc::into_inner(self.use_guard).and_then(OnceCell::into_inner) {
            Some(mut use_guard) => {
                let copies_end = !self.is_copied || use_guard.copies_end().await;
                if copies_end && !self.is_mapped { late.end() } else { use_guard.end(late) }
            }
            None => late.end(),
        }
    }
}
