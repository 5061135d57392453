//! Answers of the worker and the tasks they complete.

use urom_abi::DocaStatus;
use urom_wire::frame::{Header, Notification, short_status};
use urom_wire::ring::Garbage;

use crate::pe::run::WorkerRun;
use crate::pe::run::link::{FrameLink, LinkBroken};
use crate::pe::run::task::CmdTaskRef;
use crate::pe::{Lost, Pe};

/// An unusual ring frame: its task and the problem; `None` for the late answer of a cancelled
/// command. One pointer, so that plain answers return in registers.
pub(crate) struct UnusualFrame(Option<Box<(Option<CmdTaskRef>, FrameProblem)>>);

enum FrameProblem {
    None,
    /// The notification was dropped or truncated.
    Lost(Lost),
    /// Other bytes in the ring.
    Garbage(Garbage),
}

impl UnusualFrame {
    #[cold]
    fn broken(garbage: Garbage) -> UnusualFrame {
        UnusualFrame(Some(Box::new((None, FrameProblem::Garbage(garbage)))))
    }
}

impl WorkerRun {
    /// # Errors
    /// The command was cancelled, or the slot is not in flight.
    #[inline]
    fn answered(
        &self,
        notification: &Notification<'_>,
    ) -> Result<(CmdTaskRef, Option<Lost>), Lost> {
        let limit = self.longest.get();
        let &Notification { slot, status, payload, .. } = notification;
        let answer = match payload {
            Some(payload) if payload.len() > limit => (DocaStatus::TOO_BIG, None),
            payload => (status, payload),
        };
        let Some(task) = self.tasks.answer(slot, answer.0, answer.1) else {
            return Err(match self.tasks.answer_late(notification.slot) {
                true => Lost::Late,
                false => Lost::NoCommand(notification.slot, self.id()),
            });
        };
        if !notification.why.is_empty() {
            task.explain(notification.why);
        }
        if notification.trace.is_some() {
            self.write_span(slot, answer.0, notification.trace);
        }
        let too_long = notification.payload.filter(|payload| payload.len() > limit);
        Ok((task, too_long.map(|payload| Lost::TooLong(payload.len(), limit))))
    }

    /// # Errors
    /// The slot is not in flight, or the notification is too long and its task fails.
    pub(crate) fn on_notification(
        &self,
        pe: &Pe,
        notification: &Notification<'_>,
    ) -> Result<(), Lost> {
        let (task, lost) = self.answered(notification)?;
        if task.sending.get() || !self.parked.is_empty() {
            self.parked.push(task);
        } else {
            pe.push_command(task);
        }
        lost.map_or(Ok(()), Err)
    }

    /// Returns the next answer's task, if any, or an unusual frame. The caller
    /// [handles](WorkerRun::handle) it without borrows of the engine, because the log's reader may
    /// call back.
    #[inline]
    pub(crate) fn take_answer(&self) -> Result<Option<CmdTaskRef>, UnusualFrame> {
        let Some(FrameLink::Ring(ring)) = self.link.get() else { return Ok(None) };
        let mut reader = ring.reader.borrow_mut();
        let (header, body) = match reader.receive() {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(None),
            Err(garbage) => return Err(UnusualFrame::broken(garbage)),
        };
        if ring.is_busy() && self.tasks.is_sending(header.slot()) {
            return Err(UnusualFrame::broken(Garbage::Early));
        }
        let plain = short_status(header).filter(|_| body.len() <= self.longest.get());
        let task = plain.and_then(|status| self.tasks.answer(header.slot(), status, Some(body)));
        task.map(Some).ok_or_else(|| self.take_unusual(header, body))
    }

    #[cold]
    fn take_unusual(&self, header: Header, body: &[u8]) -> UnusualFrame {
        let Some(notification) = Notification::read(header, body) else {
            return UnusualFrame::broken(Garbage::Torn);
        };
        let (task, lost) = match self.answered(&notification) {
            Ok((task, lost)) => (Some(task), lost),
            Err(Lost::Late) => return UnusualFrame(None),
            Err(lost) => (None, Some(lost)),
        };
        UnusualFrame(Some(Box::new((task, lost.map_or(FrameProblem::None, FrameProblem::Lost)))))
    }

    #[cold]
    pub(crate) fn handle(&self, UnusualFrame(unusual): UnusualFrame) -> Option<CmdTaskRef> {
        let (task, trouble) = *unusual?;
        match trouble {
            FrameProblem::None => {}
            FrameProblem::Lost(lost) => lost.report(&self.pe),
            FrameProblem::Garbage(garbage) => {
                self.pe.remove_ring(self);
                self.on_broken(LinkBroken::Ring(garbage));
            }
        }
        task
    }
}
