//! The fake's tasks and buffers.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use urom_abi::host::{
    Buf, CMD_TASK_AREA, Cancelled, CmdTask, CmdTaskCallback, CmdTaskEnd, Ctx, CtxState, Data,
    GidTask, GidTaskCallback, Service, Task, Worker,
};
use urom_abi::{DocaError, DocaStatus};

use super::core::{change, ring, wake};
use super::objects::{Context, created, destroyed};
use super::{CAPACITY, OK, Object, group, put, script};

pub static LAST_RESPONSE: AtomicUsize = AtomicUsize::new(0);

pub struct Buffer {
    bytes: Vec<u64>,
    length: usize,
    limit: usize,
}

impl Buffer {
    fn new(capacity: usize) -> Buffer {
        Buffer { bytes: vec![0; capacity.div_ceil(8)], length: capacity, limit: capacity }
    }
}

#[repr(C, align(64))]
struct Area([u8; CMD_TASK_AREA]);

/// A cancelled command: whether it is never answered, and whether it was dropped.
pub struct Ghost {
    hangs: bool,
    is_dropped: bool,
}

pub struct Work {
    area: Area,
    limit: u64,
    deadline: Option<Instant>,
    context: *mut Context,
    data: Data,
    status: DocaStatus,
    in_flight: bool,
    callback: Option<CmdTaskCallback>,
    payload: Buffer,
    response: Option<Buffer>,
    end: CmdTaskEnd,
    group: Option<u32>,
    answer: Option<GidTaskCallback>,
    ids: Vec<u64>,
}

impl Work {
    fn create<T>(context: *mut Context, group: Option<u32>, target: *mut *mut T) -> DocaStatus {
        created();
        let (data, status) = (Data { u64: 0 }, DocaStatus::BAD_STATE);
        let new = Work {
            area: Area([0; CMD_TASK_AREA]),
            limit: 0,
            deadline: None,
            context,
            data,
            status,
            in_flight: false,
            callback: None,
            payload: Buffer::new(CAPACITY),
            response: None,
            end: CmdTaskEnd { status, cancelled: 0, response: ptr::null_mut(), length: 0 },
            group,
            answer: None,
            ids: Vec::new(),
        };
        put(target, Box::into_raw(Box::new(new)).cast())
    }

    fn release(work: *mut Work) -> DocaStatus {
        // SAFETY: it came from a box.
        if unsafe { work.get() }.in_flight {
            return DocaStatus::NOT_PERMITTED;
        }
        destroyed();
        // SAFETY: as above, and the host does not use it again.
        let work = unsafe { Box::from_raw(work) };
        // SAFETY: contexts outlive their tasks.
        unsafe { work.context.get() }.released.push(work);
        OK
    }

    fn loopback(&self) -> u64 {
        if self.payload.length >= 16 { self.payload.bytes[1] } else { 0 }
    }

    fn is(&self, what: u64) -> bool {
        self.loopback() & 0xff << 56 == what
    }
}

/// Ends a command in flight without its answer. Returns `false` if it is not in flight.
fn give_up(task: *mut Work, code: DocaStatus, is_dropped: bool) -> bool {
    // SAFETY: the task is live.
    let it = unsafe { task.get() };
    // SAFETY: contexts outlive their tasks.
    let this = unsafe { it.context.get() };
    let Some(at) = this.in_flight.iter().position(|known| *known == task) else { return false };
    this.in_flight.remove(at);
    this.ghosts.push(Ghost { hangs: it.is(script::HANG), is_dropped });
    it.status = code;
    it.response = None;
    it.end = CmdTaskEnd { status: code, cancelled: 1, response: ptr::null_mut(), length: 0 };
    if is_dropped {
        it.in_flight = false;
    } else {
        this.ended_out += 1;
        this.ended.push_back(task);
    }
    // SAFETY: a context with tasks is on its engine.
    unsafe { ring(this.engine) };
    true
}

/// Ends tasks past their deadline; returns whether there were any.
pub fn expire(ctx: *mut Context) -> bool {
    let now = Instant::now();
    // SAFETY: the context is live.
    let mut overdue = unsafe { ctx.get() }.in_flight.clone();
    // SAFETY: tasks in flight are live.
    overdue.retain(|task| unsafe { task.get() }.deadline.is_some_and(|at| at <= now));
    overdue.iter().fold(false, |_, task| give_up(*task, DocaStatus::TIME_OUT, false))
}

pub fn next_deadline(ctx: &Context) -> Option<Instant> {
    // SAFETY: tasks in flight are live.
    ctx.in_flight.iter().filter_map(|task| unsafe { task.get() }.deadline).min()
}

fn call_back(ctx: *mut Context, task: *mut Work) {
    // SAFETY: tasks in flight are live.
    let it = unsafe { task.get() };
    it.in_flight = false;
    if let Some(callback) = it.callback {
        // SAFETY: the context is live.
        let data = unsafe { ctx.get() }.user_data;
        // SAFETY: the host's callback, with its data.
        unsafe { callback(task.cast(), it.data, data) };
    }
}

/// Completes the oldest task that can be; returns whether there was one.
pub fn complete(ctx: *mut Context, flush: bool) -> bool {
    // SAFETY: the context is live.
    let this = unsafe { ctx.get() };
    for ghost in this.ghosts.extract_if(.., |ghost| flush || !ghost.hangs) {
        match (flush, ghost.is_dropped) {
            (true, _) => {}
            (false, true) => this.cancelled.dropped += 1,
            (false, false) => this.cancelled.late += 1,
        }
    }
    if let Some(task) = this.ended.pop_front() {
        call_back(ctx, task);
        return true;
    }
    // SAFETY: tasks in flight are live.
    let Some(at) =
        this.in_flight.iter().position(|task| flush || !unsafe { task.get() }.is(script::HANG))
    else {
        return false;
    };
    let Some(task) = this.in_flight.remove(at) else { return false };
    // SAFETY: tasks in flight are live.
    let it = unsafe { task.get() };
    it.in_flight = false;
    let code = DocaStatus(it.loopback() as u32);
    let length = it.payload.length;
    it.status = OK;
    it.response = Some(Buffer { bytes: it.payload.bytes.clone(), length, limit: length });
    if flush {
        it.status = DocaStatus::CONNECTION_RESET;
        it.response = None;
    } else if it.is(script::STATUS_WITH_REPLY) {
        it.status = code;
    } else if it.is(script::STATUS_ALONE) {
        it.status = code;
        it.response = None;
    } else if it.is(script::SHORT_REPLY) {
        it.response = Some(Buffer::new(3));
    } else if let (true, Some(response)) = (it.is(script::CUT_REPLY), &mut it.response) {
        response.length -= 1;
    } else if it.is(script::DIE) {
        it.status = code;
        it.response = None;
        this.failed = Some(DocaError::NOT_FOUND);
        change(ctx, CtxState::STOPPING);
    }
    it.end = CmdTaskEnd { status: it.status, cancelled: 0, response: ptr::null_mut(), length: 0 };
    if let Some(response) = &mut it.response {
        it.end.response = response.bytes.as_mut_ptr().cast();
        it.end.length = response.length;
        LAST_RESPONSE.store(response.bytes.as_ptr().addr(), Ordering::SeqCst);
    }
    call_back(ctx, task);
    true
}

/// Takes the oldest query that must be answered.
pub fn due_query(service: &mut Context) -> Option<*mut Work> {
    // SAFETY: queries in flight are live.
    let of = |task: &*mut Work| unsafe { task.get() }.group.unwrap();
    let all = service.state != CtxState::RUNNING
        || service.queries.iter().any(|task| matches!(of(task), group::RELEASES | group::KILLS));
    let waits = |task| matches!(of(task), group::WAITS | group::WAITS_REFUSED);
    let at = service.queries.iter().position(|task| all || !waits(task))?;
    if service.queries.iter().any(|task| of(task) == group::KILLS) {
        change(service, CtxState::STOPPING);
    }
    service.queries.remove(at)
}

pub fn complete_query(task: *mut Work) {
    // SAFETY: queries in flight are live.
    let it = unsafe { task.get() };
    it.in_flight = false;
    // SAFETY: contexts outlive their tasks.
    let is_lost = unsafe { it.context.get() }.state != CtxState::RUNNING;
    it.status = OK;
    match it.group.unwrap() {
        _ if is_lost => it.status = DocaStatus::CONNECTION_RESET,
        9 => it.status = DocaStatus::CONNECTION_RESET,
        group::WAITS_REFUSED => it.status = DocaStatus::NOT_FOUND,
        group => it.ids = (0..u64::from(group)).rev().collect(),
    }
    if let Some(callback) = it.answer {
        // SAFETY: the host's callback, with its data.
        unsafe { callback(task.cast(), it.data, Data { u64: 0 }) };
    }
}

functions! {
    #[called]
    fn cmd_allocate_init(worker: *mut Worker, _plugin: u64, task: *mut *mut CmdTask) {
        if worker.state != CtxState::RUNNING {
            return DocaStatus::BAD_STATE;
        }
        if worker.allocated - worker.ended_out + worker.ghosts.len() == worker.max_inflight {
            return DocaStatus::NO_MEMORY;
        }
        worker.allocated += 1;
        Work::create(worker, None, task)
    }

    #[called]
    fn cmd_release(task: *mut CmdTask) {
        let (context, cancelled) = (task.context, task.end.cancelled);
        let code = Work::release(task);
        if code == OK {
            // SAFETY: contexts outlive their tasks.
            let context = unsafe { context.get() };
            context.allocated -= 1;
            context.ended_out -= cancelled as usize;
        }
        code
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
    fn cmd_get_failure(_task: *const CmdTask, _text: *mut c_char, _capacity: usize) -> usize {
        0
    }

    #[called]
    fn cmd_set_deadline(task: *mut CmdTask, nanoseconds: u64) {
        task.limit = nanoseconds;
        OK
    }

    #[called]
    fn cmd_cancel(task: *mut CmdTask) {
        if give_up(task, DocaStatus::SKIPPED, false) { OK } else { DocaStatus::BAD_STATE }
    }

    #[called]
    fn cmd_forget(task: *mut CmdTask) {
        if !give_up(task, DocaStatus::SKIPPED, true) {
            return DocaStatus::BAD_STATE;
        }
        // SAFETY: contexts outlive their tasks.
        unsafe { task.context.get() }.allocated -= 1;
        Work::release(task)
    }

    #[called]
    fn cmd_get_area(task: *mut CmdTask) -> *mut c_void {
        (&raw mut task.area).cast()
    }

    fn worker_cancelled(worker: *mut Worker, cancelled: *mut Cancelled) {
        put(cancelled, Cancelled { waiting: worker.ghosts.len() as u64, ..worker.cancelled })
    }

    #[called]
    fn cmd_get_response(task: *mut CmdTask) -> *mut Buf {
        task.response.as_mut().map_or(ptr::null_mut(), |response| ptr::from_mut(response).cast())
    }

    #[called]
    fn as_task(task: *mut CmdTask) -> *mut Task {
        ptr::from_mut(task).cast()
    }

    fn gid_allocate_init(
        service: *mut Service,
        group: u32,
        callback: Option<GidTaskCallback>,
        task: *mut *mut GidTask,
    ) {
        if group == 8 {
            return DocaStatus::NO_MEMORY;
        }
        Work::create(service, Some(group), task);
        // SAFETY: just written.
        let new = unsafe { task.read() };
        // SAFETY: just created.
        unsafe { new.get() }.answer = callback;
        OK
    }

    fn gid_release(task: *mut GidTask) {
        Work::release(task)
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
        match task.group {
            Some(7) => return DocaStatus::AGAIN,
            Some(_) => context.queries.push_back(task),
            None if task.is(script::REFUSE) => return DocaStatus(task.loopback() as u32),
            None => {
                task.response = None;
                context.in_flight.push_back(task);
            }
        }
        task.in_flight = true;
        task.deadline =
            (task.limit != 0).then(|| Instant::now() + Duration::from_nanos(task.limit));
        if let Some(at) = task.deadline {
            // SAFETY: a context with tasks is on its engine.
            unsafe { wake(context.engine, at) };
        }
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
        if length > buf.limit {
            return DocaStatus::INVALID_VALUE;
        }
        buf.length = length;
        OK
    }
}
