//! A future in tokio, with the engines of its thread progressed meanwhile.
//!
//! While something moves, and for a moment after, the future wakes itself, so that other tasks of
//! the runtime run in between. Then each engine is asked for a notification, and tokio watches its
//! descriptor.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use urom_abi::DocaError;
use urom_os::fork::Maker;

use crate::callback;
use crate::engine::{self, EngineCore, ProgressEngine};
use crate::error::{Error, Result};
use crate::wait::{SPIN, allowed};

/// How often engines are progressed before other tasks of the runtime get their turn.
const TURNS: u32 = 16;

/// Runs a future to its end, progressing every engine of this thread while it waits:
/// [`block_on`](crate::block_on) for tokio.
///
/// The engines are polled until nothing has moved for about 50 microseconds, in turns with the
/// runtime's other tasks. Then the task sleeps until an engine's descriptor, or anything else that
/// the future waits for, wakes it. The future may use all of tokio.
/// [`Service::connect`](crate::Service::connect) blocks its thread also in here.
///
/// The returned future is not [`Send`]: await it in `#[tokio::main]` or `Runtime::block_on`, or in
/// a [`LocalSet`](tokio::task::LocalSet). Several may run on one thread. Where futures must be
/// `Send`, use [`HostThread`](super::HostThread).
///
/// # Errors
/// The future's own; `OPERATING_SYSTEM` when tokio cannot watch an engine's descriptor.
///
/// # Panics
/// Outside of a runtime of tokio's with its I/O driver on; inside a completion callback; with the
/// panic of a callback that ran meanwhile.
pub async fn drive<T, E: From<Error>>(future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    allowed()?;
    let mut driver = Driver::new();
    let mut future = pin!(future);
    poll_fn(|cx| {
        driver.awake();
        loop {
            let moved = driver.progress();
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(output);
            }
            match driver.rest(moved, cx) {
                Ok(Rest::Look) => {}
                Ok(Rest::Yield) => {
                    driver.give_way();
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Ok(Rest::Sleep) => {
                    driver.sleep(cx);
                    return Poll::Pending;
                }
                Err(error) => {
                    let what = "watching a progress engine in tokio";
                    return Poll::Ready(Err(Error::new(DocaError::OPERATING_SYSTEM, what)
                        .caused_by(error)
                        .into()));
                }
            }
        }
    })
    .await
}

enum Rest {
    Look,
    /// Look again after the runtime's other tasks.
    Yield,
    /// Look again when woken.
    Sleep,
}

struct Driver {
    watched: Vec<Watched>,
    armed: bool,
    /// It has cleared notifications that others may have requested, and not requested them again.
    cleared: bool,
    turns: u32,
    moved: Instant,
}

struct Watched {
    engine: Weak<EngineCore>,
    /// A descriptor of its own, so that the engine may be destroyed first.
    handle: AsyncFd<OwnedFd>,
}

thread_local! {
    /// The drivers of this thread that sleep, until a notification or what their futures wait for
    /// wakes them, and some that have slept. A driver that has cleared the notifications wakes
    /// them, unless it requests them again in the same turn: it may never get another turn.
    static SLEEPERS: RefCell<Vec<(Maker, Waker)>> = const { RefCell::new(Vec::new()) };
}

/// Wakes the drivers that sleep. Wakers run code of others, which may call this again.
fn wake_sleepers() {
    for (maker, waker) in SLEEPERS.take() {
        match maker.is_here() {
            true => waker.wake(),
            // It would wake the parent's runtime.
            false => std::mem::forget(waker),
        }
    }
}

impl Driver {
    fn new() -> Driver {
        super::begin_driving();
        let (watched, moved) = (Vec::new(), Instant::now());
        Driver { watched, armed: false, cleared: false, turns: 0, moved }
    }

    fn awake(&mut self) {
        self.turns = 0;
        self.disarm();
    }

    /// Ends a turn that may be the last one: the future may never be polled again.
    fn give_way(&mut self) {
        if std::mem::take(&mut self.cleared) {
            wake_sleepers();
        }
    }

    /// Ends a turn: only a notification wakes it.
    fn sleep(&mut self, cx: &Context<'_>) {
        self.cleared = false;
        let waker = cx.waker();
        if !SLEEPERS
            .with_borrow(|sleepers| sleepers.iter().any(|(_, known)| known.will_wake(waker)))
        {
            // Cloning a waker runs code of others.
            let waker = waker.clone();
            SLEEPERS.with_borrow_mut(|sleepers| sleepers.push((Maker::here(), waker)));
        }
    }

    fn progress(&mut self) -> bool {
        self.turns += 1;
        let mut moved = engine::all::pump();
        let now = Instant::now();
        moved |= engine::all::expire(now);
        callback::resume();
        if moved {
            self.moved = now;
        }
        moved
    }

    fn rest(&mut self, moved: bool, cx: &mut Context<'_>) -> io::Result<Rest> {
        if moved && self.turns < TURNS {
            return Ok(Rest::Look);
        }
        if moved || self.moved.elapsed() < SPIN {
            return Ok(Rest::Yield);
        }
        if !self.arm()? {
            return Ok(Rest::Yield);
        }
        for watched in &self.watched {
            // tokio may still report a notification that was cleared: it is looked at once, and
            // cleared.
            if let Poll::Ready(guard) = watched.handle.poll_read_ready(cx) {
                guard?.clear_ready();
                self.disarm();
                return Ok(Rest::Look);
            }
        }
        Ok(Rest::Sleep)
    }

    /// Requests a notification of all engines of the thread, and has tokio watch new ones. `false`
    /// when one of them refuses, or has a deadline that wakes nobody, and has to be polled instead.
    fn arm(&mut self) -> io::Result<bool> {
        self.armed = true;
        let mut all = true;
        self.watched.retain(|watched| watched.engine.strong_count() > 0);
        for core in engine::all::each() {
            let engine = ProgressEngine::of(Rc::clone(&core));
            if !self.watched.iter().any(|watched| watched.engine.ptr_eq(&Rc::downgrade(&core))) {
                let own = engine.as_fd().try_clone_to_owned()?;
                // SAFETY: the `AsyncFd` owns the descriptor, which stays open and the same until it
                // is dropped.
                let handle = unsafe { AsyncFd::register_with_interest(own, Interest::READABLE) }?;
                self.watched.push(Watched { engine: Rc::downgrade(&core), handle });
            }
            all &= !core.has_blind_deadline() && engine.request_notification().is_ok();
        }
        Ok(all)
    }

    fn disarm(&mut self) {
        if !std::mem::take(&mut self.armed) {
            return;
        }
        for engine in self.watched.iter().filter_map(|watched| watched.engine.upgrade()) {
            // An engine that cannot be cleared stays readable, so the next sleep is short.
            let _ = ProgressEngine::of(engine).clear_notification();
        }
        self.cleared = true;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // When the thread ends, the list may be gone, and those that sleep with it.
        if SLEEPERS.try_with(|_| ()).is_ok() {
            self.disarm();
            wake_sleepers();
        }
        super::end_driving();
    }
}
