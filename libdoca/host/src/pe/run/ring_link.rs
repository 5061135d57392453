//! The ring of a connection, and the queue for frames when it is full.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use urom_wire::frame::{DEADLINE_LEN, Header};
use urom_wire::ring::{Ring, RingReader, RingWriter, cells_of};

use crate::pe::run::task::{CmdTask, CmdTaskRef};

pub(crate) struct RingLink {
    pub(super) reader: RefCell<RingReader>,
    writer: RefCell<RingWriter>,
    waiting: RefCell<VecDeque<QueuedFrame>>,
    busy: Cell<bool>,
}

struct QueuedFrame {
    header: Header,
    /// Number of written cells.
    written: usize,
    body: FrameBody,
}

enum FrameBody {
    InTask(CmdTaskRef),
    Owned(Vec<u8>),
}

impl RingLink {
    pub(crate) fn new((reader, writer): Ring, tasks: usize) -> RingLink {
        RingLink {
            reader: RefCell::new(reader),
            writer: RefCell::new(writer),
            waiting: RefCell::new(VecDeque::with_capacity(tasks)),
            busy: Cell::new(false),
        }
    }

    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// Writes a task's frame, or queues the task while the ring is full.
    #[inline]
    pub(crate) fn submit(&self, task: CmdTaskRef, header: Header) {
        let mut written = 0;
        if !self.is_busy() {
            written = self.write_task(&task, header, 0);
            if written == cells_of(header.len()) {
                return;
            }
        }
        task.sending.set(true);
        self.wait(QueuedFrame { header, written, body: FrameBody::InTask(task) });
    }

    #[cold]
    fn wait(&self, frame: QueuedFrame) {
        self.busy.set(true);
        self.waiting.borrow_mut().push_back(frame);
    }

    #[inline]
    fn write_task(&self, task: &CmdTask, header: Header, from: usize) -> usize {
        if task.left.get() != 0 {
            return self.write_limited(task, header, from);
        }
        // SAFETY: the task is in flight while its frame is being written (an early answer ends the
        // connection), and the host does not write to the payload of such a task.
        unsafe { task.payload.with_data(|payload| self.write(header, payload, from)) }
    }

    #[inline(never)]
    fn write_limited(&self, task: &CmdTask, header: Header, from: usize) -> usize {
        let (payload, left) = (&task.payload, task.left.get());
        if !payload.is_at_head() {
            return self.write(header, &body_of(task), from);
        }
        payload.write_headroom(&left.to_le_bytes(), 0);
        // SAFETY: as in `write_task`, and only the library writes to the headroom.
        unsafe { payload.with_whole(DEADLINE_LEN, |body| self.write(header, body, from)) }
    }

    #[inline(always)]
    fn write(&self, header: Header, body: &[u8], from: usize) -> usize {
        self.writer.borrow_mut().write(header, body, from)
    }

    /// Writes a cancel frame after all queued frames. The host may reuse the task afterwards.
    pub(crate) fn cancel(&self, task: CmdTaskRef, cancel: Header) {
        if task.sending.replace(false) {
            let mut waiting = self.waiting.borrow_mut();
            let is_its = |body: &FrameBody| matches!(body, FrameBody::InTask(of) if *of == task);
            if let Some(frame) = waiting.iter_mut().find(|frame| is_its(&frame.body)) {
                frame.body = FrameBody::Owned(body_of(&task));
            }
        }
        self.send(cancel, Vec::new());
    }

    /// Writes a frame after all queued frames, or queues it.
    pub(crate) fn send(&self, header: Header, body: Vec<u8>) {
        let written = if self.is_busy() { 0 } else { self.write(header, &body, 0) };
        if written < cells_of(header.len()) {
            self.wait(QueuedFrame { header, written, body: FrameBody::Owned(body) });
        }
    }

    pub(crate) fn tend(&self) {
        let mut waiting = self.waiting.borrow_mut();
        while let Some(QueuedFrame { header, written, body }) = waiting.front_mut() {
            *written = match body {
                FrameBody::InTask(task) => self.write_task(task, *header, *written),
                FrameBody::Owned(body) => self.write(*header, body, *written),
            };
            if *written < cells_of(header.len()) {
                return;
            }
            if let FrameBody::InTask(task) = body {
                task.sending.set(false);
            }
            waiting.pop_front();
        }
        self.busy.set(false);
    }

    /// Wakes the worker if it went to sleep before it saw the last frames.
    pub(crate) fn announce(&self) {
        self.writer.borrow_mut().announce();
    }

    /// Prepares for a sleep that the worker ends. `false` after new frames or free cells.
    pub(crate) fn sleep(&self) -> bool {
        let mut writer = self.writer.borrow_mut();
        writer.announce();
        (!self.is_busy() || writer.wait_for_capacity()) && self.reader.borrow_mut().sleep()
    }

    pub(crate) fn wake(&self) {
        self.reader.borrow_mut().wake();
    }

    pub(crate) fn close(&self) {
        for frame in self.waiting.take() {
            if let FrameBody::InTask(task) = frame.body {
                task.sending.set(false);
            }
        }
        self.busy.set(false);
        self.announce();
    }
}

fn body_of(task: &CmdTask) -> Vec<u8> {
    let mut body = Vec::with_capacity(DEADLINE_LEN + task.payload.len());
    if task.left.get() != 0 {
        body.extend_from_slice(&task.left.get().to_le_bytes());
    }
    // SAFETY: the task is in flight while its frame is not written, and the host does not write to
    // the payload of such a task.
    unsafe { task.payload.with_data(|payload| body.extend_from_slice(payload)) };
    body
}
