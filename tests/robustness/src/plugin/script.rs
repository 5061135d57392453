//! The state that a program and its handlers share: behaviour and end of each command.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use urom_pdk::{Context, DocaError, DocaStatus, Error, Held, Result};

/// Behaviour of a command's handler: the low byte of the connection's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Answer,
    Fail,
    /// Answers after its release and wake-up.
    Wait,
    WaitAndFail,
    Hold,
    HoldAndWait,
    /// Wakes itself this many times, then answers.
    Turns(u8),
    Panic,
    WaitAndPanic,
    /// Waits; panics when its future is dropped.
    WaitAndPanicInDrop,
}

impl Behaviour {
    /// Panics are rare because they are slow.
    pub(super) fn of(byte: u8) -> Behaviour {
        match (byte & 15, byte >> 4) {
            (5, _) => Behaviour::Fail,
            (6, _) => Behaviour::Wait,
            (7, _) => Behaviour::WaitAndFail,
            (8, _) => Behaviour::Hold,
            (9, _) => Behaviour::HoldAndWait,
            (10, turns) => Behaviour::Turns(turns),
            (11, 1) => Behaviour::Panic,
            (11, 2) => Behaviour::WaitAndPanic,
            (11, 3) => Behaviour::WaitAndPanicInDrop,
            _ => Behaviour::Answer,
        }
    }
}

pub(super) const FAILED: DocaError = DocaError::NOT_FOUND;

struct Waiting {
    index: u64,
    waker: Waker,
    is_released: Rc<Cell<bool>>,
}

#[derive(Default)]
pub(super) struct Script {
    waiting: RefCell<Vec<Waiting>>,
    /// Wakers of ended commands, which must be harmless.
    old: RefCell<Vec<Waker>>,
    held: RefCell<Vec<(Held, Vec<u8>)>>,
    /// Commands whose handlers ended, in order, with the status for the host.
    ended: RefCell<Vec<(u64, DocaStatus)>>,
    /// Running or waiting handlers, and handler values.
    pub(super) running: Cell<usize>,
    pub(super) handlers: Cell<usize>,
}

thread_local! {
    static SCRIPT: Rc<Script> = Rc::default();
}

pub(super) fn script() -> Rc<Script> {
    SCRIPT.with(Rc::clone)
}

impl Script {
    /// Drops everything, after the last handler.
    pub(super) fn reset(&self) {
        assert_eq!(
            (self.running.get(), self.handlers.get()),
            (0, 0),
            "futures and handlers end with the plugin"
        );
        self.let_go(usize::MAX);
        self.waiting.borrow_mut().clear();
        self.old.borrow_mut().clear();
        self.ended.borrow_mut().clear();
    }

    pub(super) fn take_ended(&self) -> Vec<(u64, DocaStatus)> {
        self.ended.take()
    }

    pub(super) fn wake(&self, choice: usize, release: bool) {
        let waiting = self.waiting.borrow();
        if let Some(chosen) = choice.checked_rem(waiting.len()).and_then(|at| waiting.get(at)) {
            chosen.is_released.set(chosen.is_released.get() || release);
            chosen.waker.wake_by_ref();
        }
        let old = self.old.borrow();
        if let Some(waker) = choice.checked_rem(old.len()).and_then(|at| old.get(at)) {
            waker.wake_by_ref();
        }
    }

    /// Checks all held bytes, and drops `count` of them.
    pub(super) fn let_go(&self, count: usize) {
        let mut held = self.held.borrow_mut();
        assert!(
            held.iter().all(|(held, copy)| **held == **copy),
            "bytes that are held do not change"
        );
        let count = count.min(held.len());
        held.drain(..count);
    }

    fn end(&self, index: u64, status: DocaStatus) {
        self.ended.borrow_mut().push((index, status));
    }

    async fn wait(&self, index: u64) {
        let is_released = Rc::new(Cell::new(false));
        let mut waits = false;
        poll_fn(|cx| {
            if is_released.get() {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut waits, true) {
                let (waker, is_released) = (cx.waker().clone(), Rc::clone(&is_released));
                self.waiting.borrow_mut().push(Waiting { index, waker, is_released });
            }
            Poll::Pending
        })
        .await;
    }

    fn forget_waiting(&self, index: u64) {
        let mut waiting = self.waiting.borrow_mut();
        let Some(at) = waiting.iter().position(|waiting| waiting.index == index) else { return };
        let mut old = self.old.borrow_mut();
        old.truncate(7);
        old.push(waiting.swap_remove(at).waker);
    }
}

struct Running<'a>(&'a Script, u64, &'a [u8]);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The command's bytes are readable until its future is dropped.
        std::hint::black_box(self.2.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        self.0.forget_waiting(self.1);
        self.0.running.set(self.0.running.get() - 1);
    }
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("as the input asks");
    }
}

pub(super) async fn behave(cx: &Context, payload: &[u8]) -> Result<()> {
    let script = script();
    let script = &*script;
    let connection = u64::from(cx.connection());
    let (index, behaviour) = (connection >> 8, Behaviour::of(connection as u8));
    script.running.set(script.running.get() + 1);
    let _running = Running(script, index, payload);
    let _bomb = (behaviour == Behaviour::WaitAndPanicInDrop).then(|| PanicsInDrop);
    if matches!(behaviour, Behaviour::Hold | Behaviour::HoldAndWait) {
        script.held.borrow_mut().push((cx.hold(payload)?, payload.to_vec()));
    }
    match behaviour {
        Behaviour::Answer | Behaviour::Hold | Behaviour::Fail | Behaviour::Panic => {}
        Behaviour::Turns(turns) => self_wakes(turns).await,
        _ => script.wait(index).await,
    }
    match behaviour {
        Behaviour::Fail | Behaviour::WaitAndFail => {
            script.end(index, FAILED.into());
            Err(Error::new(FAILED, "as the input asks"))
        }
        Behaviour::Panic | Behaviour::WaitAndPanic | Behaviour::WaitAndPanicInDrop => {
            script.end(index, DocaStatus::UNEXPECTED);
            if behaviour == Behaviour::WaitAndPanicInDrop {
                return Ok(());
            }
            panic!("as the input asks");
        }
        _ => {
            script.end(index, DocaStatus::SUCCESS);
            Ok(())
        }
    }
}

async fn self_wakes(mut left: u8) {
    poll_fn(|cx| match left.checked_sub(1) {
        None => Poll::Ready(()),
        Some(fewer) => {
            left = fewer;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}
