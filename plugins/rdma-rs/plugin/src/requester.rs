//! The operations of an instance at the other end, reported in submission order.

use std::cell::{Cell, RefCell};
use std::mem::take;
use std::rc::Rc;

use ucx::{AmData, AmFlags};
use urom_pdk::{Window, prelude::*};

use crate::LIMITS;
use crate::error::{of_others, violation};
use crate::link::{PeerLink, TransferSide};
use crate::message::{Ask, Kind, PeerRequest};
use crate::pieces::Pieces;

/// Limit of sent bytes that the other end may have to keep: half of its limit.
const MOST_EARLY: u64 = 16 << 20;

/// The other end's memory for a part in addition to its bytes.
const PART: u64 = 128;

pub(crate) struct Requester {
    link: Rc<PeerLink>,
    operations: Window<u64, PendingOperation>,
    next: Cell<u64>,
    /// Operations that wait for the other end to connect; `None` after that.
    unsent: RefCell<Option<Vec<(PeerRequest, Pieces)>>>,
    early: Cell<u64>,
}

struct PendingOperation {
    kind: Kind,
    destination: Pieces,
    /// Number of these bytes still missing; for an operation without bytes, 1 until the answer.
    left: u64,
    early: u64,
    outcome: Result<u64>,
}

impl Requester {
    pub(crate) fn new(link: &Rc<PeerLink>) -> Rc<Requester> {
        Rc::new(Requester {
            link: Rc::clone(link),
            operations: Window::ordered(LIMITS.operations as usize),
            next: Cell::new(0),
            unsent: RefCell::new(Some(Vec::new())),
            early: Cell::new(0),
        })
    }

    /// Runs an operation at the other end, in the order of first polls, even if cancelled.
    pub(crate) async fn ask(
        self: &Rc<Self>,
        cx: &Context,
        kind: Kind,
        request: PeerRequest,
        local: Pieces,
    ) -> Result<u64> {
        let number = self.next.get();
        let destination = if kind.sends() { Pieces::default() } else { local.clone() };
        let left = destination.len().max(1);
        let operation = PendingOperation { kind, destination, left, early: 0, outcome: Ok(0) };
        self.operations.begin(number, operation)?;
        self.next.set(number + 1);
        let (route, kind, total) = (self.link.route, kind as u32, local.len());
        let request = PeerRequest { route, number, kind, total, ..request };
        if let Some(unsent) = self.unsent.borrow_mut().as_mut() {
            unsent.push((request, local));
        } else {
            self.send(request, &local);
        }
        cx.unless_cancelled(self.operations.take(number)).await?.outcome
    }

    pub(crate) fn start(self: &Rc<Self>) {
        let unsent = self.unsent.take().unwrap_or_default();
        unsent.into_iter().for_each(|(request, local)| self.send(request, &local));
    }

    fn send(self: &Rc<Self>, request: PeerRequest, local: &Pieces) {
        let number = request.number;
        if request.total > 0 && Kind::of(request.kind).is_some_and(Kind::sends) {
            let this = Rc::clone(self);
            let message = move |at| Ask { request: PeerRequest { at, ..request } };
            let flags = move |len| this.flags(number, len);
            self.link.send(self, number, local, message, flags);
        } else if let Err(error) = self.link.tell(&Ask { request }, Vec::new()) {
            self.fail(number, error);
        }
    }

    /// Returns the flags for a part. Bytes beyond the other end's limit are announced.
    fn flags(&self, number: u64, len: u64) -> AmFlags {
        let (flags, early) = (self.link.peer.flags(len), self.early.get() + len + PART);
        if flags == AmFlags::NONE && early > MOST_EARLY {
            // The flags of the longest data, which UCX announces.
            return self.link.peer.flags(u64::MAX);
        }
        if flags == AmFlags::NONE {
            self.operations.edit(number, |operation| {
                operation.early += len + PART;
                self.early.set(early);
            });
        }
        flags
    }

    pub(crate) fn on_bytes(self: &Rc<Self>, number: u64, at: u64, data: AmData<'_>) -> Result<()> {
        let len = data.len() as u64;
        let target = self.operations.edit(number, |operation| {
            let fits = at.checked_add(len).is_some_and(|end| end <= operation.destination.len());
            (fits && len <= operation.left).then(|| operation.destination.clone())
        });
        let target = target.flatten().ok_or_else(|| violation("bytes that no read asked for"))?;
        self.link.after(self, number, self.link.write(&target, at, data));
        Ok(())
    }

    pub(crate) fn on_answer(self: &Rc<Self>, number: u64, result: u64) -> Result<()> {
        let kind = self.operations.edit(number, |operation| {
            operation.outcome = Ok(result);
            operation.kind
        });
        if kind.is_some_and(Kind::is_atomic) {
            return self.on_bytes(number, 0, AmData::Eager(&result.to_le_bytes()));
        }
        self.arrived(number, Ok(1));
        Ok(())
    }

    fn finish(&self, number: u64) {
        let early = self.operations.edit(number, |operation| take(&mut operation.early));
        self.early.set(self.early.get() - early.unwrap_or(0));
        self.operations.finish(number);
    }

    pub(crate) fn fail(&self, number: u64, error: Error) {
        let outcome = Err(error.clone());
        if self.operations.edit(number, |operation| operation.outcome = outcome).is_some() {
            self.finish(number);
            self.link.fail(&error);
        }
    }

    pub(crate) fn end(&self, error: &Error) {
        let others = of_others(error);
        self.unsent.take();
        self.operations.finish_all(|operation| {
            operation.destination = Pieces::default();
            if operation.outcome.is_ok() {
                operation.outcome = Err(others.clone());
            }
        });
    }
}

impl TransferSide for Rc<Requester> {
    const COUNTS_SENT: bool = false;

    fn arrived(&self, number: u64, moved: Result<u64>) {
        let left = moved.map(|len| {
            self.operations.edit(number, |operation| {
                operation.left = operation.left.saturating_sub(len);
                operation.left
            })
        });
        match left {
            Ok(Some(0)) => self.finish(number),
            Ok(_) => {}
            Err(error) => self.fail(number, error),
        }
    }
}
