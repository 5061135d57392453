//! The fake's tasks and buffers.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use urom_abi::DocaError;
use urom_abi::host::{
    Buf, CmdTask, CmdTaskCallback, CmdTaskEnd, Ctx, CtxState, Data, GidTask, GidTaskCallback,
    Service, Task, Worker,
};

use super::core::{change, ring};
use super::objects::{Context, created, destroyed};
use super::{CAPACITY, group, script};

/// The start of both kinds of task.
#[repr(C)]
struct Head {
    context: *mut Context,
    data: Data,
    status: DocaError,
    in_flight: bool,
    is_query: bool,
}

/// Where the response of the task lies that completed last.
pub static LAST_RESPONSE: AtomicUsize = AtomicUsize::new(0);

struct Buffer {
    bytes: Vec<u64>,
    length: usize,
    room: usize,
}

impl Buffer {
    fn new(capacity: usize) -> Buffer {
        Buffer { bytes: vec![0; capacity.div_ceil(8)], length: capacity, room: capacity }
    }
}

#[repr(C)]
pub struct Command {
    head: Head,
    callback: Option<CmdTaskCallback>,
    payload: Buffer,
    response: Option<Buffer>,
    end: CmdTaskEnd,
    user_data: [u64; 4],
}

#[repr(C)]
pub struct Query {
    head: Head,
    callback: Option<GidTaskCallback>,
    group: u32,
    ids: Vec<u64>,
}

/// # Safety
/// `task` is live, and this borrow is used for one statement.
unsafe fn command<'a, T>(task: *mut T) -> &'a mut Command {
    // SAFETY: the caller's promise.
    unsafe { &mut *task.cast::<Command>() }
}

/// # Safety
/// As [`command`].
unsafe fn query<'a, T>(task: *mut T) -> &'a mut Query {
    // SAFETY: the caller's promise.
    unsafe { &mut *task.cast::<Query>() }
}

/// # Safety
/// As [`command`].
unsafe fn head<'a>(task: *const Task) -> &'a mut Head {
    // SAFETY: the caller's promise; both kinds begin with it.
    unsafe { &mut *task.cast_mut().cast::<Head>() }
}

impl Command {
    fn loopback(&self) -> u64 {
        if self.payload.length >= 16 { self.payload.bytes[1] } else { 0 }
    }

    fn is(&self, what: u64) -> bool {
        self.loopback() & 0xff << 56 == what
    }
}

/// Completes the oldest task that can be; whether there was one.
pub fn complete(ctx: *mut Context, flush: bool) -> bool {
    // SAFETY: a live context.
    let this = unsafe { Context::get(ctx) };
    // SAFETY: tasks in flight are live.
    let Some(at) =
        this.in_flight.iter().position(|task| flush || !unsafe { command(*task) }.is(script::HANG))
    else {
        return false;
    };
    let Some(task) = this.in_flight.remove(at) else { return false };
    // SAFETY: tasks in flight are live.
    let it = unsafe { command(task) };
    it.head.in_flight = false;
    let code = DocaError(it.loopback() as u32);
    let length = it.payload.length;
    it.head.status = DocaError::SUCCESS;
    it.response = Some(Buffer { bytes: it.payload.bytes.clone(), length, room: length });
    if flush {
        it.head.status = DocaError::CONNECTION_RESET;
        it.response = None;
    } else if it.is(script::STATUS_WITH_REPLY) {
        it.head.status = code;
    } else if it.is(script::STATUS_ALONE) {
        it.head.status = code;
        it.response = None;
    } else if it.is(script::SHORT_REPLY) {
        it.response = Some(Buffer::new(3));
    } else if it.is(script::DIE) {
        it.head.status = code;
        it.response = None;
        this.failed = Some(DocaError::NOT_FOUND);
        change(ctx, CtxState::STOPPING);
    }
    it.end = CmdTaskEnd { status: it.head.status, response: std::ptr::null_mut(), length: 0 };
    if let Some(response) = &mut it.response {
        it.end.response = response.bytes.as_mut_ptr().cast();
        it.end.length = response.length;
        LAST_RESPONSE.store(response.bytes.as_ptr().addr(), Ordering::SeqCst);
    }
    if let Some(callback) = it.callback {
        // SAFETY: a live context.
        let data = unsafe { Context::get(ctx) }.user_data;
        // SAFETY: what the host registered, with its data.
        unsafe { callback(task.cast(), it.head.data, data) };
    }
    true
}

/// Takes the oldest query that is to be answered.
pub fn due_query(service: &mut Context) -> Option<*mut Query> {
    // SAFETY: queries in flight are live.
    let of = |task: &*mut Query| unsafe { query(*task) }.group;
    let all = service.state != CtxState::RUNNING
        || service.queries.iter().any(|task| matches!(of(task), group::RELEASES | group::KILLS));
    let waits = |task| matches!(of(task), group::WAITS | group::WAITS_REFUSED);
    let at = service.queries.iter().position(|task| all || !waits(task))?;
    if service.queries.iter().any(|task| of(task) == group::KILLS) {
        change(service, CtxState::STOPPING);
    }
    service.queries.remove(at)
}

pub fn complete_query(task: *mut Query) {
    // SAFETY: queries in flight are live.
    let it = unsafe { query(task) };
    it.head.in_flight = false;
    // SAFETY: contexts outlive their tasks.
    let is_lost = unsafe { Context::get(it.head.context) }.state != CtxState::RUNNING;
    match it.group {
        _ if is_lost => it.head.status = DocaError::CONNECTION_RESET,
        9 => it.head.status = DocaError::CONNECTION_RESET,
        group::WAITS_REFUSED => it.head.status = DocaError::NOT_FOUND,
        group => it.ids = (0..u64::from(group)).rev().collect(),
    }
    if let Some(callback) = it.callback {
        // SAFETY: what the host registered, with its data.
        unsafe { callback(task.cast(), it.head.data, Data { u64: 0 }) };
    }
}

pub unsafe extern "C" fn cmd_allocate(worker: *mut Worker, task: *mut *mut CmdTask) -> DocaError {
    // SAFETY: as this function.
    unsafe { cmd_allocate_init(worker, 0, task) }
}

pub unsafe extern "C" fn cmd_allocate_init(
    worker: *mut Worker,
    _plugin: u64,
    task: *mut *mut CmdTask,
) -> DocaError {
    super::called();
    // SAFETY: a live worker.
    let this = unsafe { Context::get(worker) };
    if this.state != CtxState::RUNNING {
        return DocaError::BAD_STATE;
    }
    if this.allocated == this.max_inflight {
        return DocaError::NO_MEMORY;
    }
    this.allocated += 1;
    created();
    let new = Box::new(Command {
        head: new_head(worker.cast(), false),
        callback: None,
        payload: Buffer::new(CAPACITY),
        response: None,
        end: CmdTaskEnd { status: DocaError::BAD_STATE, response: std::ptr::null_mut(), length: 0 },
        user_data: [u64::MAX; 4],
    });
    // SAFETY: an out pointer.
    unsafe { *task = Box::into_raw(new).cast() };
    DocaError::SUCCESS
}

fn new_head(context: *mut Context, is_query: bool) -> Head {
    Head { context, data: Data { u64: 0 }, status: DocaError::SUCCESS, in_flight: false, is_query }
}

pub unsafe extern "C" fn cmd_release(task: *mut CmdTask) -> DocaError {
    super::called();
    // SAFETY: a live task.
    let it = unsafe { command(task) };
    if it.head.in_flight {
        return DocaError::NOT_PERMITTED;
    }
    // SAFETY: contexts outlive their tasks.
    unsafe { Context::get(it.head.context) }.allocated -= 1;
    destroyed();
    // SAFETY: it came from a box, and the caller gives it up.
    drop(unsafe { Box::from_raw(task.cast::<Command>()) });
    DocaError::SUCCESS
}

pub unsafe extern "C" fn cmd_set_plugin(_task: *mut CmdTask, _plugin: u64) {}

pub unsafe extern "C" fn cmd_set_cb(task: *mut CmdTask, callback: Option<CmdTaskCallback>) {
    super::called();
    // SAFETY: a live task.
    unsafe { command(task) }.callback = callback;
}

pub unsafe extern "C" fn cmd_get_payload(task: *mut CmdTask) -> *mut Buf {
    super::called();
    // SAFETY: a live task.
    (&raw mut unsafe { command(task) }.payload).cast()
}

pub unsafe extern "C" fn cmd_get_end(task: *mut CmdTask) -> *const CmdTaskEnd {
    super::called();
    // SAFETY: a live task.
    &raw const unsafe { command(task) }.end
}

pub unsafe extern "C" fn cmd_get_response(task: *mut CmdTask) -> *mut Buf {
    super::called();
    // SAFETY: a live task.
    let response = unsafe { command(task) }.response.as_mut();
    response.map_or(std::ptr::null_mut(), |response| (&raw mut *response).cast())
}

pub unsafe extern "C" fn cmd_get_user_data(task: *mut CmdTask) -> *mut c_void {
    super::called();
    // SAFETY: a live task.
    (&raw mut unsafe { command(task) }.user_data).cast()
}

pub unsafe extern "C" fn cmd_as_task(task: *mut CmdTask) -> *mut Task {
    super::called();
    task.cast()
}

pub unsafe extern "C" fn gid_allocate(service: *mut Service, task: *mut *mut GidTask) -> DocaError {
    // SAFETY: as this function.
    unsafe { gid_allocate_init(service, 0, None, task) }
}

pub unsafe extern "C" fn gid_allocate_init(
    service: *mut Service,
    group: u32,
    callback: Option<GidTaskCallback>,
    task: *mut *mut GidTask,
) -> DocaError {
    if group == 8 {
        return DocaError::NO_MEMORY;
    }
    created();
    let new =
        Box::new(Query { head: new_head(service.cast(), true), callback, group, ids: Vec::new() });
    // SAFETY: an out pointer.
    unsafe { *task = Box::into_raw(new).cast() };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn gid_release(task: *mut GidTask) -> DocaError {
    destroyed();
    // SAFETY: it came from a box, and the caller gives it up.
    drop(unsafe { Box::from_raw(task.cast::<Query>()) });
    DocaError::SUCCESS
}

pub unsafe extern "C" fn gid_set_gid(task: *mut GidTask, group: u32) {
    // SAFETY: a live task.
    unsafe { query(task) }.group = group;
}

pub unsafe extern "C" fn gid_set_cb(task: *mut GidTask, callback: Option<GidTaskCallback>) {
    // SAFETY: a live task.
    unsafe { query(task) }.callback = callback;
}

pub unsafe extern "C" fn gid_as_task(task: *mut GidTask) -> *mut Task {
    task.cast()
}

pub unsafe extern "C" fn gid_count(task: *mut GidTask) -> usize {
    // SAFETY: a live task.
    unsafe { query(task) }.ids.len()
}

pub unsafe extern "C" fn gid_ids(task: *mut GidTask) -> *const u64 {
    // SAFETY: a live task.
    unsafe { query(task) }.ids.as_ptr()
}

pub unsafe extern "C" fn submit(task: *mut Task) -> DocaError {
    super::called();
    // SAFETY: a live task.
    let it = unsafe { head(task) };
    // SAFETY: contexts outlive their tasks.
    let context = unsafe { Context::get(it.context) };
    if it.is_query {
        // SAFETY: a live task.
        if unsafe { query(task) }.group == 7 {
            return DocaError::AGAIN;
        }
        context.queries.push_back(task.cast());
    } else {
        // SAFETY: a live task.
        let it = unsafe { command(task) };
        if it.is(script::REFUSE) {
            return DocaError(it.loopback() as u32);
        }
        it.response = None;
        context.in_flight.push_back(task.cast());
    }
    it.in_flight = true;
    // SAFETY: a context with tasks is on its engine.
    unsafe { ring(context.engine) };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn get_status(task: *const Task) -> DocaError {
    super::called();
    // SAFETY: a live task.
    unsafe { head(task) }.status
}

pub unsafe extern "C" fn set_user_data(task: *mut Task, data: Data) {
    super::called();
    // SAFETY: a live task.
    unsafe { head(task) }.data = data;
}

pub unsafe extern "C" fn get_user_data(task: *const Task) -> Data {
    super::called();
    // SAFETY: a live task.
    unsafe { head(task) }.data
}

pub unsafe extern "C" fn get_ctx(task: *const Task) -> *mut Ctx {
    // SAFETY: a live task.
    unsafe { head(task) }.context.cast()
}

/// # Safety
/// As [`command`].
unsafe fn buffer<'a>(buf: *const Buf) -> &'a mut Buffer {
    // SAFETY: the caller's promise.
    unsafe { &mut *buf.cast_mut().cast::<Buffer>() }
}

pub unsafe extern "C" fn buf_get_data(buf: *const Buf, data: *mut *mut c_void) -> DocaError {
    super::called();
    // SAFETY: a live buffer.
    let pointer = unsafe { buffer(buf) }.bytes.as_mut_ptr();
    // SAFETY: an out pointer.
    unsafe { *data = pointer.cast() };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn buf_get_data_len(buf: *const Buf, length: *mut usize) -> DocaError {
    super::called();
    // SAFETY: a live buffer.
    let mine = unsafe { buffer(buf) }.length;
    // SAFETY: an out pointer.
    unsafe { *length = mine };
    DocaError::SUCCESS
}

pub unsafe extern "C" fn buf_set_data(
    buf: *mut Buf,
    _data: *mut c_void,
    length: usize,
) -> DocaError {
    super::called();
    // SAFETY: a live buffer.
    let it = unsafe { buffer(buf) };
    if length > it.room {
        return DocaError::INVALID_VALUE;
    }
    it.length = length;
    DocaError::SUCCESS
}
