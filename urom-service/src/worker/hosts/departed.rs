//! Closed connections: commands still at plugins, and plugins not yet notified.

use std::collections::{BTreeMap, HashMap};

use urom_abi::DocaError;
use urom_wire::control::Failure;
use urom_wire::frame::MAX_SLOTS;

use super::TaskToken;

/// Limit of closed connections' commands for admitting hosts: four times a host's maximum.
const MOST_ORPHANS: usize = 4 * MAX_SLOTS;

#[derive(Debug, Default)]
pub(crate) struct DepartedHosts {
    /// By `dest_id`.
    connections: HashMap<u64, DepartedHost>,
    orphans: usize,
    /// Connections with pending reports to plugins.
    news: Vec<u64>,
}

#[derive(Debug)]
struct DepartedHost {
    /// Plugin indices by the commands' tokens.
    commands: BTreeMap<u64, u8>,
    counts: BTreeMap<u8, usize>,
    /// Whether its commands were cancelled at the plugins.
    is_cancelled: bool,
    /// Bit mask of the plugins not yet notified of its end.
    untold: u64,
}

impl DepartedHosts {
    pub(crate) fn add(&mut self, dest_id: u64, in_flight: impl Iterator<Item = (TaskToken, u8)>) {
        let commands: BTreeMap<u64, u8> =
            in_flight.map(|(token, index)| (token.pack(), index)).collect();
        let mut counts = BTreeMap::new();
        for index in commands.values() {
            *counts.entry(*index).or_default() += 1;
        }
        self.orphans += commands.len();
        let gone = DepartedHost { commands, counts, is_cancelled: false, untold: u64::MAX };
        self.connections.insert(dest_id, gone);
        self.news.push(dest_id);
    }

    /// Ends a command of the plugin at `index`. Returns whether there was one.
    pub(crate) fn end(&mut self, token: u64, dest_id: u64, index: usize) -> bool {
        let Some(gone) = self.connections.get_mut(&dest_id) else { return false };
        let Some(owner) = gone.commands.get(&token).copied().filter(|at| usize::from(*at) == index)
        else {
            return false;
        };
        gone.commands.remove(&token);
        self.orphans -= 1;
        if let Some(count) = gone.counts.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                gone.counts.remove(&owner);
                self.news.push(dest_id);
            }
        }
        true
    }

    /// Fails at the limit of unanswered commands: each takes memory here and in its plugin.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let count = self.orphans;
        if count < MOST_ORPHANS {
            return Ok(());
        }
        let text = format!(
            "the plugins of this worker have left {count} commands of hosts that have left \
             unanswered, and {MOST_ORPHANS} is the limit: use another worker, or start this one \
             again when its last host has left"
        );
        Err(Failure::new(DocaError::FULL, text))
    }

    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Cancels a connection's commands. Reports its end to each plugin without commands of it.
    #[cold]
    pub(crate) fn notify_plugins(
        &mut self,
        plugins: usize,
        cancel: impl Fn(usize, u64, u64),
        host_left: impl Fn(usize, u64),
    ) {
        for dest_id in std::mem::take(&mut self.news) {
            let Some(gone) = self.connections.get_mut(&dest_id) else { continue };
            if !std::mem::replace(&mut gone.is_cancelled, true) {
                for (token, index) in &gone.commands {
                    cancel(usize::from(*index), dest_id, *token);
                }
            }
            let busy = gone.counts.keys().fold(0, |busy, index| busy | 1 << index);
            for index in 0..plugins {
                if gone.untold & !busy & (1 << index) != 0 {
                    host_left(index, dest_id);
                }
            }
            gone.untold &= busy;
            if gone.untold == 0 {
                self.connections.remove(&dest_id);
            }
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.orphans == 0
    }
}
