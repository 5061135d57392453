//! The ends of connections.

use std::rc::Rc;

use ucx::Request;
use urom_abi::DocaError;
use urom_wire::control::Failure;
use urom_wire::ring::Garbage;

use super::outbox::Outbox;
use super::{Host, Hosts};
use crate::worker::messages::ToControl;

/// From how many bytes on that a host left unread their memory is given back to the system.
const MUCH_UNREAD: usize = 1 << 20;

impl Hosts {
    /// Notes that a host's connection is of no more use; it ends with the turn.
    #[cold]
    pub(crate) fn lose(&self, host: &Host, failure: Failure) {
        // There may be thousands of reasons before the end of the turn, and one is enough.
        if !host.is_lost.replace(true) {
            self.lost.borrow_mut().push((host.dest_id, failure));
        }
    }

    /// Ends the connection of a host that sent a command it must not send.
    #[cold]
    pub(crate) fn throw_out(&self, host: &Host, slot: u16) {
        let text = format!("the worker threw the host out: {}", host.misuse(slot));
        self.lose(host, Failure::new(DocaError::BAD_STATE, text));
    }

    /// Ends the connection of a host that wrote something else than frames into its ring.
    #[cold]
    pub(crate) fn throw_out_for(&self, host: &Host, garbage: Garbage) {
        let text = format!("the worker threw the host out: {garbage}");
        self.lose(host, Failure::new(DocaError::IO_FAILED, text));
    }

    #[cold]
    pub(super) fn bury(&self) {
        for (dest_id, failure) in self.lost.take() {
            // One that has left since then has no use for it.
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

    /// Ends a host's connection. Answers of plugins to it are dropped from now on.
    pub(crate) fn part(&self, host: &Host) {
        let place = usize::from(host.channel.wrapping_sub(self.base));
        self.table.borrow_mut()[place] = None;
        self.waiting.borrow_mut().retain(|waiting| waiting.channel != host.channel);
        self.departed.borrow_mut().add(host.dest_id, host.in_flight());
        self.memories.close(host.dest_id);
        *host.inbox.borrow_mut() = None;
        let outbox = host.outbox.replace(Outbox::Unknown);
        if let Outbox::Ring(ring) = &outbox {
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

    /// Begins to wait until everything has left this machine.
    pub(crate) fn flush_endpoints(&self) -> Vec<Request<()>> {
        let flush = |host: &Rc<Host>| host.outbox.borrow_mut().flush_endpoint();
        self.table.borrow().iter().flatten().filter_map(flush).collect()
    }

    /// Ends all connections, and waits for no send of UCX.
    pub(crate) fn let_go(&self) {
        self.all().iter().for_each(|host| self.part(host));
        self.closing.take().into_iter().for_each(Request::detach);
    }
}

/// Returns free memory to the system. The C library itself returns only memory above everything in
/// use. Takes about a millisecond for 10 MiB.
fn give_memory_back() {
    // SAFETY: it may be called at any time, and moves nothing that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
}

#[cfg(test)]
mod tests {
    use urom_abi::DocaError;
    use urom_wire::envelope::Pass;

    use super::*;
    use crate::worker::control_thread::ControlHandle;
    use crate::worker::hosts::Bells;

    #[test]
    fn a_host_that_takes_the_place_of_a_lost_one_stays() {
        let (control, mut told) = ControlHandle::new();
        let hosts = Hosts::new(1, &[], control, Bells::new().unwrap());
        let admit = |link| hosts.admit(link, "a test", Pass::new(1), 4096, 1).unwrap();
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
