//! Matches commands and notifications: each command needs exactly one.

use std::collections::BTreeMap;

use urom_abi::{DocaError, DocaStatus};

use super::fault::{Asked, Fault};

/// A notification as a worker would send it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// The status of the command (`urom_worker_notify::status`).
    pub status: DocaStatus,
    /// The notification's bytes after the header, as `notif_pack` wrote them.
    pub bytes: Vec<u8>,
}

struct LedgerEntry {
    asked: Asked,
    first: Option<Notification>,
    times: usize,
    /// Needs no notification: the test closed the plugin, or the plugin refused it.
    is_excused: bool,
}

impl LedgerEntry {
    fn is_waiting(&self) -> bool {
        self.times == 0 && !self.is_excused
    }
}

#[derive(Default)]
pub(super) struct Ledger {
    entries: BTreeMap<u64, LedgerEntry>,
    pub(super) notifications: u64,
    pub(super) cut_off: usize,
    pub(super) faults: Vec<Fault>,
}

impl Ledger {
    pub(super) fn ask(&mut self, name: &'static str, len: usize, connection: u64) -> u64 {
        let number = self.entries.len() as u64 + 1;
        let token = token(number);
        let asked = Asked { number, name, len, connection };
        self.entries.insert(token, LedgerEntry { asked, first: None, times: 0, is_excused: false });
        token
    }

    pub(super) fn asked(&self, token: u64) -> Option<&Asked> {
        self.entries.get(&token).map(|entry| &entry.asked)
    }

    pub(super) fn answer(&mut self, token: u64, notification: Notification) {
        self.notifications += 1;
        let Some(entry) = self.entries.get_mut(&token) else {
            self.faults.push(Fault::NoCommand(token));
            return;
        };
        entry.times += 1;
        if entry.times == 1 {
            entry.first = Some(notification);
            return;
        }
        let again = Fault::AnsweredAgain(entry.asked.clone(), entry.times);
        // One line for each command, with the latest number.
        let of_this = |fault: &&mut Fault| matches!(fault, Fault::AnsweredAgain(command, _) if *command == entry.asked);
        match self.faults.iter_mut().find(of_this) {
            Some(fault) => *fault = again,
            None => self.faults.push(again),
        }
    }

    pub(super) fn refuse(&mut self, token: u64, code: DocaError) {
        if let Some(entry) = self.entries.get_mut(&token)
            && entry.is_waiting()
        {
            entry.is_excused = true;
            entry.first = Some(Notification { status: code.into(), bytes: Vec::new() });
        }
    }

    pub(super) fn peek(&self, token: u64) -> Option<&Notification> {
        self.entries.get(&token)?.first.as_ref()
    }

    pub(super) fn take(&mut self, token: u64) -> Option<Notification> {
        self.entries.get_mut(&token)?.first.take()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.entries.values().filter(|entry| entry.is_waiting()).count()
    }

    pub(super) fn connection_of_waiting(&self, token: u64) -> Option<u64> {
        let entry = self.entries.get(&token).filter(|entry| entry.is_waiting())?;
        Some(entry.asked.connection)
    }

    pub(super) fn waiting(&self, connection: u64) -> Vec<u64> {
        let entries = self.entries.iter().filter(|(_, entry)| entry.is_waiting());
        let of_it = entries.filter(|(_, entry)| entry.asked.connection == connection);
        of_it.map(|(token, _)| *token).collect()
    }

    pub(super) fn commands(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Excuses commands in flight and returns their number.
    pub(super) fn cut_off(&mut self) -> usize {
        let waiting = self.entries.values_mut().filter(|entry| entry.is_waiting());
        let count = waiting.map(|entry| entry.is_excused = true).count();
        self.cut_off += count;
        count
    }

    pub(super) fn close(&mut self) {
        let waiting = self.entries.values().filter(|entry| entry.is_waiting());
        let mut waiting: Vec<_> = waiting.map(|entry| entry.asked.clone()).collect();
        waiting.sort_unstable();
        self.faults.extend(waiting.into_iter().map(Fault::Unanswered));
    }
}

/// Returns a host's token: all 64 bits are used, and it is never a small number.
fn token(number: u64) -> u64 {
    !number.rotate_left(17)
}
