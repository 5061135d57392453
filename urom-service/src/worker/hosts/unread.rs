//! How much hosts may leave unread: a host that leaves more is given up.

use urom_abi::{DocaError, Quantity};
use urom_wire::control::Failure;

use super::Hosts;
use crate::worker::outgoing::Outgoing;

/// How many times as much all hosts of a worker may leave unread as one.
const UNREAD_BY_ALL: usize = 4;

/// From how many bytes on that a host left unread their memory is given back to the system.
const MUCH_UNREAD: usize = 1 << 20;

/// How much hosts may leave unread. All buffers are of one size, so messages are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    bytes: usize,
    /// The most messages of one host that UCX may have unsent.
    pub(crate) messages: usize,
    /// From how many messages on their memory is given back to the system.
    pub(super) much: usize,
}

impl Allowance {
    /// `bytes` of buffers for notifications of up to `max_message` bytes, and one message at least.
    pub(crate) fn new(bytes: usize, max_message: usize) -> Allowance {
        let messages = |bytes: usize| (bytes / Outgoing::room_for(max_message)).max(1);
        Allowance { bytes, messages: messages(bytes), much: messages(MUCH_UNREAD) }
    }
}

impl Hosts {
    /// Counts what a host has left unread, and gives up a host if that is too much: this one, or
    /// the one that has left the most.
    pub(super) fn count_unread(&mut self, channel: u16) {
        let Some(connection) = self.connections.get(channel) else { return };
        let now = connection.unread();
        self.unread = self.unread + now - std::mem::replace(&mut connection.counted, now);
        let bytes = self.allowance.bytes;
        if connection.is_over() {
            let whose = format!("the host has not read {} of answers", in_units(bytes));
            self.lose(channel, unread(&whose));
        } else if self.unread > UNREAD_BY_ALL * self.allowance.messages
            && let Some(channel) = self.most_unread()
        {
            let whose = format!(
                "the hosts of the worker have not read {} of answers, most of them this host's",
                in_units(UNREAD_BY_ALL * bytes)
            );
            self.lose(channel, unread(&whose));
        }
    }

    fn most_unread(&mut self) -> Option<u16> {
        let Hosts { connections, sending, .. } = self;
        let unread = |channel: &u16| connections.get(*channel).map_or(0, |found| found.unread());
        sending.iter().copied().max_by_key(unread)
    }
}

/// Gives free memory back to the system. The C library itself gives back only what lies above
/// everything in use. Takes about a millisecond for 10 MiB.
pub(super) fn give_memory_back() {
    // SAFETY: it may be called at any time, and moves nothing that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
}

#[cold]
fn unread(whose: &str) -> Failure {
    let text = format!(
        "{whose}, and the worker keeps no more: read while tasks are in flight, have fewer of them \
         in flight, or start uromd with a larger --max-unread"
    );
    Failure::new(DocaError::FULL, text)
}

fn in_units(bytes: usize) -> String {
    const MIB: usize = 1 << 20;
    match bytes % MIB {
        0 => format!("{} MiB", bytes / MIB),
        _ => Quantity(bytes, "byte").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use ucx::Worker;

    use super::*;
    use crate::host_names::HostName;
    use crate::worker::connection::{Connection, Peer};
    use crate::worker::control_thread::ControlHandle;
    use crate::worker::desk::Desk;
    use crate::worker::messages::ToControl;
    use urom_wire::frame::{MAX_SLOTS, MESSAGE_LEN};
    use urom_wire::pass::Pass;
    use urom_wire::ucx_context::context;

    const LIMIT: usize = 4096;

    /// How many bare notifications fill a message.
    const FULL: usize = MESSAGE_LEN / 12;

    fn worker() -> Worker {
        context().build().and_then(|context| context.worker()).unwrap()
    }

    /// `count` hosts that read nothing, may leave `messages` messages unread, and have channels
    /// from 1 on.
    fn hosts(count: u16, messages: usize) -> (Hosts, Vec<Worker>, Received) {
        let (control, told) = ControlHandle::new();
        let mut hosts =
            Hosts::new(LIMIT, messages * Outgoing::room_for(LIMIT), Desk::new(&[]), control);
        let ours = worker();
        let mut workers = Vec::new();
        for channel in 1..=count {
            let theirs = worker();
            let endpoint = ours.endpoint().connect(&theirs.address().unwrap()).unwrap();
            let name = HostName::new(channel.into(), "host");
            let peer = Peer { channel, endpoint, pass: Pass::new(77), name };
            let connection = Connection::new(channel.into(), 1, peer, MAX_SLOTS, LIMIT, messages);
            hosts.connections.insert(channel, connection);
            workers.push(theirs);
        }
        workers.push(ours);
        (hosts, workers, told)
    }

    type Received = tokio::sync::mpsc::UnboundedReceiver<ToControl>;

    /// Answers to a host as many times as fill so many messages, within one turn.
    fn answer(hosts: &mut Hosts, channel: u16, messages: usize) {
        for _ in 0..messages * FULL {
            hosts.answer(channel, 0, DocaError::SHUTDOWN, "");
        }
        hosts.turn();
    }

    fn given_up(told: &mut Received) -> Vec<(u64, String)> {
        let refused = |message| match message {
            ToControl::Refused { link, failure } => (link, failure.to_string()),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| told.try_recv().ok()).map(refused).collect()
    }

    #[test]
    fn a_host_that_leaves_more_unread_than_it_may_is_given_up_and_the_others_are_not() {
        let (mut hosts, _workers, mut told) = hosts(2, 100);
        answer(&mut hosts, 1, 90);
        answer(&mut hosts, 2, 90);
        assert_eq!((given_up(&mut told), hosts.unread > 150), (vec![], true));
        // More than memory has room for if it were kept, in a single turn.
        answer(&mut hosts, 2, 1000);
        let told = given_up(&mut told);
        let [(2, why)] = &told[..] else { panic!("{told:?}") };
        assert!(why.contains("has not read") && why.contains("--max-unread"), "{why}");
        assert!(hosts.unread <= 90 && hosts.connections.get(1).is_some(), "{}", hosts.unread);
    }

    #[test]
    fn the_host_that_has_left_the_most_is_given_up_when_all_hosts_have_left_too_much() {
        let (mut hosts, _workers, mut told) = hosts(6, 100);
        for (channel, messages) in [(1, 70), (2, 60), (3, 95), (4, 80), (5, 60)] {
            answer(&mut hosts, channel, messages);
        }
        assert_eq!(given_up(&mut told), []);
        answer(&mut hosts, 6, 90);
        let told = given_up(&mut told);
        let [(3, why)] = &told[..] else { panic!("{told:?}") };
        assert!(why.contains("most of them") && why.contains("--max-unread"), "{why}");
        let sum: usize =
            hosts.connections.iter_mut().map(|(_, connection)| connection.unread()).sum();
        assert!(hosts.unread == sum && sum > 300, "{} in place of {sum}", hosts.unread);
    }

    #[test]
    fn amounts_are_whole_mebibytes_or_bytes() {
        assert_eq!((&*in_units(64 << 20), &*in_units(70_000)), ("64 MiB", "70000 bytes"));
    }
}
