//! Sockets that a worker watches in addition to UCX. A mesh uses them to detect that a peer left.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

/// A worker reads the clock after this many rounds with work.
const ROUNDS: u32 = 1024;

/// A round without work counts as this many rounds.
const IDLE: u32 = 64;

/// Minimum interval of polls: a system call takes as long as ten rounds over shared memory.
const INTERVAL: Duration = Duration::from_millis(1);

const AT_ONCE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WatchId(u64);

type News<W> = Rc<dyn Fn(&W, &OwnedFd, WatchId) -> bool>;

type WatchedSocket<W> = (Rc<OwnedFd>, News<W>);

pub(crate) struct SocketWatch<W> {
    /// Whether any socket is watched: all that a round checks without sockets.
    any: Cell<bool>,
    rounds: Cell<u32>,
    last: Cell<Option<Instant>>,
    next: Cell<u64>,
    epoll: RefCell<Option<Rc<OwnedFd>>>,
    sockets: RefCell<HashMap<WatchId, WatchedSocket<W>>>,
}

impl<W> Default for SocketWatch<W> {
    fn default() -> Self {
        SocketWatch {
            any: Cell::default(),
            rounds: Cell::default(),
            last: Cell::default(),
            next: Cell::default(),
            epoll: RefCell::default(),
            sockets: RefCell::default(),
        }
    }
}

impl<W> SocketWatch<W> {
    /// Calls `news`, which returns whether it did anything, when `socket` is readable, outside of
    /// UCX. It must not hold a strong handle of the worker.
    pub(crate) fn add(
        &self,
        socket: Rc<OwnedFd>,
        news: impl Fn(&W, &OwnedFd, WatchId) -> bool + 'static,
    ) -> io::Result<WatchId> {
        let mut epoll = self.epoll.borrow_mut();
        let epoll = match &mut *epoll {
            Some(epoll) => epoll,
            none => none.insert(Rc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?)),
        };
        let id = WatchId(self.next.get());
        epoll::add(&**epoll, &*socket, epoll::EventData::new_u64(id.0), epoll::EventFlags::IN)?;
        self.next.set(id.0 + 1);
        self.sockets.borrow_mut().insert(id, (socket, Rc::new(news)));
        self.any.set(true);
        Ok(id)
    }

    pub(crate) fn remove(&self, id: WatchId) {
        let removed = self.sockets.borrow_mut().remove(&id);
        let Some((socket, _)) = removed else { return };
        if let Some(epoll) = &*self.epoll.borrow() {
            // Removed explicitly: another process's copy would keep it. It is in the set: no error.
            let _ = epoll::delete(&**epoll, &*socket);
        }
        self.any.set(!self.sockets.borrow().is_empty());
    }

    /// Runs after a round of progress with or without work. Returns whether it did anything itself.
    #[inline]
    pub(crate) fn after_round(&self, worker: &W, worked: bool) -> bool {
        if !self.any.get() {
            return false;
        }
        let rounds = self.rounds.get() + if worked { 1 } else { IDLE };
        self.rounds.set(rounds % ROUNDS);
        rounds >= ROUNDS && self.look_again(worker)
    }

    #[cold]
    fn look_again(&self, worker: &W) -> bool {
        let now = Instant::now();
        if self.last.get().is_some_and(|last| now.duration_since(last) < INTERVAL) {
            return false;
        }
        self.last.set(Some(now));
        self.look(worker)
    }

    pub(crate) fn look(&self, worker: &W) -> bool {
        let Some(epoll) = self.epoll.borrow().clone().filter(|_| self.any.get()) else {
            return false;
        };
        let mut events = [const { MaybeUninit::uninit() }; AT_ONCE];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An interrupt loses nothing: the sockets stay readable.
        let Ok((events, _)) = epoll::wait(&*epoll, &mut events[..], Some(&at_once)) else {
            return false;
        };
        let mut done = false;
        for event in events {
            let id = WatchId(event.data.u64());
            let there = self.sockets.borrow().get(&id).cloned();
            if let Some((socket, news)) = there {
                done |= news(worker, &socket, id);
            }
        }
        done
    }
}
