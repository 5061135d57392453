//! What UCX moves between the memories of the two hosts right now.

use std::future::Future;
use std::pin::Pin;
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
}

#[derive(Debug)]
pub(crate) enum Transfer {
    Send(Request<Outside<HostMemory>>),
    Receive(Request<OutsideMut<HostMemory>, usize>),
}

/// A transfer, the operation that it belongs to, and its length in bytes.
type Entry = (Of, u64, Transfer);

#[derive(Debug, Default)]
pub(crate) struct Transfers {
    list: Vec<Entry>,
    /// Of the task that polls these.
    waker: Option<Waker>,
}

impl Transfers {
    pub(crate) fn add(&mut self, of: Of, len: u64, transfer: Transfer) {
        self.list.push((of, len, transfer));
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
                return Some(ended);
            }
        }
        None
    }
}
