//! The messages that workers send to a host over UCX, while tasks are in flight.

mod strange;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use ucx::{AmFlags, Endpoint, Message, WorkerAddress};
use urom_abi::DocaError;
use urom_abi::host::{CmdTask, Ctx, CtxState, Data, Pe, Service, Worker};
use urom_wire::frame::{self, AM_COMMANDS, AM_GREET, AM_NOTIFICATIONS, notification_header};
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::program::Program;
use urom_wire::fuzzing::{recent, sent};
use urom_wire::pass::Pass;
use urom_wire::ucx_context::context;

use self::strange::Strange;
use super::{PATIENCE, peer, until};
use crate::api;

/// Calls a function of the table.
macro_rules! c {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let function = api().$name;
        // SAFETY: live objects and places of this host's.
        unsafe { function($($arg),*) }
    }};
}

const SLOTS: u32 = 8;
const LIMIT: usize = 256;
/// The longest notification.
const ROOM: usize = LIMIT - frame::NOTIFICATION_HEADER;
/// The worker's channel.
const CHANNEL: u16 = 5;

/// What the library keeps for its tasks and the messages about them.
const MEMORY: usize = 1 << 20;

const OK: DocaError = DocaError::SUCCESS;

/// A program of what a worker does while a host has tasks in flight: whole notifications, damaged
/// ones, any bytes. Each task completes once, with the first answer that came in its slot, and with
/// nobody else's. Messages that no worker sends change nothing: tasks are answered afterwards.
pub fn host_frames(input: &[u8]) {
    thread_local! {
        static HOST: RefCell<FrameRig> = RefCell::new(FrameRig::new());
    }
    recent::note(input);
    HOST.with_borrow_mut(|rig| {
        within(MEMORY + 64 * input.len(), || {
            let mut program = Program::new(input);
            while let Some(step) = program.byte() {
                rig.step(step, &mut program);
            }
            rig.end();
        });
    });
}

/// How a task ends: its status, its response, and why it failed.
type Outcome = (DocaError, Option<Vec<u8>>, String);

thread_local! {
    /// What completed: the number of the task, and how.
    static DONE: RefCell<Vec<(u64, Outcome)>> = const { RefCell::new(Vec::new()) };
}

struct FrameRig {
    pe: *mut Pe,
    host: *mut Worker,
    /// The host's channel.
    channel: u16,
    /// What messages begin with at both ends.
    pass: Pass,
    worker: ucx::Worker,
    endpoint: Endpoint,
    /// Commands that the worker received, by slot, with the task's number.
    received: Rc<RefCell<Vec<(u16, u64)>>>,
    /// Tasks that the worker has not answered, by slot.
    open: HashMap<u16, u64>,
    /// How those must end that it has.
    answered: HashMap<u64, Outcome>,
    last: u64,
    /// Messages that the host may not have seen yet, and of which nothing is heard.
    unheard: usize,
    strange: Strange,
}

impl FrameRig {
    fn new() -> FrameRig {
        let pass = Pass::new(peer::TICKET);
        let context = context().build().expect("UCX");
        let worker = context.worker().expect("UCX");
        let received: Rc<RefCell<Vec<(u16, u64)>>> = Rc::default();
        let into = Rc::clone(&received);
        let command = move |message: Message<'_>| {
            let ucx::Data::Eager(bytes) = message.data else { panic!("an eager message") };
            let frames =
                bytes.strip_prefix(pass.as_bytes().as_slice()).expect("a host sends its pass");
            for command in frame::commands(frames) {
                let command = command.expect("a host sends whole frames");
                assert_eq!((command.channel, command.plugin_bit), (CHANNEL, 0));
                let number = command.payload.try_into().expect("eight bytes");
                into.borrow_mut().push((command.slot, u64::from_le_bytes(number)));
            }
        };
        worker.set_am_handler(AM_COMMANDS, command).expect("a handler");
        worker.set_am_handler(AM_GREET, |_| {}).expect("a handler");
        let address = worker.address().expect("an address").as_bytes().to_vec();
        let peer = peer::start(address, CHANNEL, LIMIT as u64);

        let (mut pe, mut service, mut host) = (null_mut(), null_mut(), null_mut());
        assert_eq!(c!(doca_pe_create(&mut pe)), OK);
        assert_eq!(c!(doca_urom_service_create(&mut service)), OK);
        run_service(pe, service, &peer.address.to_string());
        assert_eq!(c!(doca_urom_worker_create(&mut host)), OK);
        let ctx = c!(doca_urom_worker_as_ctx(host));
        assert_eq!(c!(doca_urom_worker_set_service(host, service)), OK);
        assert_eq!(c!(doca_pe_connect_ctx(pe, ctx)), OK);
        assert_eq!(c!(doca_urom_worker_set_max_inflight_tasks(host, SLOTS)), OK);
        assert_eq!(c!(doca_urom_worker_set_plugins(host, 1)), OK);
        assert_eq!(c!(doca_ctx_start(ctx)), DocaError::IN_PROGRESS);

        let attach = peer.attach.recv_timeout(PATIENCE).expect("the host comes in");
        // SAFETY: from the host in this process.
        let address =
            unsafe { WorkerAddress::from_bytes(&attach.ucx_address) }.expect("the host's address");
        let endpoint = worker.endpoint().connect(&address).expect("an endpoint");
        endpoint.am_send_with(AM_GREET, &attach.channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        until("the host's context does not start", || {
            c!(doca_pe_progress(pe));
            worker.progress();
            state(ctx) == CtxState::RUNNING
        });
        let (open, answered, channel) = (HashMap::new(), HashMap::new(), attach.channel);
        FrameRig {
            pe,
            host,
            channel,
            pass,
            worker,
            endpoint,
            received,
            open,
            answered,
            last: 0,
            unheard: 0,
            strange: Strange::default(),
        }
    }

    fn step(&mut self, step: u8, program: &mut Program<'_>) {
        let slot = u16::from(step / 8) % (SLOTS as u16 + 1);
        match step % 8 {
            0 | 1 => self.submit(),
            2 => {
                let bytes = self.note(slot, program);
                self.send(self.pass, bytes);
            }
            3 => {
                let bytes = [self.note(slot, program), self.note(slot + 1, program)].concat();
                self.send(self.pass, bytes);
            }
            4 => {
                let mut bytes = self.note(slot, program);
                let (at, with) = (usize::from(program.small()), program.small());
                let at = at % bytes.len();
                bytes[at] ^= with;
                bytes.truncate(bytes.len() - usize::from(with & 7).min(bytes.len()));
                // As the worker sends it, or as somebody does who guesses.
                self.send(
                    if with & 0xc0 == 0 { self.pass } else { Pass::new(u128::from(with)) },
                    bytes,
                );
            }
            5 => self.send(self.pass, program.bytes().to_vec()),
            6 if step >= 8 => self.send_strange(step / 8, program),
            6 => {
                // The greeting again, of any length.
                sent::count();
                self.endpoint.am_send_with(AM_GREET, program.bytes(), (), AmFlags::EAGER).detach();
                self.unheard += 1;
                self.progress();
            }
            _ => drop(self.progress()),
        }
    }

    /// A notification: its status, how long it is, what it is filled with, and how many zeros are
    /// at its end; or one with the reason of a failure.
    fn note(&self, slot: u16, program: &mut Program<'_>) -> Vec<u8> {
        let (status, len) = (program.small(), program.small());
        let status = if status & 0x80 == 0 { u32::from(status) } else { 0x100 << (status & 15) };
        if let 0xf8..=0xfc = len {
            let payload = len.checked_sub(0xf9).map(usize::from);
            let why = program.bytes();
            let header = frame::explained_header(
                self.channel,
                slot,
                DocaError(status),
                payload,
                why.len() as u16,
            );
            return [&header[..], &vec![7; payload.unwrap_or(0)], why].concat();
        }
        let len = match len {
            0xff => None,
            0xfe => Some(ROOM + 1),
            0xfd => Some(ROOM),
            len => Some(usize::from(len) % 65),
        };
        let payload = len.map(|len| {
            let (filled, zeros) = (program.small(), usize::from(program.small()));
            let mut payload = vec![filled; len];
            payload[len.saturating_sub(zeros)..].fill(0);
            payload
        });
        let payload = payload.as_deref();
        let (header, header_len, sent) =
            notification_header(self.channel, slot, DocaError(status), payload);
        [&header[..header_len], &payload.unwrap_or_default()[..sent]].concat()
    }

    fn submit(&mut self) {
        let mut task = null_mut();
        match c!(doca_urom_worker_cmd_task_allocate_init(self.host, 1, &mut task)) {
            OK => {}
            code => {
                assert_eq!(code, DocaError::NO_MEMORY);
                return assert_eq!(self.open.len() + self.answered.len(), SLOTS as usize);
            }
        }
        self.last += 1;
        let payload = c!(doca_urom_worker_cmd_task_get_payload(task));
        let mut place = null_mut::<c_void>();
        assert_eq!(c!(doca_buf_get_data(payload, &mut place)), OK);
        // SAFETY: the task's own memory, which has room for more.
        unsafe { place.cast::<[u8; 8]>().write_unaligned(self.last.to_le_bytes()) };
        assert_eq!(c!(doca_buf_set_data(payload, place, 8)), OK);
        c!(doca_urom_worker_cmd_task_set_cb(task, Some(done)));
        let data = Data { u64: self.last };
        let task = c!(doca_urom_worker_cmd_task_as_task(task));
        c!(doca_task_set_user_data(task, data));
        assert_eq!(c!(doca_task_submit(task)), OK);
        // The worker learns which slot it is in.
        until("the command does not come", || {
            self.progress();
            !self.received.borrow().is_empty()
        });
        let received = self.received.take();
        assert_eq!(received.len(), 1);
        let (slot, number) = received[0];
        assert_eq!(number, self.last);
        assert!(self.open.insert(slot, number).is_none(), "slot {slot} is taken");
    }

    /// What the frames of a message that begins with `pass` mean.
    fn expect(&mut self, pass: Pass, frames: &[u8]) {
        if pass != self.pass {
            return;
        }
        for note in frame::notifications(frames).map_while(Result::ok) {
            if note.channel != self.channel {
                continue;
            }
            // What is in no open slot means nothing.
            let Some(number) = self.open.remove(&note.slot) else { continue };
            let why = String::from_utf8_lossy(note.why).replace(char::is_control, " ");
            let outcome = match note.payload {
                Some(payload) if payload.len() > ROOM => (DocaError::TOO_BIG, None, why),
                payload => (note.status, payload.map(|payload| payload.to_vec()), why),
            };
            self.answered.insert(number, outcome);
        }
    }

    fn send(&mut self, pass: Pass, frames: Vec<u8>) {
        self.expect(pass, &frames);
        sent::count();
        let bytes = [pass.as_bytes().as_slice(), &frames].concat();
        let sending = self.endpoint.am_send_with(AM_NOTIFICATIONS, &[], bytes, AmFlags::EAGER);
        until("a message does not leave", || {
            self.progress();
            sending.is_done()
        });
        // Behind a message of another kind it may still wait with the sender.
        let flush = self.endpoint.flush();
        until("a message does not arrive", || {
            self.progress();
            flush.is_done()
        });
        self.settle();
    }

    /// The host has seen what was sent before anything else happens. It takes one message at a
    /// time, and of a greeting nobody hears anything: so many times nothing is more than that many
    /// messages may wait for.
    fn settle(&mut self) {
        let (most, mut quiet) = (2 + std::mem::take(&mut self.unheard), 0);
        while quiet < most {
            quiet = if self.progress() { 0 } else { quiet + 1 };
        }
    }

    /// One call of the host's. Whether it saw anything.
    fn progress(&mut self) -> bool {
        let seen = c!(doca_pe_progress(self.pe)) != 0;
        self.worker.progress();
        for (number, outcome) in DONE.take() {
            let expected = self.answered.remove(&number);
            let expected = expected.unwrap_or_else(|| {
                panic!(
                    "a task that was answered ends, once: {number} with {outcome:?}, open {:?}",
                    self.open
                )
            });
            assert_eq!(outcome, expected, "task {number}");
        }
        seen
    }

    /// Whatever is open is answered, and everything ends. After strange messages another task does,
    /// too.
    fn end(&mut self) {
        let is_strange = self.see_strange();
        self.answer_all();
        if is_strange {
            let before = self.last;
            self.submit();
            assert_eq!(self.last, before + 1, "there is room for a task");
            self.answer_all();
        }
    }

    fn answer_all(&mut self) {
        let mut open: Vec<u16> = self.open.keys().copied().collect();
        open.sort_unstable();
        for slot in open {
            let (header, len, _) = notification_header(self.channel, slot, OK, Some(&[]));
            self.send(self.pass, header[..len].to_vec());
        }
        until("tasks do not end", || {
            self.progress();
            self.answered.is_empty()
        });
        let mut count = usize::MAX;
        assert_eq!(c!(doca_pe_get_num_inflight_tasks(self.pe, &mut count)), OK);
        assert_eq!(count, 0);
    }
}

fn run_service(pe: *mut Pe, service: *mut Service, address: &str) {
    let set = api().extensions.urom_service_set_address.expect("this library has it");
    let address = CString::new(address).expect("no NUL in an address");
    // SAFETY: a live service and C strings.
    assert_eq!(unsafe { set(service, address.as_ptr(), c"the fuzz target".as_ptr()) }, OK);
    let ctx = c!(doca_urom_service_as_ctx(service));
    assert_eq!(c!(doca_urom_service_set_max_comm_msg_size(service, LIMIT)), OK);
    assert_eq!(c!(doca_pe_connect_ctx(pe, ctx)), OK);
    assert_eq!(c!(doca_ctx_start(ctx)), OK);
}

fn state(ctx: *mut Ctx) -> CtxState {
    let mut state = CtxState(99);
    assert_eq!(c!(doca_ctx_get_state(ctx, &mut state)), OK);
    assert_ne!(state, CtxState::IDLE, "the host was not let in");
    state
}

unsafe extern "C" fn done(task: *mut CmdTask, task_data: Data, _: Data) {
    // SAFETY: every bit pattern is a number.
    let number = unsafe { task_data.u64 };
    let as_task = c!(doca_urom_worker_cmd_task_as_task(task));
    let status = c!(doca_task_get_status(as_task));
    let response = c!(doca_urom_worker_cmd_task_get_response(task));
    let response = (!response.is_null()).then(|| {
        let (mut data, mut len) = (null_mut::<c_void>(), usize::MAX);
        assert_eq!(c!(doca_buf_get_data(response, &mut data)), OK);
        assert_eq!(c!(doca_buf_get_data_len(response, &mut len)), OK);
        // SAFETY: the task's own memory.
        unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) }.to_vec()
    });
    let why = failure(task);
    assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
    DONE.with_borrow_mut(|all| all.push((number, (status, response, why))));
}

/// Why a task that ended failed.
fn failure(task: *const CmdTask) -> String {
    let get = api().extensions.urom_worker_cmd_task_get_failure.expect("this library has it");
    // SAFETY: a live task, and no place.
    let mut why = vec![0; unsafe { get(task, null_mut(), 0) }];
    // SAFETY: the same with a place of this frame.
    unsafe { get(task, why.as_mut_ptr().cast(), why.len()) };
    String::from_utf8(why).expect("text")
}
