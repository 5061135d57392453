//! An all-gather inside this process, between engines of one or more threads, with fault injection.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use urom_abi::DocaStatus;
use urom_abi::host::OobColl;

use crate::support::OK;

pub struct Rally {
    count: usize,
    blocks: Mutex<HashMap<(usize, usize), Block>>,
}

pub const ROUNDS: usize = 3;

/// The original block, and the block that others receive.
type Block = [Vec<u8>; 2];

/// A fault and its round (from 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Allgather(usize),
    Test(usize),
    Free(usize),
    Never(usize),
}

/// Changes a block on its way to others: round and bytes.
pub type Tamper = Box<dyn Fn(usize, &mut Vec<u8>) + Send + Sync>;

/// One participant. Must not move while a domain has its functions.
pub struct Party {
    rally: Arc<Rally>,
    index: usize,
    pub fault: Option<Fault>,
    pub tamper: Option<Tamper>,
    /// Called inside `req_test`.
    pub inside: Option<Box<dyn Fn() + Send + Sync>>,
    pub gathers: AtomicUsize,
    pub tests: AtomicUsize,
    pub frees: AtomicUsize,
    callers: Mutex<Vec<ThreadId>>,
}

struct Request {
    party: *const Party,
    round: usize,
    receive: *mut c_void,
    len: usize,
    over: bool,
}

impl Rally {
    pub fn new(count: usize) -> Arc<Rally> {
        Arc::new(Rally { count, blocks: Mutex::default() })
    }

    pub fn party(self: &Arc<Rally>, index: usize) -> Box<Party> {
        Box::new(Party {
            rally: Arc::clone(self),
            index,
            fault: None,
            tamper: None,
            inside: None,
            gathers: AtomicUsize::new(0),
            tests: AtomicUsize::new(0),
            frees: AtomicUsize::new(0),
            callers: Mutex::default(),
        })
    }
}

impl Party {
    pub fn oob(&self) -> OobColl {
        OobColl {
            allgather: Some(allgather),
            req_test: Some(test),
            req_free: Some(free),
            coll_info: std::ptr::from_ref(self).cast_mut().cast(),
            n_oob_indexes: self.rally.count as u32,
            oob_index: self.index as u32,
        }
    }

    fn called(&self) {
        self.callers.lock().unwrap().push(thread::current().id());
    }

    pub fn is_called_by_this_thread(&self) -> bool {
        self.callers.lock().unwrap().iter().all(|caller| *caller == thread::current().id())
    }

    fn count(counter: &AtomicUsize) -> usize {
        counter.load(Ordering::Relaxed)
    }

    pub fn counts(&self) -> (usize, usize) {
        (Party::count(&self.gathers), Party::count(&self.frees))
    }
}

unsafe extern "C" fn allgather(
    send: *mut c_void,
    receive: *mut c_void,
    len: usize,
    info: *mut c_void,
    request: *mut *mut c_void,
) -> DocaStatus {
    // SAFETY: the pointer from `oob`.
    let party = unsafe { &*info.cast::<Party>() };
    party.called();
    let round = Party::count(&party.gathers) % ROUNDS;
    if party.fault == Some(Fault::Allgather(round)) {
        return DocaStatus::IO_FAILED;
    }
    party.gathers.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller passes `len` bytes.
    let block = unsafe { std::slice::from_raw_parts(send.cast::<u8>(), len) }.to_vec();
    let mut shown = block.clone();
    if let Some(tamper) = &party.tamper {
        tamper(round, &mut shown);
    }
    let round = Party::count(&party.gathers) - 1;
    party.rally.blocks.lock().unwrap().insert((round, party.index), [block, shown]);
    let new = Box::new(Request { party, round, receive, len, over: false });
    // SAFETY: the caller's pointer.
    unsafe { request.write(Box::into_raw(new).cast()) };
    OK
}

unsafe extern "C" fn test(request: *mut c_void) -> DocaStatus {
    // SAFETY: from `allgather`, and not freed.
    let request = unsafe { &mut *request.cast::<Request>() };
    // SAFETY: a party outlives its requests.
    let party = unsafe { &*request.party };
    party.called();
    party.tests.fetch_add(1, Ordering::Relaxed);
    assert!(!request.over, "nothing is tested again after it was over");
    if let Some(inside) = &party.inside {
        inside();
    }
    match party.fault {
        Some(Fault::Test(round)) if round == request.round % ROUNDS => {
            return DocaStatus::CONNECTION_RESET;
        }
        Some(Fault::Never(round)) if round == request.round % ROUNDS => {
            return DocaStatus::IN_PROGRESS;
        }
        _ => {}
    }
    let blocks = party.rally.blocks.lock().unwrap();
    let all = (0..party.rally.count).map(|index| blocks.get(&(request.round, index)));
    let Some(all) = all.collect::<Option<Vec<_>>>() else { return DocaStatus::IN_PROGRESS };
    for (index, block) in all.into_iter().enumerate() {
        let block = &block[usize::from(index != party.index)];
        let target = request.receive.cast::<u8>().wrapping_add(index * request.len);
        // SAFETY: the caller's buffer has space for all blocks.
        unsafe { target.copy_from_nonoverlapping(block.as_ptr(), block.len().min(request.len)) };
    }
    request.over = true;
    OK
}

unsafe extern "C" fn free(request: *mut c_void) -> DocaStatus {
    // SAFETY: from `allgather`, and freed once; heap checkers would detect a double free.
    let request = unsafe { Box::from_raw(request.cast::<Request>()) };
    // SAFETY: a party outlives its requests.
    let party = unsafe { &*request.party };
    party.called();
    party.frees.fetch_add(1, Ordering::Relaxed);
    if party.fault == Some(Fault::Free(request.round % ROUNDS)) { DocaStatus::DRIVER } else { OK }
}
