//! Notifications of workers, including unexpected, forged and too long ones.

use std::fmt;

use urom_abi::WorkerId;
use urom_wire::envelope::{self, Envelope};
use urom_wire::frame::Notification;

use crate::pe::Pe;

pub(crate) enum Lost {
    /// The slot (first) does not have a task in flight. The second field is the worker's id.
    NoCommand(u16, u64),
    /// The host cancelled the command.
    Late,
    /// Length and limit in bytes.
    TooLong(usize, usize),
    /// The worker with this id sent bytes that are not a notification.
    Malformed(u64),
    Broken(envelope::Broken),
}

impl Lost {
    #[cold]
    pub(super) fn report(self, pe: &Pe) {
        match self {
            Lost::NoCommand(slot, id) => log!(
                debug,
                "a notification of worker {} for slot {slot}, without a command in flight, was dropped",
                WorkerId(id)
            ),
            Lost::Late => {}
            Lost::TooLong(len, limit) => pe.unreadable(format_args!(
                "a notification of {len} bytes came where {limit} are allowed; its task fails"
            )),
            Lost::Malformed(id) => pe.unreadable(format_args!(
                "a malformed notification of worker {} was dropped",
                WorkerId(id)
            )),
            Lost::Broken(error) => pe.unreadable(format_args!("notifications dropped: {error}")),
        }
    }
}

impl Pe {
    pub(crate) fn on_notifications(&self, message: &[u8]) {
        let Some((Envelope { tag, channel }, message)) = Envelope::split(message) else {
            return self.unreadable(format_args!(
                "a message was dropped: it is shorter than its envelope"
            ));
        };
        let Some(run) = self.channels.borrow().get(channel).cloned() else {
            return log!(
                debug,
                "notifications for channel {channel}, which is closed, were dropped"
            );
        };
        if !run.has_tag(tag) {
            return self.unreadable(format_args!(
                "a message without the verification tag of worker {}, whose channel it names, was dropped",
                WorkerId(run.id())
            ));
        }
        for frame in envelope::frames(message) {
            let read = frame.map_err(Lost::Broken).and_then(|(header, body)| {
                Notification::read(header, body).ok_or(Lost::Malformed(run.id()))
            });
            let lost = read.and_then(|notification| run.on_notification(self, &notification));
            lost.err().into_iter().for_each(|lost| lost.report(self));
        }
    }

    pub(crate) fn on_handshake(&self, header: &[u8]) {
        let Ok(channel) = header.try_into().map(u16::from_le_bytes) else {
            return self.unreadable(format_args!("a handshake of the wrong length was dropped"));
        };
        let run = self.channels.borrow().get(channel).cloned();
        if let Some(run) = run {
            run.on_handshake(self);
        }
    }

    /// Logs a dropped malformed message. Rate-limited, because the sender may repeat it.
    #[cold]
    pub(crate) fn unreadable(&self, what: fmt::Arguments<'_>) {
        let line = self.unreadable.borrow_mut().line();
        // The log's reader may call back.
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
