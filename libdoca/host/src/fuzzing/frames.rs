//! Messages from workers to a host over UCX, with tasks in flight.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tokio::sync::mpsc;
use urom_abi::DocaStatus;
use urom_abi::host::{self, CtxState, Data};
use urom_abi::trace::TraceContext;
use urom_wire::envelope::{Envelope, VerificationTag, frames};
use urom_wire::frame::{NOTIFICATION_HEADER, Notification};
use urom_wire::fuzzing::frames as bytes_of;
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::program::Program;

use crate::event::AttachedWorker;
use crate::handle::Opaque;
use crate::pe::Pe;
use crate::pe::ctx::Context;
use crate::pe::ctx::worker::Worker;
use crate::pe::run::WorkerRun;
use crate::pe::run::task::TaskStage;
use crate::trace::CommandSpan;

const SLOTS: usize = 8;
const LIMIT: usize = 256;
const LONGEST: usize = LIMIT - NOTIFICATION_HEADER;

const MEMORY: usize = 1 << 20;

/// Runs a worker program with tasks in flight: valid and damaged notifications and random bytes.
/// Each task must complete once, with the first answer for its slot. Answers with a wrong slot,
/// channel or verification tag must be ignored.
pub fn host_frames(input: &[u8]) {
    within(MEMORY + 64 * input.len(), || {
        let (mut rig, mut program) = (FrameRig::new(), Program::new(input));
        while let Some(step) = program.byte() {
            rig.step(step, &mut program);
        }
        rig.end();
    });
}

type Outcome = (DocaStatus, Option<Vec<u8>>, String);

thread_local! {
    static DONE: RefCell<Vec<(u64, Outcome)>> = const { RefCell::new(Vec::new()) };
}

/// A host with an attached worker. Submitting a command only marks it in flight.
struct FrameRig {
    pe: Rc<Pe>,
    run: Rc<WorkerRun>,
    tag: VerificationTag,
    /// Unanswered tasks by slot.
    open: HashMap<u16, u64>,
    /// The expected outcome by task.
    answered: HashMap<u64, Outcome>,
    last: u64,
}

impl Drop for FrameRig {
    /// Breaks the reference cycle of engine and run.
    fn drop(&mut self) {
        self.pe.close_channel(self.run.channel);
    }
}

impl FrameRig {
    fn new() -> FrameRig {
        let pe = Pe::new().expect("an engine");
        let ctx = Context::new(Worker::new());
        let (orders, _) = mpsc::unbounded_channel();
        let engine = Rc::clone(&pe);
        let open =
            |channel| WorkerRun::new(1, SLOTS, Rc::clone(&ctx), engine, channel, None, orders);
        let run = pe.open_channel(open).expect("a channel");
        let tag = VerificationTag::new(77);
        run.let_in(AttachedWorker {
            id: 9,
            ring: None,
            ucx_address: Vec::new(),
            channel: 5,
            max_message: LIMIT,
            protocol: 15,
            plugins: Vec::new(),
            tag,
        });
        ctx.state.set(CtxState::RUNNING);
        FrameRig { pe, run, tag, open: HashMap::new(), answered: HashMap::new(), last: 0 }
    }

    fn step(&mut self, step: u8, program: &mut Program<'_>) {
        let slot = u16::from(step / 8) % (SLOTS as u16 + 1);
        match step % 8 {
            0 | 1 => self.submit(),
            2 => {
                let bytes = note(slot, program);
                self.send(self.tag, &bytes);
            }
            3 => {
                let bytes = [note(slot, program), note(slot + 1, program)].concat();
                self.send(self.tag, &bytes);
            }
            4 => {
                let mut bytes = note(slot, program);
                let (at, with) = (usize::from(program.small()), program.small());
                let at = at % bytes.len();
                bytes[at] ^= with;
                bytes.truncate(bytes.len() - usize::from(with & 7).min(bytes.len()));
                let guessed = VerificationTag::new(u128::from(with));
                self.send(if with & 0xc0 == 0 { self.tag } else { guessed }, &bytes);
            }
            5 => self.send(self.tag, program.bytes()),
            6 => {
                self.pe.on_notifications(program.bytes());
                self.pe.on_handshake(&[&self.run.channel.to_le_bytes(), program.bytes()].concat());
            }
            _ => self.progress(),
        }
    }

    fn submit(&mut self) {
        let Ok(task) = self.run.allocate(self.run.plugin(1)) else {
            return assert_eq!(self.open.len() + self.answered.len(), SLOTS);
        };
        self.last += 1;
        task.head.user_data.set(Data { u64: self.last });
        task.callback.set(Some(done));
        task.begin();
        task.head.stage.set(TaskStage::InFlight);
        self.run.tasks.submitted(&task);
        let context = TraceContext { trace_id: 1, span_id: 2, flags: 1 };
        self.run.sampled(&task, CommandSpan { context, parent: None, thread: 3, begin: 4 });
        let slot = task.slot.get().expect("it is not cancelled");
        let before = self.open.insert(slot, self.last);
        assert!(before.is_none(), "slot {slot} is taken");
    }

    fn expect(&mut self, tag: VerificationTag, message: &[u8]) {
        if tag != self.tag {
            return;
        }
        for (header, body) in frames(message).map_while(Result::ok) {
            let Some(note) = Notification::read(header, body) else { continue };
            // Without a command in flight in its slot, a notification is ignored.
            let Some(number) = self.open.remove(&note.slot) else { continue };
            let why = String::from_utf8_lossy(note.why).replace(char::is_control, " ");
            let outcome = match note.payload {
                Some(payload) if payload.len() > LONGEST => (DocaStatus::TOO_BIG, None, why),
                payload => (note.status, payload.map(|payload| payload.to_vec()), why),
            };
            self.answered.insert(number, outcome);
        }
    }

    fn send(&mut self, tag: VerificationTag, frames: &[u8]) {
        self.expect(tag, frames);
        let envelope = Envelope { tag, channel: self.run.channel };
        self.pe.on_notifications(&bytes_of::message(envelope, frames));
    }

    fn progress(&mut self) {
        self.pe.progress();
        for (number, outcome) in DONE.take() {
            let expected = self.answered.remove(&number);
            assert_eq!(Some(outcome), expected, "task {number} ends once, with its answer");
        }
    }

    fn end(&mut self) {
        for slot in self.open.keys().copied().collect::<Vec<_>>() {
            let status = DocaStatus::SUCCESS;
            self.send(self.tag, &bytes_of::notification(slot, status, Some(&[]), &[]));
        }
        while !self.answered.is_empty() {
            let before = self.answered.len();
            self.progress();
            assert!(self.answered.len() < before, "a task does not end");
        }
        assert_eq!(self.run.tasks.count(), 0);
    }
}

unsafe extern "C" fn done(task: *mut host::CmdTask, task_data: Data, _: Data) {
    // SAFETY: the engine passes a live task.
    let task = unsafe { host::CmdTask::find(task) }.expect("a task");
    // SAFETY: every bit pattern is a number.
    let number = unsafe { task_data.u64 };
    let response = task.has_response().then(|| {
        // SAFETY: the task belongs to this callback, and nothing else uses its buffer.
        unsafe { task.response.with_data(<[u8]>::to_vec) }
    });
    let why = task.with_failure(str::to_owned);
    let status = task.head.status.get();
    task.run().expect("its run").release(task);
    DONE.with_borrow_mut(|all| all.push((number, (status, response, why))));
}

/// Builds a notification from status, length and fill byte, or one with a failure text or a trace.
fn note(slot: u16, program: &mut Program<'_>) -> Vec<u8> {
    let (status, len) = (program.small(), program.small());
    let status = if status & 0x80 == 0 { u32::from(status) } else { 0x100 << (status & 15) };
    let status = DocaStatus(status);
    if let 0xf8..=0xfc = len {
        let payload = len.checked_sub(0xf9).map(|len| vec![7; len.into()]);
        return bytes_of::notification(slot, status, payload.as_deref(), program.bytes());
    }
    if len == 0xf7 {
        return bytes_of::traced(slot, status, Some(&[7; 8]), program.bytes());
    }
    let len = match len {
        0xff => None,
        0xfe => Some(LONGEST + 1),
        0xfd => Some(LONGEST),
        len => Some(usize::from(len) % 65),
    };
    let payload = len.map(|len| vec![program.small(); len]);
    bytes_of::notification(slot, status, payload.as_deref(), &[])
}
