//! The fake's tasks and buffers.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use urom_abi::DocaError;
use urom_abi::host::{
    Buf, CmdTask, CmdTaskCallback, CmdTaskEnd, Ctx, CtxState, Data, GidTask, GidTaskCallback,
    Service, Task, Worker,
};

use super::core::{change, ring};
use super::objects::{Context, created, destroyed};
use super::{CAPACITY, OK, Object, group, put, script};

/// The start of both kinds of task.
#[repr(C)]
pub struct Head {
    context: *mut Context,
    data: Data,
    status: DocaError,
    in_flight: bool,
    is_query: bool,
}

/// Where the response of the task lies that completed last.
pub static LAST_RESPONSE: AtomicUsize = AtomicUsize::new(0);

pub struct Buffer {
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
}

#[repr(C)]
pub struct Query {
    head: Head,
    callback: Option<GidTaskCallback>,
    group: u32,
    ids: Vec<u64>,
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
    let this = unsafe { ctx.get() };
    // SAFETY: tasks in flight are live.
    let Some(at) =
        this.in_flight.iter().position(|task| flush || !unsafe { task.get() }.is(script::HANG))
    else {
        return false;
    };
    let Some(task) = this.in_flight.remove(at) else { return false };
    // SAFETY: tasks in flight are live.
    let it = unsafe { task.get() };
    it.head.in_flight = false;
    let code = DocaError(it.loopback() as u32);
    let length = it.payload.length;
    it.head.status = OK;
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
    } else if let (true, Some(response)) = (it.is(script::CUT_REPLY), &mut it.response) {
        response.length -= 1;
    } else if it.is(script::DIE) {
        it.head.status = code;
        it.response = None;
        this.failed = Some(DocaError::NOT_FOUND);
        change(ctx, CtxState::STOPPING);
    }
    it.end = CmdTaskEnd { status: it.head.status, response: ptr::null_mut(), length: 0 };
    if let Some(response) = &mut it.response {
        it.end.response = response.bytes.as_mut_ptr().cast();
        it.end.length = response.length;
        LAST_RESPONSE.store(response.bytes.as_ptr().addr(), Ordering::SeqCst);
    }
    if let Some(callback) = it.callback {
        // SAFETY: a live context.
        let data = unsafe { ctx.get() }.user_data;
        // SAFETY: what the host registered, with its data.
        unsafe { callback(task.cast(), it.head.data, data) };
    }
    true
}

/// Takes the oldest query that is to be answered.
pub fn due_query(service: &mut Context) -> Option<*mut Query> {
    // SAFETY: queries in flight are live.
    let of = |task: &*mut Query| unsafe { task.get() }.group;
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
    let it = unsafe { task.get() };
    it.head.in_flight = false;
    // SAFETY: contexts outlive their tasks.
    let is_lost = unsafe { it.head.context.get() }.state != CtxState::RUNNING;
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

fn new_head(context: *mut Context, is_query: bool) -> Head {
    Head { context, data: Data { u64: 0 }, status: OK, in_flight: false, is_query }
}

functions! {
    #[called]
    fn cmd_allocate_init(worker: *mut Worker, _plugin: u64, task: *mut *mut CmdTask) {
        if worker.state != CtxState::RUNNING {
            return DocaError::BAD_STATE;
        }
        if worker.allocated == worker.max_inflight {
            return DocaError::NO_MEMORY;
        }
        worker.allocated += 1;
        created();
        let new = Command {
            head: new_head(worker, false),
            callback: None,
            payload: Buffer::new(CAPACITY),
            response: None,
            end: CmdTaskEnd { status: DocaError::BAD_STATE, response: ptr::null_mut(), length: 0 },
        };
        put(task, Box::into_raw(Box::new(new)).cast())
    }

    #[called]
    fn cmd_release(task: *mut CmdTask) {
        if task.head.in_flight {
            return DocaError::NOT_PERMITTED;
        }
        // SAFETY: contexts outlive their tasks.
        unsafe { task.head.context.get() }.allocated -= 1;
        destroyed();
        // SAFETY: it came from a box, and the host gives it up.
        drop(unsafe { Box::from_raw(task) });
        OK
    }

    #[called]
    fn cmd_set_cb(task: *mut CmdTask, callback: Option<CmdTaskCallback>) -> () {
        task.callback = callback;
    }

    #[called]
    fn cmd_get_payload(task: *mut CmdTask) -> *mut Buf {
        (&raw mut task.payload).cast()
    }

    #[called]
    fn cmd_get_end(task: *mut CmdTask) -> *const CmdTaskEnd {
        &raw const task.end
    }

    #[called]
    fn cmd_get_response(task: *mut CmdTask) -> *mut Buf {
        task.response.as_mut().map_or(ptr::null_mut(), |response| ptr::from_mut(response).cast())
    }

    #[called]
    fn cmd_as_task(task: *mut CmdTask) -> *mut Task {
        ptr::from_mut(task).cast()
    }

    fn gid_allocate_init(
        service: *mut Service,
        group: u32,
        callback: Option<GidTaskCallback>,
        task: *mut *mut GidTask,
    ) {
        if group == 8 {
            return DocaError::NO_MEMORY;
        }
        created();
        let new = Query { head: new_head(service, true), callback, group, ids: Vec::new() };
        put(task, Box::into_raw(Box::new(new)).cast())
    }

    fn gid_release(task: *mut GidTask) {
        destroyed();
        // SAFETY: it came from a box, and the host gives it up.
        drop(unsafe { Box::from_raw(task) });
        OK
    }

    fn gid_count(task: *mut GidTask) -> usize {
        task.ids.len()
    }

    fn gid_ids(task: *mut GidTask) -> *const u64 {
        task.ids.as_ptr()
    }

    #[called]
    fn submit(task: *mut Task) {
        // SAFETY: contexts outlive their tasks.
        let context = unsafe { task.context.get() };
        let this: *mut Head = task;
        if task.is_query {
            // SAFETY: it is a live query.
            if unsafe { this.cast::<Query>().get() }.group == 7 {
                return DocaError::AGAIN;
            }
            context.queries.push_back(this.cast());
        } else {
            // SAFETY: it is a live command.
            let command = unsafe { this.cast::<Command>().get() };
            if command.is(script::REFUSE) {
                return DocaError(command.loopback() as u32);
            }
            command.response = None;
            context.in_flight.push_back(this.cast());
        }
        // SAFETY: it is a live task.
        unsafe { this.cast::<Task>().get() }.in_flight = true;
        // SAFETY: a context with tasks is on its engine.
        unsafe { ring(context.engine) };
        OK
    }

    #[called]
    fn get_status(task: *const Task) {
        task.status
    }

    #[called]
    fn set_user_data(task: *mut Task, data: Data) -> () {
        task.data = data;
    }

    #[called]
    fn get_user_data(task: *const Task) -> Data {
        task.data
    }

    fn get_ctx(task: *const Task) -> *mut Ctx {
        task.context.cast()
    }

    #[called]
    fn buf_get_data(buf: *const Buf, data: *mut *mut c_void) {
        put(data, buf.bytes.as_mut_ptr().cast())
    }

    #[called]
    fn buf_get_data_len(buf: *const Buf, length: *mut usize) {
        put(length, buf.length)
    }

    #[called]
    fn buf_set_data(buf: *mut Buf, _data: *mut c_void, length: usize) {
        if length > buf.room {
            return DocaError::INVALID_VALUE;
        }
        buf.length = length;
        OK
    }
}
