//! The fake's services and workers.

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use urom_abi::cpu::CpuSet;
use urom_abi::host::{
    Cancelled, Ctx, CtxState, Data, Service, StateChangedCallback, Worker, WorkerHealth,
};
use urom_abi::plugin::PluginInfo;
use urom_abi::{DocaError, DocaStatus};

use super::core::Engine;
use super::domain::Shared;
use super::task::{Ghost, Work};
use super::{FAILURE, OK, Object, array, id, locked, ok_if, put, string};

pub static LIVE: AtomicIsize = AtomicIsize::new(0);
pub static PLUGIN_VERSION: AtomicU64 = AtomicU64::new(1);
pub static DESCRIPTION: Mutex<Option<(u64, Vec<u8>)>> = Mutex::new(None);
pub static PLUGIN_COUNT: AtomicUsize = AtomicUsize::new(2);

pub static START_FAILURES: Mutex<VecDeque<DocaError>> = Mutex::new(VecDeque::new());

static CHANGED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

pub fn created() {
    change(1);
}

pub fn destroyed() {
    change(-1);
}

fn change(by: isize) {
    let _guard = locked(&CHANGED.0);
    LIVE.fetch_add(by, Ordering::SeqCst);
    CHANGED.1.notify_all();
}

/// Waits until the library has this number of objects, which other threads make and destroy.
pub fn wait_for_live(count: isize) {
    let is_other = |(): &mut ()| LIVE.load(Ordering::SeqCst) != count;
    let guard = locked(&CHANGED.0);
    let (_guard, end) = CHANGED.1.wait_timeout_while(guard, crate::LIMIT, is_other).unwrap();
    assert!(!end.timed_out(), "the library has {} objects", LIVE.load(Ordering::SeqCst));
}

pub struct Context {
    pub state: CtxState,
    pub failed: Option<DocaError>,
    pub user_data: Data,
    pub callback: Option<StateChangedCallback>,
    pub engine: *mut Engine,
    /// The state after the next progress call.
    pub next: Option<CtxState>,
    /// The number of tasks; they must be released before the context becomes idle.
    pub allocated: usize,
    pub in_flight: VecDeque<*mut Work>,
    /// Cancelled tasks that have not completed.
    pub ended: VecDeque<*mut Work>,
    /// The number of cancelled, unreleased tasks.
    pub ended_out: usize,
    pub ghosts: Vec<Ghost>,
    pub cancelled: Cancelled,
    /// The host left it to the library.
    pub left: bool,
    /// Released tasks: the host may still use their areas.
    #[allow(clippy::vec_box, reason = "the areas must not move")]
    pub released: Vec<Box<Work>>,
    pub queries: VecDeque<*mut Work>,
    pub is_service: bool,
    pub domain: Option<Box<Shared>>,
    pub id: u64,
    pub gid: u32,
    pub plugins: u64,
    pub max_inflight: usize,
    list: Vec<PluginInfo>,
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
            ended: VecDeque::new(),
            ended_out: 0,
            ghosts: Vec::new(),
            cancelled: Cancelled::default(),
            left: false,
            released: Vec::new(),
            queries: VecDeque::new(),
            is_service,
            domain: None,
            id: u64::MAX,
            gid: 0,
            plugins: 0,
            max_inflight: 1,
            list: Vec::new(),
        }))
    }

    pub fn destroy(ctx: *mut Context) -> DocaStatus {
        // SAFETY: the caller passes a live context.
        let this = unsafe { ctx.get() };
        if this.state != CtxState::IDLE || this.allocated != 0 {
            return DocaStatus::NOT_PERMITTED;
        }
        if !this.engine.is_null() {
            // SAFETY: an engine outlives its contexts.
            unsafe { this.engine.get() }.contexts.retain(|known| *known != ctx);
        }
        destroyed();
        // SAFETY: it came from a box, and the caller does not use it again.
        drop(unsafe { Box::from_raw(ctx) });
        OK
    }

    fn configure(&mut self, set: impl FnOnce(&mut Context)) -> DocaStatus {
        if self.state != CtxState::IDLE {
            return DocaStatus::BAD_STATE;
        }
        set(self);
        OK
    }
}

pub static HEALTH: Mutex<Option<WorkerHealth>> = Mutex::new(None);

pub unsafe extern "C" fn create<T, const IS_SERVICE: bool>(target: *mut *mut T) -> DocaStatus {
    put(target, Context::create(IS_SERVICE).cast())
}

pub unsafe extern "C" fn destroy<T>(object: *mut T) -> DocaStatus {
    Context::destroy(object.cast())
}

functions! {
    fn service_set_size(_service: *mut Service, size: usize) {
        ok_if(size >= 64)
    }

    fn service_set_max_workers(_service: *mut Service, count: u32) {
        ok_if(count.is_power_of_two())
    }

    fn set_address(_service: *mut Service, address: *const c_char, _origin: *const c_char) {
        ok_if(string(address) == b"fake:1")
    }

    fn service_get_plugins(
        service: *mut Service,
        plugins: *mut *const PluginInfo,
        count: *mut usize,
    ) {
        let all = [
            PluginInfo::new(1, 3, "worker_other").unwrap(),
            PluginInfo::new(2, PLUGIN_VERSION.load(Ordering::SeqCst), "worker_graph").unwrap(),
        ];
        service.list = all[..PLUGIN_COUNT.load(Ordering::SeqCst)].to_vec();
        if service.list.is_empty() {
            return DocaStatus::NOT_FOUND;
        }
        put(plugins, service.list.as_ptr());
        put(count, service.list.len())
    }

    fn plugin_fingerprint(_service: *mut Service, _plugin: u64, fingerprint: *mut u64) {
        let Some((found, _)) = &*locked(&DESCRIPTION) else { return DocaStatus::NOT_FOUND };
        put(fingerprint, *found)
    }

    fn plugin_description(
        _service: *mut Service,
        _plugin: u64,
        bytes: *mut c_void,
        length: *mut usize,
    ) {
        let Some((_, found)) = &*locked(&DESCRIPTION) else { return DocaStatus::NOT_FOUND };
        // SAFETY: the host passes the size of its buffer.
        let limit = unsafe { length.replace(found.len()) };
        if limit < found.len() {
            return DocaStatus::TOO_BIG;
        }
        // SAFETY: the host's buffer is large enough.
        unsafe { bytes.cast::<u8>().copy_from_nonoverlapping(found.as_ptr(), found.len()) };
        OK
    }

    fn service_get_cpuset(_service: *mut Service, cpus: *mut CpuSet) {
        put(cpus, (0..8).collect())
    }

    fn failure_code(ctx: *const Ctx) {
        ctx.failed.map_or(OK, DocaStatus::from)
    }

    fn failure(ctx: *const Ctx, text: *mut c_char, capacity: usize) -> usize {
        let words = if ctx.failed.is_some() { FAILURE } else { "" };
        let length = words.len().min(capacity);
        // SAFETY: the host's buffer has `length` bytes.
        unsafe { text.cast::<u8>().copy_from_nonoverlapping(words.as_ptr(), length) };
        words.len()
    }

    fn worker_set_id(worker: *mut Worker, id: u64) {
        worker.configure(|worker| worker.id = id)
    }

    fn worker_set_plugins(worker: *mut Worker, mask: u64) {
        worker.configure(|worker| worker.plugins = mask)
    }

    fn worker_set_cpuset(_worker: *mut Worker, cpus: CpuSet) {
        ok_if(cpus.is_subset(&(0..8).collect()))
    }

    fn worker_set_gid(worker: *mut Worker, gid: u32) {
        worker.configure(|worker| worker.gid = gid)
    }

    fn worker_set_max_inflight(worker: *mut Worker, count: u32) {
        match count.is_power_of_two() {
            true => worker.configure(|worker| worker.max_inflight = count as usize),
            false => DocaStatus::INVALID_VALUE,
        }
    }

    fn worker_set_env(_worker: *mut Worker, env: *const *mut c_char, count: usize) {
        ok_if(array(env, count).iter().all(|variable| string(*variable).contains(&b'=')))
    }

    fn worker_get_id(worker: *mut Worker, id: *mut u64) {
        put(id, worker.id)
    }

    fn worker_get_gid(worker: *mut Worker, gid: *mut u32) {
        put(gid, worker.gid)
    }

    fn worker_health(worker: *mut Worker, health: *mut WorkerHealth) {
        if worker.state != CtxState::RUNNING {
            return DocaStatus::BAD_STATE;
        }
        put(health, locked(&HEALTH).unwrap_or_else(WorkerHealth::well))
    }
}

pub fn plan(worker: &mut Context) {
    worker.failed = locked(&START_FAILURES).pop_front();
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
