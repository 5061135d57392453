//! The fake's services and workers.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_char;
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::{Ctx, CtxState, Data, Service, StateChangedCallback, Worker};
use urom_abi::plugin::PluginInfo;

use super::core::Engine;
use super::domain::Shared;
use super::id;
use super::task::{Command, Query};

/// How many objects there are.
pub static LIVE: AtomicIsize = AtomicIsize::new(0);
/// The version of the plugin `worker_graph`.
pub static PLUGIN_VERSION: AtomicU64 = AtomicU64::new(1);
/// The fingerprint and the description that plugins have, if any.
pub static DESCRIPTION: Mutex<Option<(u64, Vec<u8>)>> = Mutex::new(None);
/// How many plugins a service finds, of two.
pub static PLUGIN_COUNT: AtomicUsize = AtomicUsize::new(2);

/// What the next starts of workers end with.
pub static START_FAILURES: Mutex<VecDeque<DocaError>> = Mutex::new(VecDeque::new());

pub fn created() {
    LIVE.fetch_add(1, Ordering::SeqCst);
}

pub fn destroyed() {
    LIVE.fetch_sub(1, Ordering::SeqCst);
}

/// A service, a worker or a domain.
pub struct Context {
    pub state: CtxState,
    pub failed: Option<DocaError>,
    pub user_data: Data,
    pub callback: Option<StateChangedCallback>,
    pub engine: *mut Engine,
    /// A change of state for the next progress call.
    pub next: Option<CtxState>,
    /// How many tasks exist; the context cannot become idle before they are released.
    pub allocated: usize,
    pub in_flight: VecDeque<*mut Command>,
    pub queries: VecDeque<*mut Query>,
    pub is_service: bool,
    /// What only a domain has.
    pub domain: Option<Box<Shared>>,
    pub id: u64,
    pub gid: u32,
    pub plugins: u64,
    pub max_inflight: usize,
    list: UnsafeCell<Vec<PluginInfo>>,
}

impl Context {
    pub fn create(is_service: bool) -> *mut Context {
        created();
        Box::into_raw(Box::new(Context {
            state: CtxState::IDLE,
            failed: None,
            user_data: Data { u64: 0 },
            callback: None,
            engine: std::ptr::null_mut(),
            next: None,
            allocated: 0,
            in_flight: VecDeque::new(),
            queries: VecDeque::new(),
            is_service,
            domain: None,
            id: u64::MAX,
            gid: 0,
            plugins: 0,
            max_inflight: 1,
            list: UnsafeCell::default(),
        }))
    }

    /// # Safety
    /// `ctx` is live, and this borrow is used for one statement.
    pub unsafe fn get<'a, T>(ctx: *mut T) -> &'a mut Context {
        // SAFETY: the caller's promise; every opaque pointer of a context is one of these.
        unsafe { &mut *ctx.cast::<Context>() }
    }

    pub fn destroy(ctx: *mut Context) -> DocaError {
        // SAFETY: the caller of the library passes a live context.
        let this = unsafe { Context::get(ctx) };
        if this.state != CtxState::IDLE || this.allocated != 0 {
            return DocaError::NOT_PERMITTED;
        }
        if let Some(engine) = std::ptr::NonNull::new(this.engine) {
            // SAFETY: an engine outlives its contexts.
            unsafe { &mut *engine.as_ptr() }.contexts.retain(|known| *known != ctx);
        }
        destroyed();
        // SAFETY: it came from a box, and the caller gives it up.
        drop(unsafe { Box::from_raw(ctx) });
        DocaError::SUCCESS
    }

    fn configure(&mut self, set: impl FnOnce(&mut Context)) -> DocaError {
        if self.state != CtxState::IDLE {
            return DocaError::BAD_STATE;
        }
        set(self);
        DocaError::SUCCESS
    }
}

pub unsafe extern "C" fn service_create(service: *mut *mut Service) -> DocaError {
    // SAFETY: an out pointer.
    unsafe { *service = Context::create(true).cast() };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn service_destroy(service: *mut Service) -> DocaError {
    Context::destroy(service.cast())
}

pub unsafe extern "C" fn service_set_size(_service: *mut Service, size: usize) -> DocaError {
    if size < 64 { DocaError::INVALID_VALUE } else { DocaError::SUCCESS }
}

pub unsafe extern "C" fn service_set_max_workers(_service: *mut Service, count: u32) -> DocaError {
    if count.is_power_of_two() { DocaError::SUCCESS } else { DocaError::INVALID_VALUE }
}

pub unsafe extern "C" fn service_as_ctx(service: *mut Service) -> *mut Ctx {
    service.cast()
}

pub unsafe extern "C" fn service_get_plugins(
    service: *mut Service,
    plugins: *mut *const PluginInfo,
    count: *mut usize,
) -> DocaError {
    let all = [
        PluginInfo::new(1, 3, "worker_other").unwrap(),
        PluginInfo::new(2, PLUGIN_VERSION.load(Ordering::SeqCst), "worker_graph").unwrap(),
    ];
    let found = &all[..PLUGIN_COUNT.load(Ordering::SeqCst)];
    if found.is_empty() {
        return DocaError::NOT_FOUND;
    }
    // SAFETY: a live service.
    let list = unsafe { Context::get(service) }.list.get_mut();
    *list = found.to_vec();
    // SAFETY: an out pointer.
    unsafe { *plugins = list.as_ptr() };
    // SAFETY: an out pointer.
    unsafe { *count = list.len() };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn service_get_cpuset(
    _service: *mut Service,
    cpus: *mut CpuSet,
) -> DocaError {
    // SAFETY: an out pointer.
    unsafe { *cpus = (0..8).collect() };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn worker_create(worker: *mut *mut Worker) -> DocaError {
    // SAFETY: an out pointer.
    unsafe { *worker = Context::create(false).cast() };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn worker_destroy(worker: *mut Worker) -> DocaError {
    Context::destroy(worker.cast())
}

pub unsafe extern "C" fn worker_set_service(
    _worker: *mut Worker,
    _service: *mut Service,
) -> DocaError {
    DocaError::SUCCESS
}

pub unsafe extern "C" fn worker_set_id(worker: *mut Worker, id: u64) -> DocaError {
    // SAFETY: a live worker.
    unsafe { Context::get(worker) }.configure(|this| this.id = id)
}

pub unsafe extern "C" fn worker_set_plugins(worker: *mut Worker, mask: u64) -> DocaError {
    // SAFETY: a live worker.
    unsafe { Context::get(worker) }.configure(|this| this.plugins = mask)
}

pub unsafe extern "C" fn worker_set_cpuset(_worker: *mut Worker, cpus: CpuSet) -> DocaError {
    if cpus.is_subset(&(0..8).collect()) { DocaError::SUCCESS } else { DocaError::INVALID_VALUE }
}

pub unsafe extern "C" fn worker_set_gid(worker: *mut Worker, gid: u32) -> DocaError {
    // SAFETY: a live worker.
    unsafe { Context::get(worker) }.configure(|this| this.gid = gid)
}

pub unsafe extern "C" fn worker_set_max_inflight(worker: *mut Worker, count: u32) -> DocaError {
    if !count.is_power_of_two() {
        return DocaError::INVALID_VALUE;
    }
    // SAFETY: a live worker.
    unsafe { Context::get(worker) }.configure(|this| this.max_inflight = count as usize)
}

pub unsafe extern "C" fn worker_set_env(
    _worker: *mut Worker,
    env: *const *mut c_char,
    count: usize,
) -> DocaError {
    // SAFETY: the caller passes that many strings.
    let env = unsafe { std::slice::from_raw_parts(env, count) };
    // SAFETY: as above.
    let good =
        env.iter().all(|one| unsafe { std::ffi::CStr::from_ptr(*one) }.to_bytes().contains(&b'='));
    if good { DocaError::SUCCESS } else { DocaError::INVALID_VALUE }
}

pub unsafe extern "C" fn worker_get_id(worker: *mut Worker, id: *mut u64) -> DocaError {
    // SAFETY: a live worker.
    let this = unsafe { Context::get(worker) };
    // SAFETY: an out pointer.
    unsafe { *id = this.id };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn worker_get_gid(worker: *mut Worker, gid: *mut u32) -> DocaError {
    // SAFETY: a live worker.
    let this = unsafe { Context::get(worker) };
    // SAFETY: an out pointer.
    unsafe { *gid = this.gid };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn worker_as_ctx(worker: *mut Worker) -> *mut Ctx {
    worker.cast()
}

/// What starting a worker does.
pub fn plan(worker: &mut Context) {
    worker.failed = START_FAILURES.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    worker.next = match worker.id {
        _ if worker.failed.is_some() => Some(CtxState::IDLE),
        id::FAILS | id::FAILS_UNCOUNTED => {
            worker.failed = Some(DocaError::NOT_FOUND);
            Some(CtxState::IDLE)
        }
        id::HANGS => None,
        u64::MAX => {
            worker.id = 4711;
            Some(CtxState::RUNNING)
        }
        _ => Some(CtxState::RUNNING),
    };
}
