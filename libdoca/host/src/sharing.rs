//! Sharing memory with a worker: which way is taken, and who waits for what.
//!
//! A descriptor is handed over at the worker's door. For memory without one, this process shows
//! itself there, and the kernel may let the worker copy. Where a worker cannot do either, the memory
//! thread answers the worker's questions over UCX.

use std::collections::HashMap;
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
};
use urom_wire::memory::{Slip, hand_over};

use crate::failure::failure;
use crate::memory_thread::{MemoryThread, Served};
use crate::stream::WorkerStream;

/// How long the door may take to answer.
const AT_DOOR: Duration = Duration::from_secs(2);

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
    /// Offers that are made ready.
    ready: JoinSet<Result<Ready, Refused>>,
    /// Memories that are shared, or will be unless that fails; whether they were offered yet.
    known: HashMap<u64, bool>,
    /// Those whose end was asked for before they were offered.
    given_up: HashMap<u64, Told>,
    /// Those that the worker has not answered for.
    asked: HashMap<u64, Told>,
    /// Memories whose end was asked for.
    ending: HashMap<u64, Told>,
    thread: Option<Arc<MemoryThread>>,
}

enum Door {
    Unknown,
    /// Who waits to know it.
    Asked(Vec<Offered>),
    Known(Option<PathBuf>),
}

/// An offer that can be made.
struct Ready {
    offer: MemoryOffer,
    told: Told,
    thread: Option<Arc<MemoryThread>>,
}

/// A memory that cannot be offered.
type Refused = (u64, Failure, Told);

impl Sharing {
    pub(super) fn new(ticket: u128) -> Sharing {
        Sharing {
            ticket,
            door: Door::Unknown,
            ready: JoinSet::new(),
            known: HashMap::new(),
            given_up: HashMap::new(),
            asked: HashMap::new(),
            ending: HashMap::new(),
            thread: None,
        }
    }

    /// Begins to share memory.
    pub(super) async fn share(&mut self, stream: &WorkerStream, offered: Offered) {
        let memory = offered.memory;
        if self.known.contains_key(&memory) || self.given_up.contains_key(&memory) {
            let text = "this memory is shared with this worker already";
            return offered.told.tell(&Err(Failure::new(DocaError::ALREADY_EXIST, text)));
        }
        self.known.insert(memory, false);
        match &mut self.door {
            Door::Known(door) => {
                let making = make_ready(offered, door.clone(), self.ticket);
                self.ready.spawn(making);
            }
            Door::Asked(waiting) => waiting.push(offered),
            Door::Unknown => {
                self.door = Door::Asked(vec![offered]);
                stream.send(HostToWorker::Memory(MemoryWord::Door)).await;
            }
        }
    }

    /// Begins to end that.
    pub(super) async fn unshare(&mut self, stream: &WorkerStream, memory: u64, told: Told) {
        match self.known.remove(&memory) {
            Some(true) => {
                self.ending.insert(memory, told);
                stream.send(HostToWorker::Memory(MemoryWord::End { memory })).await;
            }
            Some(false) => drop(self.given_up.insert(memory, told)),
            None => {
                let text = "this memory is not shared with this worker";
                told.tell(&Err(Failure::new(DocaError::NOT_FOUND, text)));
            }
        }
    }

    /// Sends the next offer that is ready. Never ready without one.
    pub(super) async fn next_offer(&mut self) -> Option<MemoryWord> {
        let Some(made) = self.ready.join_next().await else {
            return std::future::pending().await;
        };
        match made {
            Ok(Ok(Ready { offer, told, thread })) => {
                self.thread = thread.or(self.thread.take());
                if let Some(ended) = self.given_up.remove(&offer.memory) {
                    drop(told);
                    self.forget(offer.memory, ended);
                    return None;
                }
                self.known.insert(offer.memory, true);
                self.asked.insert(offer.memory, told);
                Some(MemoryWord::Share(offer))
            }
            Ok(Err((memory, failure, told))) => {
                self.known.remove(&memory);
                if let Some(ended) = self.given_up.remove(&memory) {
                    self.forget(memory, ended);
                }
                told.tell(&Err(failure));
                None
            }
            // It panicked, which was reported; the host was told as its callback was dropped.
            Err(_) => None,
        }
    }

    /// Hears the worker.
    pub(super) fn hear(&mut self, answer: MemoryAnswer) {
        match answer {
            MemoryAnswer::Door(address) => {
                let door =
                    (!address.is_empty()).then(|| PathBuf::from(OsString::from_vec(address)));
                let before = std::mem::replace(&mut self.door, Door::Known(door.clone()));
                if let Door::Asked(waiting) = before {
                    for offered in waiting {
                        self.ready.spawn(make_ready(offered, door.clone(), self.ticket));
                    }
                }
            }
            MemoryAnswer::Shared { memory, result } => {
                let result = result.map(|SharedBy { path, ucx_address }| {
                    if let Some(thread) = &self.thread
                        && !ucx_address.is_empty()
                    {
                        thread.connect(self.ticket, ucx_address);
                    }
                    MemoryPath(path)
                });
                if result.is_err() {
                    self.known.remove(&memory);
                    if let Some(thread) = &self.thread {
                        thread.forget(self.ticket, memory, None);
                    }
                }
                if let Some(told) = self.asked.remove(&memory) {
                    told.tell(&result);
                }
            }
            MemoryAnswer::Ended { memory } => {
                if let Some(told) = self.ending.remove(&memory) {
                    self.forget(memory, told);
                }
            }
        }
    }

    /// Tells of the end of a memory when this process does not use it for the worker any more.
    fn forget(&self, memory: u64, told: Told) {
        let end = move || told.tell(&Ok(MemoryPath::MAPPED));
        match &self.thread {
            Some(thread) => thread.forget(self.ticket, memory, Some(Box::new(end))),
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
    offered: Offered,
    door: Option<PathBuf>,
    ticket: u128,
) -> Result<Ready, Refused> {
    let Offered { memory, address, len, access, fd, path, told } = offered;
    let offer =
        |place, ucx_address| MemoryOffer { memory, address, len, access, place, ucx_address };
    let slip = Slip { ticket, memory };
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
        Err(failure) => return Err((memory, failure, told)),
    };
    thread.serve(Served { ticket, memory, address, len, access });
    let place = match path != MemoryPath::NETWORK && hand(None).await {
        true => MemoryPlace::Process,
        false => MemoryPlace::Network,
    };
    Ok(Ready { offer: offer(place, ucx_address), told, thread: Some(thread) })
}
