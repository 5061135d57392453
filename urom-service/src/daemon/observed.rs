//! Counts of the daemon's workers: the pages of running workers, and the sums of ended ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use urom_abi::WorkerId;
use urom_abi::describe::Protocol;

use super::discovery::FoundPlugin;
use super::registry::Serial;
use crate::metrics::{CommandSums, MetricsPage, REFUSALS, ROWS};

/// A worker from its start to the end of its process.
#[derive(Debug, Clone)]
pub(crate) struct ObservedWorker {
    pub(crate) id: WorkerId,
    pub(crate) gid: u32,
    pub(crate) started: SystemTime,
    pub(crate) plugins: Arc<[FoundPlugin]>,
    pub(crate) page: Arc<MetricsPage>,
}

/// The workers of a daemon. A clone shares the pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObservedWorkers {
    pub(crate) running: BTreeMap<Serial, ObservedWorker>,
    pub(crate) starts: u64,
    /// Workers that ended while hosts used them.
    pub(crate) failures: u64,
    ended: ServiceSums,
}

/// Sums of counters over workers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServiceSums {
    pub(crate) plugins: BTreeMap<String, PluginSums>,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) evicted: u64,
    pub(crate) unserved: u64,
    /// In the order of [`REFUSALS`].
    pub(crate) refused: [u64; REFUSALS.len()],
}

#[derive(Debug, Clone, Default)]
pub(crate) struct PluginSums {
    pub(crate) protocol: Option<&'static Protocol>,
    /// By tag.
    pub(crate) commands: Vec<CommandSums>,
}

impl PluginSums {
    /// Returns the commands that were received, with their names: from the plugin's description,
    /// else their tag; `other` for tags without counters of their own.
    pub(crate) fn received(&self) -> impl Iterator<Item = (String, &CommandSums)> {
        let variants = self.protocol.map_or(&[][..], |protocol| protocol.commands.variants);
        let name = move |tag: usize| match variants.iter().find(|it| it.tag == tag as u64) {
            _ if tag + 1 == ROWS => "other".to_owned(),
            Some(variant) => variant.name.to_owned(),
            None => tag.to_string(),
        };
        let commands = self.commands.iter().enumerate();
        let received = commands.filter(|(_, sums)| sums.received() > 0);
        received.map(move |(tag, sums)| (name(tag), sums))
    }
}

impl ObservedWorkers {
    pub(crate) fn started(&mut self, serial: Serial, worker: ObservedWorker) {
        self.starts += 1;
        self.running.insert(serial, worker);
    }

    /// Keeps the counts of a worker that has ended.
    pub(crate) fn ended(&mut self, serial: Serial) {
        if let Some(worker) = self.running.remove(&serial) {
            self.ended.add(&worker);
            let plugins = self.ended.plugins.values_mut();
            plugins.flat_map(|sums| &mut sums.commands).for_each(CommandSums::settle);
        }
    }

    /// The sums of all workers since the daemon started.
    pub(crate) fn sums(&self) -> ServiceSums {
        let mut sums = self.ended.clone();
        self.running.values().for_each(|worker| sums.add(worker));
        sums
    }
}

impl ServiceSums {
    fn add(&mut self, worker: &ObservedWorker) {
        let header = worker.page.header();
        self.received += header.received.get();
        self.sent += header.sent.get();
        self.evicted += header.evicted.get();
        self.unserved += header.unserved.get();
        self.refused.iter_mut().zip(&header.refused).for_each(|(sum, word)| *sum += word.get());
        for found in &*worker.plugins {
            let rows = worker.page.rows_of(found.entry.id);
            let sums = self.plugins.entry(found.entry.name.clone()).or_default();
            sums.protocol = found.protocol;
            sums.commands.resize_with(ROWS, CommandSums::default);
            sums.commands.iter_mut().zip(rows).for_each(|(sums, row)| sums.add(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use urom_wire::control::{PluginBuild, PluginEntry};

    use super::*;
    use crate::metrics::RowKey;

    fn worker(bit: u8, name: &str) -> ObservedWorker {
        let build = PluginBuild { version: 1, fingerprint: None };
        let entry = PluginEntry { id: 1 << bit, build, name: name.to_owned() };
        let found = FoundPlugin { entry, file: "/p.so".into(), description: None, protocol: None };
        let (page, _fd) = MetricsPage::create().unwrap();
        page.header().plugins.set(1 << bit);
        ObservedWorker {
            id: WorkerId(7),
            gid: 0,
            started: SystemTime::UNIX_EPOCH,
            plugins: [found].into(),
            page: Arc::new(page),
        }
    }

    #[test]
    fn counts_of_workers_that_have_ended_stay_in_the_sums() {
        let mut workers = ObservedWorkers::default();
        for (serial, bit) in [(1, 0), (2, 5)] {
            let worker = worker(bit, "graph");
            let row = worker.page.row(RowKey::of(bit, &2_u32.to_ne_bytes()));
            row.received.add(7);
            row.begun.add(4);
            row.ended.add(1);
            worker.page.header().received.set(100);
            worker.page.header().refuse("ucx");
            worker.page.header().refuse("new");
            workers.started(serial, worker);
        }
        workers.started(3, worker(1, "other"));
        let sums = |workers: &ObservedWorkers| {
            let sums = workers.sums();
            let command = sums.plugins["graph"].commands[2].clone();
            assert_eq!(sums.refused[REFUSALS.len() - 2..], [2, 2], "the last counts all others");
            (command.received(), command.in_flight(), sums.received)
        };
        assert_eq!(sums(&workers), (14, 6, 200));
        workers.ended(1);
        assert_eq!(sums(&workers).0, 14);
        workers.ended(1);
        assert_eq!(sums(&workers), (14, 3, 200), "commands of an ended worker are not in flight");
        assert_eq!((workers.starts, workers.running.len()), (3, 2));
    }
}
