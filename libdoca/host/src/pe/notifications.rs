//! Notifications of workers, including unexpected, forged and too long ones.

use std::fmt;

use urom_abi::WorkerId;
use urom_wire::frame;
use urom_wire::pass::Pass;

use crate::pe::Pe;
use crate::pe::run::Run;

/// Why a notification does not reach a task.
pub(crate) enum Lost {
    /// No task is in flight in this slot of this channel; with the worker's id, if the channel is
    /// in use.
    Nobodys(u16, u16, Option<u64>),
    /// It names this worker's channel and has another pass.
    Forged(u64),
    /// It has this many bytes, and this many are allowed.
    TooLong(usize, usize),
    Broken(frame::Broken),
}

impl Lost {
    #[cold]
    pub(super) fn report(self, pe: &Pe) {
        match self {
            Lost::Nobodys(_, slot, Some(id)) => log!(
                debug,
                "a notification of worker {} for slot {slot}, which has no command in flight, was dropped",
                WorkerId(id)
            ),
            Lost::Nobodys(channel, ..) => {
                log!(debug, "a notification for channel {channel}, which is closed, was dropped")
            }
            Lost::Forged(id) => pe.unreadable(format_args!(
                "a notification without the pass of worker {}, whose channel it names, was dropped",
                WorkerId(id)
            )),
            Lost::TooLong(len, limit) => pe.unreadable(format_args!(
                "a notification of {len} bytes came where {limit} are allowed; its task fails"
            )),
            Lost::Broken(error) => pe.unreadable(format_args!("notifications dropped: {error}")),
        }
    }
}

impl Pe {
    #[inline(never)]
    pub(crate) fn on_notifications(&self, message: &[u8]) {
        let Some((pass, frames)) = Pass::split(message) else {
            return self.unreadable(format_args!(
                "a message was dropped: it has no room for the pass that it should begin with"
            ));
        };
        let (channels, mut all_lost) = (self.channels.borrow(), Vec::new());
        // A message comes from one worker.
        let mut known: Option<(u16, &Run)> = None;
        for notification in frame::notifications(frames) {
            let lost = match notification {
                Ok(notification) => {
                    let channel = notification.channel;
                    if known.is_none_or(|(known, _)| known != channel) {
                        known = channels.get(channel).map(|run| (channel, &**run));
                        known = known.filter(|(_, run)| run.has_pass(pass));
                    }
                    match known {
                        Some((_, run)) => match run.on_notification(self, &notification) {
                            Ok(()) => continue,
                            Err(lost) => lost,
                        },
                        None => match channels.get(channel) {
                            Some(run) => Lost::Forged(run.id()),
                            None => Lost::Nobodys(channel, notification.slot, None),
                        },
                    }
                }
                Err(error) => Lost::Broken(error),
            };
            all_lost.push(lost);
        }
        // The reader of the log may be the host, which may call back.
        drop(channels);
        all_lost.into_iter().for_each(|lost| lost.report(self));
    }

    pub(crate) fn on_greeting(&self, header: &[u8]) {
        let Ok(channel) = header.try_into().map(u16::from_le_bytes) else {
            return self.unreadable(format_args!("a greeting of the wrong length was dropped"));
        };
        let run = self.channels.borrow().get(channel).cloned();
        if let Some(run) = run {
            run.on_greeting(self);
        }
    }

    /// Logs that a message was dropped which no worker of this release sends. Its sender may send
    /// any number.
    #[cold]
    pub(crate) fn unreadable(&self, what: fmt::Arguments<'_>) {
        let line = self.unreadable.borrow_mut().line();
        // The reader of the log may call back.
        if let Some(left_out) = line {
            log!(warn, "{what}{left_out}");
        }
    }
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "shared with the tests of the library")]
#[path = "../../tests/library/logged.rs"]
mod logged;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_sends_rubbish_for_ever_does_not_fill_the_log() {
        let pe = Pe::new().unwrap();
        let rubbish = || pe.on_notifications(&[1, 2, 3, 4, 5]);
        let ((), lines) = logged::logged(|| (0..10_000).for_each(|_| rubbish()));
        assert!((1..100).contains(&lines.len()), "{} lines for 10,000 messages", lines.len());
    }
}
