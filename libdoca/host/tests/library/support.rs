//! A concise host by DOCA's C interface, without the checks that tests make themselves.

use std::cell::RefCell;
use std::ffi::{CString, c_void};
use std::net::SocketAddr;
use std::ptr::null_mut;
use std::time::Instant;

pub use libdoca_host::api;
use urom_abi::host::{CmdTask, Ctx, CtxState, Data, GidTask, Pe, Service, Task, Worker};
use urom_abi::plugin::PluginInfo;
use urom_abi::{DocaError, DocaStatus};

/// Timeout of all waits.
pub const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);

macro_rules! c {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let function = $crate::support::api().$name;
        // SAFETY: the tests pass live objects and pointers, or null.
        unsafe { function($($arg),*) }
    }};
}

macro_rules! x {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let function = $crate::support::api().extensions.$name.unwrap();
        // SAFETY: the tests pass live objects and pointers, or null.
        unsafe { function($($arg),*) }
    }};
}

pub const OK: DocaStatus = DocaStatus::SUCCESS;

type Destroy = fn(*mut Ctx) -> DocaStatus;

thread_local! {
    /// The contexts of this thread's engines, oldest first.
    static MADE: RefCell<Vec<(*mut Pe, *mut Ctx, Destroy)>> = const { RefCell::new(Vec::new()) };
}

pub fn destroy(ctx: *mut Ctx, with: Destroy) {
    assert_eq!(with(ctx), OK);
    MADE.with_borrow_mut(|made| made.retain(|(_, known, _)| *known != ctx));
}

/// A progress engine. Its drop stops and destroys its contexts, newest first.
pub struct Engine(pub *mut Pe);

impl Engine {
    pub fn new() -> Engine {
        let mut pe = null_mut();
        assert_eq!(c!(doca_pe_create(&mut pe)), OK);
        Engine(pe)
    }

    pub fn connect(&self, ctx: *mut Ctx, destroy: Destroy) {
        assert_eq!(c!(doca_pe_connect_ctx(self.0, ctx)), OK);
        MADE.with_borrow_mut(|made| made.push((self.0, ctx, destroy)));
    }

    pub fn progress(&self) -> u8 {
        c!(doca_pe_progress(self.0))
    }

    /// Progresses until an event; returns the last call's result.
    pub fn next(&self) -> u8 {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.progress() {
                0 => assert!(Instant::now() < deadline, "nothing happens"),
                seen => return seen,
            }
        }
    }

    pub fn done(&self) -> Done {
        assert_eq!(self.next(), 1);
        let mut all = take_done();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    pub fn until_idle(&self, ctx: *mut Ctx) {
        while state(ctx) != CtxState::IDLE {
            self.next();
        }
    }

    pub fn is_quiet(&self, count: usize) {
        for call in 0..count {
            assert_eq!(self.progress(), 0, "call {call}");
        }
    }

    /// Progresses until `done`, without a visible event.
    pub fn quiet_until(&self, done: impl Fn() -> bool) {
        until("nothing happens", || {
            assert_eq!(self.progress(), 0);
            done()
        });
    }

    pub fn in_flight(&self) -> usize {
        let mut count = usize::MAX;
        assert_eq!(c!(doca_pe_get_num_inflight_tasks(self.0, &mut count)), OK);
        count
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let made = MADE.with_borrow_mut(|made| {
            made.extract_if(.., |(pe, ..)| *pe == self.0).collect::<Vec<_>>()
        });
        for (_, ctx, destroy) in made.into_iter().rev() {
            let code = c!(doca_ctx_stop(ctx));
            assert!(matches!(code, OK | DocaStatus::IN_PROGRESS), "{code}");
            self.until_idle(ctx);
            assert_eq!(destroy(ctx), OK);
        }
        assert_eq!(c!(doca_pe_destroy(self.0)), OK);
    }
}

pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
    }
}

pub fn state(ctx: *mut Ctx) -> CtxState {
    let mut state = CtxState(99);
    assert_eq!(c!(doca_ctx_get_state(ctx, &mut state)), OK);
    state
}

pub fn failure(ctx: *mut Ctx) -> String {
    let mut text = vec![0_u8; 1000];
    let len = x!(urom_ctx_get_failure(ctx, text.as_mut_ptr().cast(), text.len()));
    text.truncate(len);
    String::from_utf8(text).unwrap()
}

pub fn has(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "no {part:?} in {text}"));
}

pub enum At<'a> {
    Address(SocketAddr),
    Embedded(&'a std::path::Path),
    Environment,
}

pub struct TestService {
    pub raw: *mut Service,
    pub ctx: *mut Ctx,
}

pub fn new_service(at: &At<'_>) -> TestService {
    let mut raw = null_mut();
    assert_eq!(c!(doca_urom_service_create(&mut raw)), OK);
    let c_text = |text: &str| CString::new(text).unwrap();
    let code = match at {
        At::Address(address) => {
            let text = c_text(&address.to_string());
            x!(urom_service_set_address(raw, text.as_ptr(), c"the test".as_ptr()))
        }
        At::Embedded(path) => {
            x!(urom_service_set_embedded(raw, c_text(path.to_str().unwrap()).as_ptr()))
        }
        At::Environment => x!(urom_service_set_any_device(raw)),
    };
    assert_eq!(code, OK);
    TestService { raw, ctx: c!(doca_urom_service_as_ctx(raw)) }
}

impl TestService {
    pub fn start(at: &At<'_>, engine: &Engine) -> TestService {
        TestService::start_with(at, engine, 4096)
    }

    pub fn start_with(at: &At<'_>, engine: &Engine, max_message: usize) -> TestService {
        let service = new_service(at);
        assert_eq!(c!(doca_urom_service_set_max_comm_msg_size(service.raw, max_message)), OK);
        service.connect(engine);
        assert_eq!(c!(doca_ctx_start(service.ctx)), OK, "{}", failure(service.ctx));
        assert_eq!(state(service.ctx), CtxState::RUNNING);
        service
    }

    pub fn connect(&self, engine: &Engine) {
        engine.connect(self.ctx, |ctx| c!(doca_urom_service_destroy(ctx.cast())));
    }

    pub fn plugins(&self) -> Vec<PluginInfo> {
        let (mut first, mut count) = (std::ptr::null(), 0);
        assert_eq!(c!(doca_urom_service_get_plugins_list(self.raw, &mut first, &mut count)), OK);
        // SAFETY: the library's list.
        unsafe { std::slice::from_raw_parts(first, count) }.to_vec()
    }

    pub fn query(&self, gid: u32, callback: urom_abi::host::GidTaskCallback) -> *mut GidTask {
        let mut task = null_mut();
        let code = c!(doca_urom_service_get_workers_by_gid_task_allocate_init(
            self.raw,
            gid,
            Some(callback),
            &mut task
        ));
        assert_eq!(code, OK);
        task
    }

    pub fn end(self) {
        assert_eq!(c!(doca_ctx_stop(self.ctx)), OK);
        self.destroy();
    }

    pub fn destroy(self) {
        destroy(self.ctx, |ctx| c!(doca_urom_service_destroy(ctx.cast())));
    }
}

pub fn failed_start(at: &At<'_>) -> (DocaStatus, String) {
    let engine = Engine::new();
    let service = new_service(at);
    service.connect(&engine);
    let begin = Instant::now();
    let code = c!(doca_ctx_start(service.ctx));
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    assert_eq!(state(service.ctx), CtxState::IDLE);
    engine.is_quiet(100);
    (code, failure(service.ctx))
}

#[derive(Clone, Copy)]
pub struct TestWorker {
    pub raw: *mut Worker,
    pub ctx: *mut Ctx,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub task: usize,
    pub task_data: u64,
    pub ctx_data: u64,
    pub status: DocaStatus,
    pub response: Option<Vec<u8>>,
}

thread_local! {
    static DONE: RefCell<Vec<Done>> = const { RefCell::new(Vec::new()) };
}

/// Takes this thread's completions since the last call, oldest first.
pub fn take_done() -> Vec<Done> {
    DONE.take()
}

pub fn response(task: *mut CmdTask) -> Option<Vec<u8>> {
    let buf = c!(doca_urom_worker_cmd_task_get_response(task));
    if buf.is_null() {
        return None;
    }
    let (mut data, mut len) = (null_mut(), usize::MAX);
    assert_eq!(c!(doca_buf_get_data(buf, &mut data)), OK);
    assert_eq!(c!(doca_buf_get_data_len(buf, &mut len)), OK);
    assert_eq!(data.addr() % 8, 0);
    // SAFETY: the task's own memory.
    Some(unsafe { std::slice::from_raw_parts(data.cast(), len) }.to_vec())
}

fn note(task: *mut CmdTask, task_data: Data, ctx_data: Data) -> Done {
    // SAFETY: every bit pattern is a number.
    let task_data = unsafe { task_data.u64 };
    // SAFETY: every bit pattern is a number.
    let ctx_data = unsafe { ctx_data.u64 };
    let status = c!(doca_task_get_status(as_task(task)));
    Done { task: task.addr(), task_data, ctx_data, status, response: response(task) }
}

pub unsafe extern "C" fn note_and_release(task: *mut CmdTask, task_data: Data, ctx_data: Data) {
    let done = note(task, task_data, ctx_data);
    assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
    DONE.with_borrow_mut(|all| all.push(done));
}

pub unsafe extern "C" fn note_and_keep(task: *mut CmdTask, task_data: Data, ctx_data: Data) {
    let done = note(task, task_data, ctx_data);
    DONE.with_borrow_mut(|all| all.push(done));
}

pub fn as_task(task: *mut CmdTask) -> *mut Task {
    c!(doca_urom_worker_cmd_task_as_task(task))
}

pub fn command(op: u64, word: u64) -> Vec<u8> {
    [op.to_le_bytes(), word.to_le_bytes()].concat()
}

impl TestWorker {
    pub fn new(service: *mut Service, engine: &Engine, id: u64, max_inflight: u32) -> TestWorker {
        let mut raw = null_mut();
        assert_eq!(c!(doca_urom_worker_create(&mut raw)), OK);
        let ctx = c!(doca_urom_worker_as_ctx(raw));
        assert_eq!(c!(doca_urom_worker_set_service(raw, service)), OK);
        engine.connect(ctx, |ctx| c!(doca_urom_worker_destroy(ctx.cast())));
        assert_eq!(c!(doca_urom_worker_set_id(raw, id)), OK);
        assert_eq!(c!(doca_urom_worker_set_max_inflight_tasks(raw, max_inflight)), OK);
        assert_eq!(c!(doca_urom_worker_set_plugins(raw, 1)), OK);
        TestWorker { raw, ctx }
    }

    pub fn start(service: *mut Service, engine: &Engine, id: u64, max_inflight: u32) -> TestWorker {
        let worker = TestWorker::new(service, engine, id, max_inflight);
        worker.run(engine);
        worker
    }

    pub fn run(&self, engine: &Engine) {
        assert_eq!(c!(doca_ctx_start(self.ctx)), DocaError::IN_PROGRESS, "{}", failure(self.ctx));
        assert_eq!(state(self.ctx), CtxState::STARTING);
        assert_eq!(engine.next(), 1);
        assert_eq!(state(self.ctx), CtxState::RUNNING, "{}", failure(self.ctx));
    }

    pub fn allocate(&self) -> Result<*mut CmdTask, DocaError> {
        let mut task = null_mut();
        c!(doca_urom_worker_cmd_task_allocate_init(self.raw, 1, &mut task)).check()?;
        c!(doca_urom_worker_cmd_task_set_cb(task, Some(note_and_release)));
        Ok(task)
    }

    pub fn task(&self, payload: &[u8]) -> *mut CmdTask {
        let task = self.allocate().unwrap();
        fill(task, payload);
        task
    }

    pub fn submit(&self, payload: &[u8]) -> *mut CmdTask {
        let task = self.task(payload);
        assert_eq!(c!(doca_task_submit(as_task(task))), OK);
        task
    }

    pub fn echo(&self, engine: &Engine, word: u64) {
        self.submit(&command(crate::processes::op::ECHO, word));
        assert_eq!(engine.done().status, OK);
    }

    pub fn id(&self) -> Result<u64, DocaError> {
        let mut id = 0;
        c!(doca_urom_worker_get_id(self.raw, &mut id)).check().map(|()| id)
    }

    pub fn stop(&self, engine: &Engine) {
        assert_eq!(c!(doca_ctx_stop(self.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(state(self.ctx), CtxState::STOPPING);
        while state(self.ctx) != CtxState::IDLE {
            assert_eq!(engine.next(), 1);
        }
    }

    pub fn destroy(self) {
        destroy(self.ctx, |ctx| c!(doca_urom_worker_destroy(ctx.cast())));
    }

    pub fn end(self, engine: &Engine) {
        self.stop(engine);
        self.destroy();
    }
}

pub fn fill(task: *mut CmdTask, payload: &[u8]) {
    let buf = c!(doca_urom_worker_cmd_task_get_payload(task));
    let (mut data, mut capacity) = (null_mut::<c_void>(), 0);
    assert_eq!(c!(doca_buf_get_data(buf, &mut data)), OK);
    assert_eq!(c!(doca_buf_get_data_len(buf, &mut capacity)), OK);
    assert!(payload.len() <= capacity, "{} bytes into {capacity}", payload.len());
    // SAFETY: the task's own memory, which is long enough.
    unsafe { data.cast::<u8>().copy_from_nonoverlapping(payload.as_ptr(), payload.len()) };
    assert_eq!(c!(doca_buf_set_data(buf, data, payload.len())), OK);
}
