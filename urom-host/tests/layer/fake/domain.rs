//! The fake's domains: an exchange records all participants' blocks.

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use urom_abi::host::{CtxState, Domain, OobColl, Worker};
use urom_abi::{DocaError, DocaStatus};

use super::core::change;
use super::objects::Context;
use super::{OK, Object, array, ok_if, put};

/// The library's bad habit; see [`habit`].
pub static HABIT: AtomicU32 = AtomicU32::new(habit::GOOD);

/// The blocks of all participants of each running domain, by index.
pub static TABLES: Mutex<Vec<Vec<String>>> = Mutex::new(Vec::new());

/// The results of calls that broke the rules.
pub static ANSWERS: Mutex<Vec<DocaStatus>> = Mutex::new(Vec::new());

/// Bad habits of a library.
pub mod habit {
    pub const GOOD: u32 = 0;
    pub const CREATES_NULL: u32 = 1;
    pub const REFUSES_WORKERS: u32 = 2;
    pub const REFUSES_START: u32 = 3;
    /// Begins the first exchange inside the start.
    pub const EXCHANGES_AT_ONCE: u32 = 4;
    /// Requests impossible exchanges when it gets the all-gather.
    pub const ASKS_NONSENSE: u32 = 5;
    pub const STOPS_LATER: u32 = 6;
    /// Fails the start after the exchanges.
    pub const FAILS: u32 = 7;
    /// Workers and domains do not stop while this habit is set.
    pub const FREEZES: u32 = 8;
}

pub fn has(habit: u32) -> bool {
    HABIT.load(Ordering::SeqCst) == habit
}

#[derive(Debug, Default)]
pub struct Told {
    pub ids: Vec<u64>,
    pub buffers: Vec<(u64, u64, Vec<u8>, Vec<u8>)>,
}

#[derive(Default)]
pub struct Shared {
    oob: Option<OobColl>,
    told: Told,
    workers: Vec<*mut Context>,
    capacity: usize,
    request: *mut c_void,
    block: Vec<u8>,
    blocks: Vec<u8>,
}

const BLOCK: usize = 1024;

/// # Safety
/// `domain` is a live domain, and this is the only borrow.
unsafe fn shared<'a>(domain: impl Object<Is = Context>) -> &'a mut Shared {
    // SAFETY: the caller's promise.
    unsafe { domain.get() }.domain.as_mut().unwrap()
}

impl Shared {
    fn begin(&mut self) -> DocaStatus {
        let oob = self.oob.unwrap();
        self.block = format!("{:?}", self.told).into_bytes();
        self.block.resize(BLOCK, 0);
        self.blocks = vec![0xaa; BLOCK * oob.n_oob_indexes as usize];
        let (block, blocks) = (self.block.as_mut_ptr(), self.blocks.as_mut_ptr());
        let begin = oob.allgather.unwrap();
        // SAFETY: both buffers stay in place until the request is freed.
        unsafe { begin(block.cast(), blocks.cast(), BLOCK, oob.coll_info, &mut self.request) }
    }

    fn free(&mut self) {
        let request = std::mem::replace(&mut self.request, ptr::null_mut());
        if !request.is_null() {
            // SAFETY: a request of this exchange, freed once.
            let code = unsafe { self.oob.unwrap().req_free.unwrap()(request) };
            assert_eq!(code, OK);
        }
    }

    fn step(&mut self) -> Result<bool, DocaError> {
        if self.request.is_null() {
            self.begin().check()?;
            return Ok(false);
        }
        // SAFETY: a request of this exchange.
        let code = unsafe { self.oob.unwrap().req_test.unwrap()(self.request) };
        if code == DocaStatus::IN_PROGRESS {
            return Ok(false);
        }
        self.free();
        code.check()?;
        let told = |block| String::from_utf8_lossy(block).trim_end_matches('\0').to_owned();
        TABLES.lock().unwrap().push(self.blocks.chunks(BLOCK).map(told).collect());
        Ok(true)
    }
}

fn nonsense(oob: &OobColl) {
    let (mut bytes, mut request) = ([0u8; 8], ptr::null_mut());
    let (buffer, none): (*mut c_void, _) = ((&raw mut bytes).cast(), ptr::null_mut());
    let pointer = &raw mut request;
    let answer = |code| ANSWERS.lock().unwrap().push(code);
    let gather = |from, to, length, info, pointer| {
        // SAFETY: refused before memory is accessed, or empty.
        answer(unsafe { oob.allgather.unwrap()(from, to, length, info, pointer) });
    };
    // SAFETY: a live request, or refused before memory is read.
    let test = |request| answer(unsafe { oob.req_test.unwrap()(request) });
    // SAFETY: as above.
    let free = |request| answer(unsafe { oob.req_free.unwrap()(request) });
    gather(none, buffer, 1, oob.coll_info, pointer);
    gather(buffer, none, 1, oob.coll_info, pointer);
    gather(buffer, buffer, usize::MAX, oob.coll_info, pointer);
    gather(buffer, buffer, 1, none, pointer);
    gather(buffer, buffer, 1, oob.coll_info, ptr::null_mut());
    test(none);
    free(none);
    // An empty exchange needs no buffers; a second exchange is refused meanwhile.
    gather(none, none, 0, oob.coll_info, pointer);
    gather(buffer, buffer, 1, oob.coll_info, pointer);
    // SAFETY: written by the empty exchange.
    let request = unsafe { pointer.read() };
    test(request);
    test(request);
    free(request);
    test(oob.coll_info);
}

/// Continues a domain's start; returns whether its state changed.
pub fn step(ctx: *mut Context) -> bool {
    // SAFETY: the domain is live.
    let this = unsafe { shared(ctx) };
    // SAFETY: the host keeps a domain's workers.
    let running = |worker: &*mut Context| unsafe { worker.get() }.state == CtxState::RUNNING;
    let result =
        if this.workers.iter().all(running) { this.step() } else { Err(DocaError::NOT_CONNECTED) };
    let next = match result {
        Ok(false) => return false,
        Ok(true) if !has(habit::FAILS) => CtxState::RUNNING,
        Ok(true) | Err(_) => CtxState::IDLE,
    };
    // SAFETY: the domain is live.
    unsafe { ctx.get() }.failed = (next == CtxState::IDLE).then_some(DocaError::NOT_FOUND);
    this.free();
    change(ctx, next);
    true
}

pub fn start(ctx: *mut Context) -> DocaStatus {
    if has(habit::REFUSES_START) {
        return DocaStatus::NOT_PERMITTED;
    }
    change(ctx, CtxState::STARTING);
    if has(habit::EXCHANGES_AT_ONCE) {
        step(ctx);
    }
    DocaStatus::IN_PROGRESS
}

pub fn stop(ctx: *mut Context) -> DocaStatus {
    // SAFETY: the domain is live.
    unsafe { shared(ctx) }.free();
    if has(habit::STOPS_LATER) || has(habit::FREEZES) {
        change(ctx, CtxState::STOPPING);
        // SAFETY: the domain is live.
        unsafe { ctx.get() }.next = Some(CtxState::IDLE);
        return DocaStatus::IN_PROGRESS;
    }
    change(ctx, CtxState::IDLE);
    OK
}

pub unsafe extern "C" fn create(domain: *mut *mut Domain) -> DocaStatus {
    if has(habit::CREATES_NULL) {
        return OK;
    }
    let context = Context::create(false);
    // SAFETY: just created.
    unsafe { context.get() }.domain = Some(Box::default());
    put(domain, context.cast())
}

functions! {
    fn set_buffers_count(domain: *mut Domain, count: usize) {
        domain.domain.as_mut().unwrap().capacity = count;
        ok_if(count > 0)
    }

    fn add_buffer(
        domain: *mut Domain,
        buffer: *mut c_void,
        length: usize,
        memh: *mut c_void,
        memh_len: usize,
        mkey: *mut c_void,
        mkey_len: usize,
    ) {
        let this = domain.domain.as_mut().unwrap();
        if this.told.buffers.len() == this.capacity {
            return DocaStatus::FULL;
        }
        let bytes = |pointer: *mut c_void, length| array(pointer.cast::<u8>(), length).to_vec();
        let (handle, key) = (bytes(memh, memh_len), bytes(mkey, mkey_len));
        this.told.buffers.push((buffer.addr() as u64, length as u64, handle, key));
        OK
    }

    fn set_oob(domain: *mut Domain, oob: *mut OobColl) {
        // SAFETY: the host passes a live structure.
        let oob = unsafe { *oob };
        if has(habit::ASKS_NONSENSE) {
            nonsense(&oob);
        }
        domain.domain.as_mut().unwrap().oob = Some(oob);
        OK
    }

    fn set_workers(
        domain: *mut Domain,
        ids: *mut u64,
        workers: *mut *mut Worker,
        count: usize,
    ) {
        if has(habit::REFUSES_WORKERS) {
            return DocaStatus::NO_MEMORY;
        }
        let this = domain.domain.as_mut().unwrap();
        this.told.ids = array(ids, count).to_vec();
        this.workers = array(workers, count).iter().map(|worker| worker.cast()).collect();
        OK
    }
}
