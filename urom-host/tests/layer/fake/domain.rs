//! The fake's domains: one exchange of lengths, one of the blocks themselves, then everyone's blocks are on record.

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use urom_abi::DocaError;
use urom_abi::host::{Ctx, CtxState, Domain, OobColl, Worker};

use super::core::change;
use super::objects::Context;

/// What domains do besides starting; see [`habit`].
pub static HABIT: AtomicU32 = AtomicU32::new(habit::GOOD);

/// What every domain that came to run was told by all participants, in the order of their indices.
pub static TABLES: Mutex<Vec<Vec<Told>>> = Mutex::new(Vec::new());

/// What calls that broke the rules were answered with.
pub static ANSWERS: Mutex<Vec<DocaError>> = Mutex::new(Vec::new());

/// Bad habits of a library.
pub mod habit {
    /// None.
    pub const GOOD: u32 = 0;
    /// A domain that was created is NULL.
    pub const CREATES_NULL: u32 = 1;
    /// Workers are refused.
    pub const REFUSES_WORKERS: u32 = 2;
    /// The start is refused.
    pub const REFUSES_START: u32 = 3;
    /// The first exchange begins inside of the start.
    pub const EXCHANGES_AT_ONCE: u32 = 4;
    /// Before the exchanges come some that cannot be.
    pub const ASKS_NONSENSE: u32 = 5;
    /// A stop is not over at once.
    pub const STOPS_LATER: u32 = 6;
    /// After the exchanges the start fails.
    pub const FAILS: u32 = 7;
    /// No stop of a worker or a domain is over before the habit is another.
    pub const FREEZES: u32 = 8;
}

pub fn has(habit: u32) -> bool {
    HABIT.load(Ordering::SeqCst) == habit
}

/// What one participant tells of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    pub ids: Vec<u64>,
    pub buffers: Vec<(u64, u64, Vec<u8>, Vec<u8>)>,
}

impl Told {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let number =
            |bytes: &mut Vec<u8>, number: usize| bytes.extend((number as u64).to_le_bytes());
        number(&mut bytes, self.ids.len());
        self.ids.iter().for_each(|id| number(&mut bytes, *id as usize));
        number(&mut bytes, self.buffers.len());
        for (address, length, handle, key) in &self.buffers {
            let numbers = [*address as usize, *length as usize, handle.len(), key.len()];
            numbers.into_iter().for_each(|one| number(&mut bytes, one));
            bytes.extend(handle);
            bytes.extend(key);
        }
        bytes
    }

    fn from_bytes(mut bytes: &[u8]) -> Told {
        fn number(bytes: &mut &[u8]) -> u64 {
            u64::from_le_bytes(bytes.split_off(..8).unwrap().try_into().unwrap())
        }
        fn blob(bytes: &mut &[u8], length: u64) -> Vec<u8> {
            bytes.split_off(..length as usize).unwrap().to_vec()
        }
        let mut told = Told::default();
        for _ in 0..number(&mut bytes) {
            told.ids.push(number(&mut bytes));
        }
        for _ in 0..number(&mut bytes) {
            let [address, length, handle, key] = [(); 4].map(|()| number(&mut bytes));
            told.buffers.push((address, length, blob(&mut bytes, handle), blob(&mut bytes, key)));
        }
        told
    }
}

/// What a context has when it is a domain's.
#[derive(Default)]
pub struct Shared {
    oob: Option<OobColl>,
    told: Told,
    workers: Vec<*mut Context>,
    room: usize,
    phase: Phase,
    request: *mut c_void,
    block: Vec<u8>,
    blocks: Vec<u8>,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Phase {
    #[default]
    Before,
    Lengths,
    Blocks,
}

/// # Safety
/// `domain` is a live domain, and this borrow is used for one statement.
unsafe fn shared<'a, T>(domain: *mut T) -> &'a mut Shared {
    // SAFETY: the caller's promise.
    unsafe { Context::get(domain) }.domain.as_mut().unwrap()
}

impl Shared {
    fn begin(&mut self, block: Vec<u8>) -> DocaError {
        let oob = self.oob.unwrap();
        self.block = block;
        self.blocks = vec![0xaa; self.block.len() * oob.n_oob_indexes as usize];
        // SAFETY: both buffers stay where they are until the request is freed.
        unsafe {
            oob.allgather.unwrap()(
                self.block.as_mut_ptr().cast(),
                self.blocks.as_mut_ptr().cast(),
                self.block.len(),
                oob.coll_info,
                &mut self.request,
            )
        }
    }

    fn test(&self) -> DocaError {
        // SAFETY: a request that was given out.
        unsafe { self.oob.unwrap().req_test.unwrap()(self.request) }
    }

    /// Frees the request that is under way, if there is one.
    fn free(&mut self) {
        let request = std::mem::replace(&mut self.request, ptr::null_mut());
        if !request.is_null() {
            // SAFETY: a request that was given out, freed once.
            let code = unsafe { self.oob.unwrap().req_free.unwrap()(request) };
            assert_eq!(code, DocaError::SUCCESS);
        }
    }

    /// Exchanges that no library should ask for.
    fn nonsense(&mut self) {
        let oob = self.oob.unwrap();
        let (allgather, test, free) =
            (oob.allgather.unwrap(), oob.req_test.unwrap(), oob.req_free.unwrap());
        let mut bytes = [0u8; 8];
        let buffer: *mut c_void = (&raw mut bytes).cast();
        let (none, mut request) = (ptr::null_mut(), ptr::null_mut());
        let answer = |code| ANSWERS.lock().unwrap().push(code);
        // SAFETY: refused before anything is read or written.
        answer(unsafe { allgather(none, buffer, 1, oob.coll_info, &mut request) });
        // SAFETY: as above.
        answer(unsafe { allgather(buffer, none, 1, oob.coll_info, &mut request) });
        // SAFETY: as above.
        answer(unsafe { allgather(buffer, buffer, usize::MAX, oob.coll_info, &mut request) });
        // SAFETY: as above.
        answer(unsafe { allgather(buffer, buffer, 1, none, &mut request) });
        // SAFETY: as above.
        answer(unsafe { allgather(buffer, buffer, 1, oob.coll_info, ptr::null_mut()) });
        // SAFETY: as above.
        answer(unsafe { test(none) });
        // SAFETY: as above.
        answer(unsafe { free(none) });
        // SAFETY: an empty exchange has no buffers.
        answer(unsafe { allgather(none, none, 0, oob.coll_info, &mut request) });
        // SAFETY: a second one is refused.
        answer(unsafe { allgather(buffer, buffer, 1, oob.coll_info, &mut request) });
        // SAFETY: a live request.
        answer(unsafe { test(request) });
        // SAFETY: a live request.
        answer(unsafe { test(request) });
        // SAFETY: a live request.
        answer(unsafe { free(request) });
        // SAFETY: no request is under way.
        answer(unsafe { test(oob.coll_info) });
    }

    fn step(&mut self) -> Result<bool, DocaError> {
        if self.phase == Phase::Before {
            if has(habit::ASKS_NONSENSE) {
                self.nonsense();
            }
            let length = self.told.to_bytes().len() as u64;
            self.begin(length.to_le_bytes().to_vec()).check()?;
            self.phase = Phase::Lengths;
            return Ok(false);
        }
        let code = self.test();
        if code == DocaError::IN_PROGRESS {
            return Ok(false);
        }
        self.free();
        code.check()?;
        if self.phase == Phase::Blocks {
            let length = self.block.len();
            let table = self.blocks.chunks(length).map(Told::from_bytes).collect();
            TABLES.lock().unwrap().push(table);
            return Ok(true);
        }
        let lengths =
            self.blocks.chunks(8).map(|length| u64::from_le_bytes(length.try_into().unwrap()));
        let mut block = self.told.to_bytes();
        block.resize(lengths.max().unwrap() as usize, 0);
        self.begin(block).check()?;
        self.phase = Phase::Blocks;
        Ok(false)
    }
}

/// Goes on with a domain's start; whether its state changed.
pub fn step(ctx: *mut Context) -> bool {
    // SAFETY: a live domain.
    let this = unsafe { shared(ctx) };
    // SAFETY: the host keeps a domain's workers.
    let running =
        |worker: &*mut Context| unsafe { Context::get(*worker) }.state == CtxState::RUNNING;
    let result =
        if this.workers.iter().all(running) { this.step() } else { Err(DocaError::NOT_CONNECTED) };
    let next = match result {
        Ok(false) => return false,
        Ok(true) if !has(habit::FAILS) => CtxState::RUNNING,
        Ok(true) | Err(_) => CtxState::IDLE,
    };
    // SAFETY: a live domain.
    unsafe { Context::get(ctx) }.failed = (next == CtxState::IDLE).then_some(DocaError::NOT_FOUND);
    this.free();
    change(ctx, next);
    true
}

pub fn start(ctx: *mut Context) -> DocaError {
    if has(habit::REFUSES_START) {
        return DocaError::NOT_PERMITTED;
    }
    change(ctx, CtxState::STARTING);
    if has(habit::EXCHANGES_AT_ONCE) {
        step(ctx);
    }
    DocaError::IN_PROGRESS
}

pub fn stop(ctx: *mut Context) -> DocaError {
    // SAFETY: a live domain.
    unsafe { shared(ctx) }.free();
    if has(habit::STOPS_LATER) || has(habit::FREEZES) {
        change(ctx, CtxState::STOPPING);
        // SAFETY: a live domain.
        unsafe { Context::get(ctx) }.next = Some(CtxState::IDLE);
        return DocaError::IN_PROGRESS;
    }
    change(ctx, CtxState::IDLE);
    DocaError::SUCCESS
}

pub unsafe extern "C" fn create(domain: *mut *mut Domain) -> DocaError {
    if has(habit::CREATES_NULL) {
        return DocaError::SUCCESS;
    }
    let context = Context::create(false);
    // SAFETY: it was just created.
    unsafe { Context::get(context) }.domain = Some(Box::default());
    // SAFETY: an out pointer.
    unsafe { *domain = context.cast() };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn destroy(domain: *mut Domain) -> DocaError {
    Context::destroy(domain.cast())
}

pub unsafe extern "C" fn set_buffers_count(domain: *mut Domain, count: usize) -> DocaError {
    // SAFETY: a live domain.
    unsafe { shared(domain) }.room = count;
    if count == 0 { DocaError::INVALID_VALUE } else { DocaError::SUCCESS }
}

pub unsafe extern "C" fn add_buffer(
    domain: *mut Domain,
    buffer: *mut c_void,
    buffer_len: usize,
    memh: *mut c_void,
    memh_len: usize,
    mkey: *mut c_void,
    mkey_len: usize,
) -> DocaError {
    // SAFETY: a live domain.
    let this = unsafe { shared(domain) };
    if this.told.buffers.len() == this.room {
        return DocaError::FULL;
    }
    // SAFETY: the caller passes that many bytes.
    let bytes = |pointer: *mut c_void, length| unsafe {
        std::slice::from_raw_parts(pointer.cast::<u8>(), length)
    };
    let (handle, key) = (bytes(memh, memh_len).to_vec(), bytes(mkey, mkey_len).to_vec());
    this.told.buffers.push((buffer.addr() as u64, buffer_len as u64, handle, key));
    DocaError::SUCCESS
}

pub unsafe extern "C" fn set_oob(domain: *mut Domain, oob: *mut OobColl) -> DocaError {
    // SAFETY: the caller passes a live structure.
    let oob = unsafe { *oob };
    // SAFETY: a live domain.
    unsafe { shared(domain) }.oob = Some(oob);
    DocaError::SUCCESS
}

pub unsafe extern "C" fn set_workers(
    domain: *mut Domain,
    domain_worker_ids: *mut u64,
    workers: *mut *mut Worker,
    count: usize,
) -> DocaError {
    if has(habit::REFUSES_WORKERS) {
        return DocaError::NO_MEMORY;
    }
    // SAFETY: the caller passes that many.
    let ids = unsafe { std::slice::from_raw_parts(domain_worker_ids, count) };
    // SAFETY: as above.
    let workers = unsafe { std::slice::from_raw_parts(workers, count) };
    // SAFETY: a live domain.
    let this = unsafe { shared(domain) };
    this.told.ids = ids.to_vec();
    this.workers = workers.iter().map(|worker| worker.cast()).collect();
    DocaError::SUCCESS
}

pub unsafe extern "C" fn as_ctx(domain: *mut Domain) -> *mut Ctx {
    domain.cast()
}
