//! The answer of a command that has ended: its own or a refusal.

use std::future::Future;

use urom_abi::descriptor::NotificationDesc;
use urom_abi::protocol::{Answer, Protocol, Serve};
use urom_abi::shared::SharedCommand;
use urom_abi::wire::EncodeError;
use urom_abi::{DocaError, DocaStatus};

use super::Executor;
use crate::failures::Failure;
use crate::guard::catch;
use crate::{Context, Result, Side};

impl<T, P, F, M> Executor<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<Answer>>,
    M: Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    #[inline]
    pub(super) fn finish(&mut self, command: SharedCommand, outcome: Result<Answer, Failure>) {
        match outcome {
            Ok(Answer::InPlace(_)) => self.in_place = Some(command),
            Ok(Answer::Descriptor(mut notification)) => {
                notification.address_to(&command, DocaStatus::SUCCESS);
                self.finished.push_back(notification);
                self.spent = Some(command);
            }
            Err(failure) => self.fail(command, failure),
        }
    }

    #[cold]
    fn fail(&mut self, command: SharedCommand, failure: Failure) {
        let code = failure.code();
        // Formatting and dropping an error runs the handler's code.
        let worker = &self.state().worker;
        let (commands, failures) = (&P::DESCRIPTION.commands, &mut self.failures);
        let handler = std::any::type_name::<T>();
        catch("a handler's error", || {
            if worker.explains() {
                worker.explain(&command, &failure.for_host());
            }
            failures.report(handler, commands, &command, failure);
        });
        self.refuse(command, code);
    }

    /// Answers a failed command. Without memory the command stays owed, and this returns `false`.
    fn refuse(&mut self, command: SharedCommand, code: DocaError) -> bool {
        let refusal = catch("P::refusal", || P::refusal(command.payload()));
        let refusal = refusal.unwrap_or_else(|| {
            NotificationDesc::zeroed(P::NOTIFICATION_LEN)
                .map_err(|_| EncodeError::NoMemory { message: P::NAME })
        });
        match refusal {
            Ok(mut notification) => {
                notification.address_to(&command, code.into());
                self.finished.push_back(notification);
                true
            }
            Err(_) => {
                // SAFETY: this function owns the command, which is in no slot and no stack, and
                // only this line puts it into one. Other owners only read its bytes.
                unsafe { self.owed.push(command) };
                false
            }
        }
    }

    #[cold]
    pub(super) fn settle(&mut self) {
        while let Some(command) = self.owed.pop() {
            if !self.refuse(command, DocaError::NO_MEMORY) {
                break;
            }
        }
    }
}
