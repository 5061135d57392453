//! The tasks of a run: allocation, submission, notification and release of commands.

use urom_abi::{DocaError, WorkerId};
use urom_wire::frame::{COMMAND_HEADER, CommandStart, NOTIFICATION_HEADER, Notification};

use super::Run;
use crate::pe::ctx::Context;
use crate::pe::run::task::pool;
use crate::pe::run::task::{CmdTask, Stage};
use crate::pe::{Lost, Pe};

/// A plugin of a run's worker: which bit its id is.
#[derive(Clone, Copy)]
pub(crate) struct PluginBit(u8);

impl Run {
    #[inline]
    pub(crate) fn context(&self) -> &Context {
        &self.ctx
    }

    #[inline]
    pub(crate) fn allocate(
        &self,
        plugin: Option<PluginBit>,
    ) -> Result<&'static CmdTask, DocaError> {
        let task = self.flight.allocate(|slot| self.make_task(slot));
        let Some(task) = task else { return Err(self.flight.full(WorkerId(self.id()))) };
        task.hold(plugin.map(|plugin| self.command_start(task.slot(), plugin)));
        Ok(task)
    }

    #[cold]
    fn make_task(&self, slot: u16) -> Option<&'static CmdTask> {
        let task = pool::take(slot, self.attached.get()?.max_message - COMMAND_HEADER)?;
        // SAFETY: the flight has the task from now on, and lets go of it when it is dropped with
        // this run.
        unsafe { task.join(self) };
        Some(task)
    }

    #[inline]
    pub(crate) fn release(&self, task: &'static CmdTask) {
        self.flight.release(task);
        if self.leaving.get() {
            self.check_over(&self.pe);
        }
    }

    #[inline]
    pub(crate) fn command_start(&self, slot: u16, PluginBit(bit): PluginBit) -> CommandStart {
        CommandStart::new(self.attached.get().map_or(0, |attached| attached.channel), slot, bit)
    }

    #[inline]
    pub(crate) fn plugin(&self, id: u64) -> Option<PluginBit> {
        let is_one = id & id.wrapping_sub(1) == 0 && id & self.plugins != 0;
        is_one.then(|| PluginBit(id.trailing_zeros() as u8))
    }

    /// Sends a task's command. After an error the task is still the caller's.
    #[inline]
    pub(crate) fn submit(&self, task: &'static CmdTask) -> Result<(), DocaError> {
        self.refusal.get().check()?;
        task.payload.check()?;
        let header = task.start().ok_or(DocaError::INVALID_VALUE)?.header(task.payload.len());
        let before = task.head.stage.replace(Stage::InFlight);
        let (alone, tasks) = (self.flight.is_alone(), self.flight.out());
        if let Err(status) = self.sender.submit(task, header, alone, tasks) {
            task.head.stage.set(before);
            self.on_broken(status);
            return Err(DocaError::CONNECTION_RESET);
        }
        self.flight.submitted(task);
        if self.sender.is_busy() && !self.tended.get() {
            self.tend_later(&self.pe);
        }
        Ok(())
    }

    /// A notification came.
    ///
    /// # Errors
    /// No command is in flight in its slot; or it is too long, and its task fails.
    #[inline]
    pub(crate) fn on_notification(
        &self,
        pe: &Pe,
        notification: &Notification<'_>,
    ) -> Result<(), Lost> {
        let limit =
            self.attached.get().map_or(0, |attached| attached.max_message - NOTIFICATION_HEADER);
        let Some(task) = self.flight.answer(notification, limit) else {
            return Err(Lost::Nobodys(notification.channel, notification.slot, Some(self.id())));
        };
        if task.sending.get() || !self.parked.is_empty() {
            self.parked.push(task);
        } else {
            pe.push_command(task);
        }
        match notification.payload {
            Some(payload) if payload.len() > limit => Err(Lost::TooLong(payload.len(), limit)),
            _ => Ok(()),
        }
    }

    /// Completes the parked tasks that UCX is done with, in the order of their responses.
    pub(super) fn unpark(&self, pe: &Pe) {
        while self.parked.first().is_some_and(|task| !task.sending.get()) {
            if let Some(task) = self.parked.pop() {
                pe.push_command(task);
            }
        }
    }

    #[inline]
    pub(crate) fn completed(&self) {
        self.flight.completed();
    }
}
