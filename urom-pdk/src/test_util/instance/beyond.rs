//! Functions beyond DOCA's interface: calls, cancellations, hosts that leave.

use urom_abi::driver::CallEnd;
use urom_abi::extension::{Called, CancelReason};

use super::super::ledger::Notification;
use super::{Fault, PLUGIN_ID, TestInstance, pack};

impl TestInstance {
    /// Like a worker of this kit: by `call` for an empty list, else by the list.
    pub(in super::super) fn call(&self, connection: u64, bytes: &[u8]) -> u64 {
        let token = self.ask(connection, bytes);
        let capacity = self.services.limit.get() - pack::HEADER;
        let mut buffer = vec![pack::FILL; pack::GUARD + capacity + pack::GUARD];
        let end = self.with(|plugin| {
            let answer = &mut buffer[pack::GUARD..][..capacity];
            plugin.call((connection, PLUGIN_ID, token), bytes, answer)
        });
        if let Some(end) = end {
            self.take_call(token, end, capacity, &buffer);
        }
        let called = end.map(|end| end.called);
        if called.is_none_or(|called| called == Called::DECLINED) {
            self.list(connection, token, bytes);
            self.flush();
        }
        token
    }

    fn take_call(&self, token: u64, end: CallEnd, capacity: usize, buffer: &[u8]) {
        let (before, rest) = buffer.split_at(pack::GUARD);
        let (answer, behind) = rest.split_at(capacity);
        let mut wrong = None;
        if before.iter().chain(behind).any(|byte| *byte != pack::FILL) {
            wrong = Some("it wrote outside of its answer buffer".to_owned());
        }
        match end.called {
            Called::ANSWERED if end.len > capacity => {
                let len = end.len;
                wrong = Some(format!("it gave a length of {len} bytes for a buffer of {capacity}"));
            }
            Called::ANSWERED => {
                let bytes = answer[..end.len].to_vec();
                self.ledger().answer(token, Notification { status: end.status, bytes });
            }
            Called::PENDING | Called::DECLINED => {}
            Called(other) => wrong = Some(format!("it gave {other}, which is nothing")),
        }
        let mut ledger = self.ledger();
        if let (Some(what), Some(command)) = (wrong, ledger.asked(token).cloned()) {
            ledger.faults.push(Fault::Call(command, what));
        }
    }

    pub(in super::super) fn cancel(&self, token: u64, reason: CancelReason) {
        self.flush();
        let waiting = self.ledger().connection_of_waiting(token);
        if let Some(connection) = waiting {
            self.with(|plugin| plugin.cancel(connection, token, reason));
        }
    }

    /// Cancels a connection's commands, and then notifies the plugin that the host has left.
    pub(in super::super) fn leave(&self, connection: u64) {
        let waiting = self.ledger().waiting(connection);
        for token in waiting {
            self.cancel(token, CancelReason::HOST_LEFT);
        }
        self.services.memories.leave(connection);
        self.left.borrow_mut().push((connection, false));
        self.notify_hosts_left();
    }

    pub(in super::super) fn has_left(&self, connection: u64) -> bool {
        self.left.borrow().iter().any(|(left, _)| *left == connection)
    }

    pub(super) fn notify_hosts_left(&self) {
        if !self.is_open() {
            return;
        }
        for (connection, is_notified) in &mut *self.left.borrow_mut() {
            if !*is_notified && self.ledger().waiting(*connection).is_empty() {
                *is_notified = true;
                self.with(|plugin| plugin.host_left(*connection));
            }
        }
    }
}
