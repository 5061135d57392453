//! Ends of connections.

use std::rc::Rc;

use ucx::Request;
use urom_abi::DocaError;
use urom_wire::control::Failure;
use urom_wire::ring::Garbage;

use super::outbox::HostOutbox;
use super::{HostEntry, Hosts};
use crate::worker::messages::ToControl;

/// Unread bytes of a host from which their memory is returned to the system.
const MUCH_UNREAD: usize = 1 << 20;

impl Hosts {
    /// Marks a host's connection as lost; it ends with the turn.
    #[cold]
    pub(crate) fn lose(&self, host: &HostEntry, failure: Failure) {
        // A turn may have thousands of reasons; one is enough.
        if !host.is_lost.replace(true) {
            self.lost.borrow_mut().push((host.dest_id, failure));
        }
    }

    #[cold]
    pub(crate) fn disconnect(&self, host: &HostEntry, slot: u16) {
        let text = format!("the worker disconnected the host: {}", host.misuse(slot));
        self.counts.evicted();
        self.lose(host, Failure::new(DocaError::BAD_STATE, text));
    }

    #[cold]
    pub(crate) fn disconnect_for(&self, host: &HostEntry, garbage: Garbage) {
        let text = format!("the worker disconnected the host: {garbage}");
        self.counts.evicted();
        self.lose(host, Failure::new(DocaError::IO_FAILED, text));
    }

    #[cold]
    pub(super) fn remove_lost(&self) {
        for (dest_id, failure) in self.lost.take() {
            if let Some(host) = self.by_dest_id(dest_id) {
                self.control.send(ToControl::Refused { link: host.link, failure });
                self.part(&host);
            }
        }
        let mut closing = self.closing.borrow_mut();
        let before = closing.len();
        closing.retain(|request| !request.is_done());
        if closing.len() < before {
            give_memory_back();
        }
    }

    /// Ends a host's connection. Later answers of plugins are dropped.
    pub(crate) fn part(&self, host: &HostEntry) {
        let index = usize::from(host.channel.wrapping_sub(self.base));
        self.table.borrow_mut()[index] = None;
        self.waiting.borrow_mut().retain(|waiting| waiting.channel != host.channel);
        self.counts.left(host);
        // A plugin may have left a span open.
        crate::log::set_trace(None);
        if let Some(recorder) = self.recorder() {
            recorder.host_left(host.dest_id);
        }
        self.departed.borrow_mut().add(host.dest_id, host.in_flight());
        self.memories.close(host.dest_id);
        *host.inbox.borrow_mut() = None;
        let outbox = host.outbox.replace(HostOutbox::Unknown);
        if let HostOutbox::Ring(ring) = &outbox {
            self.bells.remove(&ring.bell);
        }
        let is_much = outbox.unread() >= MUCH_UNREAD;
        match outbox.close() {
            Some(last) if is_much => self.closing.borrow_mut().push(last),
            Some(last) => last.detach(),
            None if is_much => give_memory_back(),
            None => {}
        }
    }

    /// Starts waiting until all messages have left this machine.
    pub(crate) fn flush_endpoints(&self) -> Vec<Request<()>> {
        let flush = |host: &Rc<HostEntry>| host.outbox.borrow_mut().flush_endpoint();
        self.table.borrow().iter().flatten().filter_map(flush).collect()
    }

    /// Ends all connections without waiting for UCX.
    pub(crate) fn let_go(&self) {
        self.all().iter().for_each(|host| self.part(host));
        self.closing.take().into_iter().for_each(Request::detach);
        self.recorder().inspect(|recorder| recorder.flush());
    }
}

/// Returns free memory to the system, not only the heap's top. Takes about 1 ms for 10 MiB.
fn give_memory_back() {
    // SAFETY: may be called at any time, and does not move memory in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
}

#[cfg(test)]
mod tests {
    use urom_abi::DocaError;
    use urom_wire::envelope::VerificationTag;

    use super::*;
    use crate::metrics::MetricsPage;
    use crate::worker::control_thread::ControlHandle;
    use crate::worker::hosts::Bells;

    #[test]
    fn a_host_with_the_channel_of_a_lost_one_stays() {
        let (control, mut told) = ControlHandle::new();
        let (page, _fd) = MetricsPage::create().unwrap();
        let hosts = Hosts::new(1, &[], control, Bells::new().unwrap(), page);
        let admit = |link| hosts.admit(link, "a test", VerificationTag::new(1), 4096, 1).unwrap();
        let first = admit(1);
        hosts.lose(&first, Failure::new(DocaError::IO_FAILED, "a test"));
        hosts.part(&first);
        let second = admit(2);
        assert_eq!(first.channel, second.channel);
        hosts.turn();
        assert!(told.try_recv().is_err() && hosts.by_link(2).is_some());
        hosts.lose(&second, Failure::new(DocaError::IO_FAILED, "a test"));
        hosts.turn();
        assert!(matches!(told.try_recv(), Ok(ToControl::Refused { link: 2, .. })));
        assert!(hosts.is_empty());
    }
}
