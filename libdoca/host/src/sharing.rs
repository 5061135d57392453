//! Sharing memory with a worker: which way is taken, and who waits for what.
//!
//! A descriptor is handed over at the worker's door. For memory without one, this process shows
//! itself there, and the kernel may let the worker copy. Where a worker cannot do either, the
//! memory thread answers the worker's questions over UCX.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsString, c_void};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryCallback, MemoryPath};
use urom_wire::awake::timeout;
use urom_wire::control::{
    Failure, HostToWorker, MemoryAnswer, MemoryOffer, MemoryPlace, MemoryWord, SharedBy,
    WorkerToHost,
};
use urom_wire::memory::{Slip, hand_over};

use crate::failure::failure;
use crate::memory_thread::{MemoryThread, Served};
use crate::stream::WorkerStream;

/// How long the door may take to answer.
const AT_DOOR: Duration = Duration::from_secs(2);

/// How many offers are made ready, or wait for the worker's answer, at a time: fewer than the
/// worker keeps at its door.
const AT_ONCE: usize = 32;

/// How long the worker's plugins may take to return, so that the worker uses memory no more.
const LEAVING: Duration = Duration::from_secs(2);

/// Whom to tell how sharing went, once: one that is dropped says that the worker is gone.
pub(super) struct Told {
    callback: Option<MemoryCallback>,
    data: *mut c_void,
}

// SAFETY: the host's promise for the callback: any thread may call it.
unsafe impl Send for Told {}

impl Told {
    pub(super) fn new(callback: MemoryCallback, data: *mut c_void) -> Told {
        Told { callback: Some(callback), data }
    }

    fn tell(mut self, result: &Result<MemoryPath, Failure>) {
        self.call(result);
    }

    fn call(&mut self, result: &Result<MemoryPath, Failure>) {
        let Some(callback) = self.callback.take() else { return };
        let (code, path, why) = match result {
            Ok(path) => (DocaError::SUCCESS, *path, ""),
            Err(failure) => (failure.code(), MemoryPath::NETWORK, &*failure.text),
        };
        // SAFETY: the host's function, called once with its data.
        unsafe { callback(self.data, code, path, why.as_ptr().cast(), why.len()) };
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.call(&Err(failure!(CONNECTION_RESET, "the worker left, or was lost")));
    }
}

/// Those whose order came when the worker was about to be left: they are told when nothing uses the
/// memory any more.
#[derive(Default)]
pub(super) struct Late(Mutex<LateTold>);

#[derive(Default)]
struct LateTold {
    all: Vec<Told>,
    is_over: bool,
}

impl Late {
    pub(super) fn keep(&self, told: Told) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !late.is_over {
            return late.all.push(told);
        }
        // Not under the lock: it calls the host.
        drop(late);
        drop(told);
    }

    /// Nothing uses the memory any more.
    pub(super) fn end(&self) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        late.is_over = true;
        let all = std::mem::take(&mut late.all);
        drop(late);
        // Not under the lock: each calls the host.
        drop(all);
    }
}

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
    /// The number of the last share.
    last: u64,
    /// Shares whose turn has not come.
    waiting: VecDeque<(u64, Offered)>,
    /// Those that are made ready.
    ready: JoinSet<Result<Ready, Refused>>,
    /// Memories that are shared, or will be unless that fails, and by which share.
    known: HashMap<u64, u64>,
    /// Shares that were not offered yet, and who asked for their end.
    unoffered: HashMap<u64, Option<Told>>,
    /// Those that the worker has not answered for, and their memories.
    asked: HashMap<u64, (u64, Told)>,
    /// Shares whose end was asked for.
    ending: HashMap<u64, Told>,
    /// Whether the kernel may copy memory of this process for the worker.
    is_copied: bool,
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
            last: 0,
            waiting: VecDeque::new(),
            ready: JoinSet::new(),
            known: HashMap::new(),
            unoffered: HashMap::new(),
            asked: HashMap::new(),
            ending: HashMap::new(),
            is_copied: false,
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
            self.ready.spawn(make_ready(share, offered, door.clone(), self.ticket));
        }
    }

    /// Begins to end that.
    pub(super) async fn unshare(&mut self, stream: &WorkerStream, memory: u64, told: Told) {
        let Some(share) = self.known.remove(&memory) else {
            let text = "this memory is not shared with this worker";
            return told.tell(&Err(Failure::new(DocaError::NOT_FOUND, text)));
        };
        match self.unoffered.get_mut(&share) {
            Some(ended) => *ended = Some(told),
            None => {
                self.ending.insert(share, told);
                stream.send(HostToWorker::Memory(MemoryWord::End { memory, share })).await;
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
                let MemoryOffer { share, memory, .. } = offer;
                self.asked.insert(share, (memory, told));
                let mut words = vec![MemoryWord::Share(offer)];
                if let Some(ended) = self.unoffered.remove(&share).flatten() {
                    self.ending.insert(share, ended);
                    words.push(MemoryWord::End { memory, share });
                }
                words
            }
            Ok(Err(Refused { share, memory, failure, told })) => {
                match self.unoffered.remove(&share).flatten() {
                    Some(ended) => self.forget(share, ended),
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
            // Only `leave` waits for it.
            MemoryAnswer::Left => {}
        }
        self.begin();
    }

    /// Waits until the worker copies nothing of this process any more, which is about to leave it.
    pub(super) async fn leave(&mut self, stream: &mut WorkerStream) {
        if !self.is_copied {
            return;
        }
        stream.send(HostToWorker::Memory(MemoryWord::Leave)).await;
        let left = async {
            // A worker that is gone copies nothing.
            while let Ok(said) = stream.next().await {
                if matches!(said, WorkerToHost::Memory(MemoryAnswer::Left)) {
                    return;
                }
            }
        };
        if timeout(LEAVING, left).await.is_err() {
            log!(
                warn,
                "a worker that this program leaves is held up by a plugin, which may still write to \
                 the memory that was shared with it"
            );
        }
    }

    /// Tells of the end of a memory when this process does not use it for the worker any more.
    fn forget(&self, share: u64, told: Told) {
        let end = move || told.tell(&Ok(MemoryPath::MAPPED));
        match &self.thread {
            Some(thread) => thread.forget(self.ticket, share, Some(Box::new(end))),
            None => end(),
        }
    }

    /// Ends all: the worker is lost, or left. Returns when nothing uses the memory any more.
    pub(super) async fn end(mut self) {
        if let Some(thread) = &self.thread {
            let (done, over) = oneshot::channel();
            thread.leave(self.ticket, done);
            // An error is the end of the thread, which uses nothing then.
            let _ = over.await;
        }
        // Whoever waits is told as this is dropped.
        self.ready.shutdown().await;
    }
}

/// Tries the ways one after the other.
async fn make_ready(
    share: u64,
    offered: Offered,
    door: Option<PathBuf>,
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
        let handed = timeout(AT_DOOR, hand_over(door, slip, fd.map(OwnedFd::as_fd))).await;
        matches!(handed, Ok(Ok(())))
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
    thread.serve(Served { ticket, share, address, len, access });
    let place = match path != MemoryPath::NETWORK && hand(None).await {
        true => MemoryPlace::Process,
        false => MemoryPlace::Network,
    };
    Ok(Ready { offer: offer(place, ucx_address), told, thread: Some(thread) })
}
