//! Counts of commands and gauges of hosts, in the worker's page.

use std::cell::Cell;

use urom_abi::extension::CancelReason;
use urom_abi::{DocaError, DocaStatus};
use urom_os::clock;

use super::{HostEntry, Hosts, TaskToken};
use crate::metrics::{CommandRow, MetricsPage, RowKey, TIMED};

#[derive(Debug)]
pub(crate) struct Counts {
    page: MetricsPage,
    /// The command that is called, if it is timed: when it began, else 0; and its row.
    timed: Cell<(u64, RowKey)>,
    /// Bytes of hosts that have left: received and sent.
    gone: Cell<(u64, u64)>,
}

impl Counts {
    pub(super) fn new(page: MetricsPage) -> Counts {
        Counts { page, timed: Cell::default(), gone: Cell::default() }
    }

    /// Counts a command that a plugin is called for. One in [`TIMED`] is timed.
    #[inline(always)]
    pub(crate) fn received(&self, key: RowKey) {
        let row = self.page.row(key);
        let before = row.received.get();
        row.received.set(before.wrapping_add(1));
        if before.is_multiple_of(TIMED) {
            self.begin(key);
        }
    }

    #[cold]
    fn begin(&self, key: RowKey) {
        self.timed.set((clock::monotonic(), key));
    }

    /// Counts the success of a command within its call.
    #[inline(always)]
    pub(crate) fn succeeded(&self) {
        if self.timed.get().0 != 0 {
            self.succeeded_in_time();
        }
    }

    #[cold]
    fn succeeded_in_time(&self) {
        let (began, key) = self.timed.take();
        took(self.page.row(key), began, TIMED);
    }

    /// Counts a [received](Self::received) command that goes on after its call, or fails.
    #[inline]
    pub(crate) fn begun(&self, host: &HostEntry, token: TaskToken, key: RowKey) {
        self.page.row(key).begun.add(1);
        let (began, _) = self.timed.take();
        host.begun(token.slot, key, if began == 0 { clock::monotonic() } else { began });
    }

    /// Counts the end of a command that [`begun`](Self::begun) counted.
    #[inline]
    pub(crate) fn ended(&self, host: &HostEntry, slot: u16, status: DocaStatus) {
        let (key, began) = host.beginning(slot);
        let row = self.page.row(key);
        row.ended.add(1);
        took(row, began, 1);
        if status != DocaStatus::SUCCESS {
            row.failed(status.0);
        }
    }

    pub(crate) fn cancelled(&self, host: &HostEntry, slot: u16, reason: CancelReason) {
        let row = self.page.row(host.beginning(slot).0);
        if reason == CancelReason::TIMED_OUT { &row.timed_out } else { &row.cancelled }.add(1);
    }

    /// Counts a command that no plugin received.
    #[cold]
    pub(crate) fn refused(&self, key: RowKey, code: DocaError) {
        let row = self.page.row(key);
        row.received.add(1);
        row.begun.add(1);
        row.ended.add(1);
        row.failed(code.code());
    }

    #[cold]
    pub(crate) fn unserved(&self) {
        self.page.header().unserved.add(1);
    }

    #[cold]
    pub(super) fn evicted(&self) {
        self.page.header().evicted.add(1);
    }

    /// Counts the commands in flight and the bytes of a host that leaves.
    pub(super) fn left(&self, host: &HostEntry) {
        for (token, _) in host.in_flight() {
            self.ended(host, token.slot, DocaError::CONNECTION_ABORTED.into());
        }
        let (gone, own) = (self.gone.get(), host.traffic());
        self.gone.set((gone.0 + own.0, gone.1 + own.1));
    }
}

#[cold]
fn took(row: &CommandRow, began: u64, weight: u64) {
    row.took(clock::monotonic().saturating_sub(began), weight);
}

impl Hosts {
    /// Records the bits of the worker's plugins.
    pub(crate) fn count_plugins(&self, bits: u64) {
        self.counts.page.header().plugins.set(bits);
    }

    /// Updates the gauges.
    #[cold]
    pub(crate) fn publish(&self) {
        let header = self.counts.page.header();
        let (mut hosts, mut unread) = (0, 0);
        let (mut received, mut sent) = self.counts.gone.get();
        for host in self.table.borrow().iter().flatten() {
            let traffic = host.traffic();
            (received, sent) = (received + traffic.0, sent + traffic.1);
            unread += host.outbox.borrow().unread() as u64;
            hosts += 1;
        }
        header.hosts.set(hosts);
        header.unread.set(unread);
        header.received.set(received);
        header.sent.set(sent);
        let mut memories = [(0, 0); 3];
        self.memories.shares.each(|region| {
            if let Some((count, bytes)) = memories.get_mut(region.path().kind().0 as usize) {
                *count += 1;
                *bytes += region.offered().len;
            }
        });
        for (path, (count, bytes)) in memories.into_iter().enumerate() {
            header.memories[path].set(count);
            header.memory_bytes[path].set(bytes);
        }
    }
}
