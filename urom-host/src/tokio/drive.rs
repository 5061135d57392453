//! Runs a future in tokio while progressing the engines of its thread. While something moves, and
//! for a moment after, the future wakes itself, so that other tasks run in between. Then it
//! requests a notification from each engine, and tokio watches the descriptors.

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

const TURNS: u32 = 16;

/// Runs a future and progresses this thread's engines: [`block_on`](crate::block_on) for tokio.
///
/// It polls the engines between the runtime's other tasks, until nothing moves for about 50 µs.
/// Then the task sleeps until an engine's descriptor or the future's waker wakes it. The future may
/// use all of tokio.
///
/// The returned future is not [`Send`]: await it in `#[tokio::main]`, in `Runtime::block_on`, or in
/// a [`LocalSet`](tokio::task::LocalSet). Several may run on one thread. If futures must be `Send`,
/// use [`HostThread`](super::HostThread).
///
/// # Errors
/// The future's own; `OPERATING_SYSTEM` when tokio cannot watch an engine's descriptor.
///
/// # Panics
/// Outside a tokio runtime with the I/O driver; inside a completion callback; with the panic of a
/// callback that ran meanwhile.
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
    Yield,
    Sleep,
}

struct Driver {
    watched: Vec<Watched>,
    armed: bool,
    /// It cleared other drivers' notifications without requesting new ones.
    cleared: bool,
    turns: u32,
    moved: Instant,
}

struct Watched {
    engine: Weak<EngineCore>,
    /// Owns a duplicate descriptor, so that the engine may be destroyed first.
    handle: AsyncFd<OwnedFd>,
}

thread_local! {
    /// A driver that has cleared the notifications wakes these unless it requests new ones in the
    /// same turn: it may never get another.
    static SLEEPERS: RefCell<Vec<(Maker, Waker)>> = const { RefCell::new(Vec::new()) };
}

/// Wakes the sleeping drivers. Wakers run foreign code, which may call this function.
fn wake_sleepers() {
    for (maker, waker) in SLEEPERS.take() {
        match maker.is_here() {
            true => waker.wake(),
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

    /// Ends a turn, possibly the last: the future may never be polled again.
    fn give_way(&mut self) {
        if std::mem::take(&mut self.cleared) {
            wake_sleepers();
        }
    }

    fn sleep(&mut self, cx: &Context<'_>) {
        self.cleared = false;
        let waker = cx.waker();
        if !SLEEPERS
            .with_borrow(|sleepers| sleepers.iter().any(|(_, known)| known.will_wake(waker)))
        {
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
            // tokio may still report a cleared notification: check once, and clear it.
            if let Poll::Ready(guard) = watched.handle.poll_read_ready(cx) {
                guard?.clear_ready();
                self.disarm();
                return Ok(Rest::Look);
            }
        }
        Ok(Rest::Sleep)
    }

    /// Requests notifications, and has tokio watch new engines. Returns `false` if an engine must
    /// be polled: it refuses, or has a deadline without a wake-up.
    fn arm(&mut self) -> io::Result<bool> {
        self.armed = true;
        let mut all = true;
        self.watched.retain(|watched| watched.engine.strong_count() > 0);
        for core in engine::all::each() {
            let engine = ProgressEngine::of(Rc::clone(&core));
            if !self.watched.iter().any(|watched| watched.engine.ptr_eq(&Rc::downgrade(&core))) {
                let own = engine.as_fd().try_clone_to_owned()?;
                // SAFETY: the `AsyncFd` owns the descriptor, which stays open until it is dropped.
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
        // At the end of the thread the list of sleepers may already be destroyed.
        if SLEEPERS.try_with(|_| ()).is_ok() {
            self.disarm();
            wake_sleepers();
        }
        super::end_driving();
    }
}
