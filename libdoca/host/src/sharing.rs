//! Sharing memory with a worker: which way is taken, and who waits for what.
//!
//! A descriptor is handed over at the worker's door. For memory without one, this process shows
//! itself there, and the kernel may let the worker copy. Where a worker cannot do either, the
//! memory thread answers the worker's questions over UCX.

mod lease;
#[cfg(test)]
mod tests;
mod told;

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OnceCell, oneshot};
use tokio::task::JoinSet;
use urom_abi::DocaError;
use urom_abi::host_memory::MemoryPath;
use urom_wire::awake::timeout;
use urom_wire::control::{
    Failure, HostToWorker, MemoryAnswer, MemoryOffer, MemoryPlace, MemoryWord, SharedBy,
};
use urom_wire::memory::{Slip, hand_over};

use self::lease::Lease;
use self::told::Ending;
pub(super) use self::told::{Late, Told};
use crate::memory_thread::{MemoryThread, Served};
use crate::stream::WorkerStream;

/// How long the door may take to answer.
const AT_DOOR: Duration = Duration::from_secs(2);

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

/// What one worker has of this program's memory.
pub(super) struct Sharing {
    ticket: u128,
    door: Door,
    /// From the first memory on that goes by the door; `None` when the worker gives none.
    lease: Arc<OnceCell<Option<Lease>>>,
    /// The number of the last share.
    last: u64,
    /// Shares whose turn has not come.
    waiting: VecDeque<(u64, Offered)>,
    /// Those that are made ready.
    ready: JoinSet<Result<Ready, Refused>>,
    /// Memories that are shared, or will be unless that fails, and by which share.
    known: HashMap<u64, u64>,
    /// Shares that were not offered yet, and who asked for their end after how many commands.
    unoffered: HashMap<u64, Option<(u64, Told)>>,
    /// Those that the worker has not answered for, and their memories.
    asked: HashMap<u64, (u64, Told)>,
    /// Shares whose end was asked for.
    ending: HashMap<u64, Told>,
    /// Whether the kernel may copy memory of this process for the worker.
    is_copied: bool,
    /// Whether the worker may map memory of this process.
    is_mapped: bool,
    thread: Option<Arc<MemoryThread>>,
}

enum Door {
    Unknown,
    Asked,
    Known(Option<PathBuf>),
}

/// An offer that can be made.
struct Ready {
    offer: MemoryOffer,
    told: Told,
    thread: Option<Arc<MemoryThread>>,
}

/// A share that cannot be offered.
struct Refused {
    share: u64,
    memory: u64,
    failure: Failure,
    told: Told,
}

impl Sharing {
    pub(super) fn new(ticket: u128) -> Sharing {
        Sharing {
            ticket,
            door: Door::Unknown,
            lease: Arc::default(),
            last: 0,
            waiting: VecDeque::new(),
            ready: JoinSet::new(),
            known: HashMap::new(),
            unoffered: HashMap::new(),
            asked: HashMap::new(),
            ending: HashMap::new(),
            is_copied: false,
            is_mapped: false,
            thread: None,
        }
    }

    /// Begins to share memory.
    pub(super) async fn share(&mut self, stream: &WorkerStream, offered: Offered) {
        let memory = offered.memory;
        if self.known.contains_key(&memory) {
            let text = "this memory is shared with this worker already";
            return offered.told.tell(&Err(Failure::new(DocaError::ALREADY_EXIST, text)));
        }
        self.last += 1;
        self.known.insert(memory, self.last);
        self.unoffered.insert(self.last, None);
        self.waiting.push_back((self.last, offered));
        self.begin();
        if matches!(self.door, Door::Unknown) {
            self.door = Door::Asked;
            stream.send(HostToWorker::Memory(MemoryWord::Door)).await;
        }
    }

    /// Makes offers ready, as many as may be.
    fn begin(&mut self) {
        let Door::Known(door) = &self.door else { return };
        while self.ready.len() + self.asked.len() < AT_ONCE
            && let Some((share, offered)) = self.waiting.pop_front()
        {
            self.ready.spawn(make_ready(
                share,
                offered,
                door.clone(),
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
        match self.unoffered.get_mut(&share) {
            Some(ended) => *ended = Some((after, told)),
            None => {
                self.ending.insert(share, told);
                stream.send(HostToWorker::Memory(MemoryWord::End { memory, share, after })).await;
            }
        }
    }

    /// The next offer that is ready, and its end if that was asked for. Never ready without one.
    pub(super) async fn next_offer(&mut self) -> Vec<MemoryWord> {
        let Some(made) = self.ready.join_next().await else {
            return std::future::pending().await;
        };
        let words = match made {
            Ok(Ok(Ready { offer, told, thread })) => {
                self.thread = thread.or(self.thread.take());
                self.is_copied |= matches!(offer.place, MemoryPlace::Process);
                self.is_mapped |= matches!(offer.place, MemoryPlace::Handed { .. });
                let MemoryOffer { share, memory, .. } = offer;
                self.asked.insert(share, (memory, told));
                let mut words = vec![MemoryWord::Share(offer)];
                if let Some((after, ended)) = self.unoffered.remove(&share).flatten() {
                    self.ending.insert(share, ended);
                    words.push(MemoryWord::End { memory, share, after });
                }
                words
            }
            Ok(Err(Refused { share, memory, failure, told })) => {
                match self.unoffered.remove(&share).flatten() {
                    Some((_, ended)) => self.forget(share, ended),
                    None => drop(self.known.remove(&memory)),
                }
                told.tell(&Err(failure));
                Vec::new()
            }
            // It panicked, which was reported; the host was told as its callback was dropped.
            Err(_) => Vec::new(),
        };
        self.begin();
        words
    }

    /// Hears the worker.
    pub(super) fn hear(&mut self, answer: MemoryAnswer) {
        match answer {
            MemoryAnswer::Door(address) => {
                let door = !address.is_empty();
                self.door = Door::Known(door.then(|| OsString::from_vec(address).into()));
            }
            MemoryAnswer::Shared { share, result } => {
                let Some((memory, told)) = self.asked.remove(&share) else { return };
                match (result, &self.thread) {
                    // Told when the worker's questions are answered, the first of which may be
                    // there at once.
                    (Ok(SharedBy { path, ucx_address }), Some(thread))
                        if !ucx_address.is_empty() =>
                    {
                        let tell = move || told.tell(&Ok(MemoryPath(path)));
                        thread.connect(self.ticket, ucx_address, Box::new(tell));
                    }
                    (Ok(by), _) => told.tell(&Ok(MemoryPath(by.path))),
                    (Err(failure), thread) => {
                        if self.known.get(&memory) == Some(&share) {
                            self.known.remove(&memory);
                        }
                        if let Some(thread) = thread {
                            thread.forget(self.ticket, share, None);
                        }
                        told.tell(&Err(failure));
                    }
                }
            }
            MemoryAnswer::Ended { share } => {
                if let Some(told) = self.ending.remove(&share) {
                    self.forget(share, told);
                }
            }
        }
        self.begin();
    }

    /// Has the worker, which is about to be left, end all shares.
    pub(super) async fn leave(&mut self, stream: &WorkerStream) {
        if self.is_copied {
            stream.send(HostToWorker::Memory(MemoryWord::Leave)).await;
        }
    }

    /// Tells of the end of a share, which the worker has ended, when this process does not use its
    /// memory for the worker any more.
    fn forget(&self, share: u64, told: Told) {
        let ending = Ending::new(told);
        if let Some(thread) = &self.thread {
            // A thread that has ended drops this, and its UCX uses nothing then.
            thread.forget(self.ticket, share, Some(Box::new(move || drop(ending))));
        }
    }

    /// Ends all: the worker is lost, or left. Returns when nothing but mappings of the worker uses
    /// the memory any more. Those that are `late` are told when these are gone, too.
    pub(super) async fn end(mut self, late: Arc<Late>) {
        self.ready.abort_all();
        while let Some(made) = self.ready.join_next().await {
            if let Ok(Ok(Ready { thread, .. })) = made {
                self.thread = thread.or(self.thread.take());
            }
        }
        if let Some(thread) = &self.thread {
            let (done, over) = oneshot::channel();
            thread.leave(self.ticket, done);
            // An error is the end of the thread, which uses nothing then.
            let _ = over.await;
        }
        let unoffered = self.unoffered.into_values().flatten().map(|(_, told)| told);
        self.ending.into_values().chain(unoffered).for_each(|told| late.keep(told));
        match Arc::into_inner(self.lease).and_then(OnceCell::into_inner).flatten() {
            Some(mut lease) => {
                let copies_end = !self.is_copied || lease.copies_end().await;
                if copies_end && !self.is_mapped { late.end() } else { lease.end(late) }
            }
            None => late.end(),
        }
    }
}

/// Tries the ways one after the other.
async fn make_ready(
    share: u64,
    offered: Offered,
    door: Option<PathBuf>,
    lease: Arc<OnceCell<Option<Lease>>>,
    ticket: u128,
) -> Result<Ready, Refused> {
    let Offered { memory, address, len, access, fd, path, told } = offered;
    let offer = |place, ucx_address| MemoryOffer {
        share,
        memory,
        address,
        len,
        access,
        place,
        ucx_address,
    };
    let slip = Slip { ticket, share };
    let hand = async |fd: Option<&OwnedFd>| {
        let Some(door) = &door else { return false };
        if lease.get_or_init(|| Lease::take(door, ticket)).await.is_none() {
            return false;
        }
        let handed = timeout(AT_DOOR, hand_over(door, slip, fd.map(OwnedFd::as_fd))).await;
        let handed = handed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let why = |error| log!(debug, "memory is not handed over at {door:?}: {error}");
        handed.map_err(why).is_ok()
    };
    if let Some((fd, offset)) = &fd
        && path == MemoryPath::MAPPED
        && hand(Some(fd)).await
    {
        let offer = offer(MemoryPlace::Handed { offset: *offset }, Vec::new());
        return Ok(Ready { offer, told, thread: None });
    }
    let opened = async {
        let thread = MemoryThread::shared()?;
        let address = thread.address().await?;
        Ok((thread, address))
    };
    let (thread, ucx_address) = match opened.await {
        Ok(opened) => opened,
        Err(failure) => return Err(Refused { share, memory, failure, told }),
    };
    let place = match path != MemoryPath::NETWORK && hand(None).await {
        true => MemoryPlace::Process,
        false => MemoryPlace::Network,
    };
    // Last: what is served is offered, or forgotten with the stream.
    thread.serve(Served { ticket, share, address, len, access });
    Ok(Ready { offer: offer(place, ucx_address), told, thread: Some(thread) })
}
