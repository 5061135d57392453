//! What UCX moves between the memories of the two hosts right now.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ucx::{Outside, OutsideMut, Request, Status};
use urom_pdk::memory::HostMemory;

/// Which operation bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// One of this end.
    Outgoing(u64),
    /// One of the other end.
    Incoming(u64),
    /// One of this end, whose bytes the other end takes and answers for.
    Sent,
}

#[derive(Debug)]
pub(crate) enum Transfer {
    Send(Request<Outside<HostMemory>>),
    Receive(Request<OutsideMut<HostMemory>, usize>),
}

/// A transfer, the operation that it belongs to, and its length in bytes.
type TransferEntry = (Of, u64, Transfer);

/// For how many turns a worker is kept awake by transfers none of which begins or ends: longer than
/// UCX takes for a piece of a long one.
const PATIENCE: u32 = 20_000;

/// What all connections of a worker move.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    transfers: Cell<usize>,
    /// Since one began or ended.
    turns: Cell<u32>,
}

impl Activity {
    /// Whether the worker should go on without a sleep: UCX moves the pieces of a long message in
    /// its turns, and says of few of them that it did.
    pub(crate) fn keeps_awake(&self, moved: bool) -> bool {
        if moved {
            self.turns.set(0);
            return true;
        }
        self.turns.set(self.turns.get().saturating_add(1));
        self.transfers.get() > 0 && self.turns.get() < PATIENCE
    }

    fn count(&self, transfers: usize) {
        self.transfers.set(transfers);
        self.turns.set(0);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Transfers {
    list: Vec<TransferEntry>,
    activity: Rc<Activity>,
    /// Of the task that polls these.
    waker: Option<Waker>,
}

impl Drop for Transfers {
    fn drop(&mut self) {
        self.activity.count(self.activity.transfers.get() - self.list.len());
    }
}

impl Transfers {
    pub(crate) fn new(activity: &Rc<Activity>) -> Transfers {
        Transfers { list: Vec::new(), activity: Rc::clone(activity), waker: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn add(&mut self, of: Of, len: u64, transfer: Transfer) {
        self.list.push((of, len, transfer));
        self.activity.count(self.activity.transfers.get() + 1);
        self.waker.iter().for_each(Waker::wake_by_ref);
    }

    /// The next that has ended.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Option<(Of, u64, Result<(), Status>)> {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
        for index in 0..self.list.len() {
            let (of, len, transfer) = &mut self.list[index];
            let ended = match transfer {
                Transfer::Send(sent) => Pin::new(sent).poll(cx).map(|(sent, _)| sent),
                Transfer::Receive(came) => Pin::new(came).poll(cx).map(|(came, _)| came.map(drop)),
            };
            if let Poll::Ready(ended) = ended {
                let ended = (*of, *len, ended);
                self.list.swap_remove(index);
                self.activity.count(self.activity.transfers.get() - 1);
                return Some(ended);
            }
        }
        None
    }
}
