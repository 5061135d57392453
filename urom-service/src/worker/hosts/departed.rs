//! Connections that are over: their commands that plugins have not answered yet, and the plugins
//! that have not been told.

use std::collections::{BTreeMap, HashMap};

use urom_abi::DocaError;
use urom_wire::control::Failure;
use urom_wire::frame::MAX_SLOTS;

use super::Token;

/// How many commands of hosts that are gone may wait for their plugins before no more hosts are let
/// in: four times what one host may have in flight.
const MOST_ORPHANS: usize = 4 * MAX_SLOTS;

#[derive(Debug, Default)]
pub(crate) struct Departed {
    /// By the numbers that plugins know connections by.
    connections: HashMap<u64, Gone>,
    /// How many commands all of them have.
    orphans: usize,
    /// Connections of which some plugins are to be told something.
    news: Vec<u64>,
}

/// A connection that is over.
#[derive(Debug)]
struct Gone {
    /// The plugins' places by the tokens of its commands.
    commands: BTreeMap<u64, u8>,
    /// How many commands each plugin has, by its place.
    counts: BTreeMap<u8, usize>,
    /// Whether plugins were told of its commands that nobody waits for.
    is_cancelled: bool,
    /// The plugins that were not told of its end, by their places.
    untold: u64,
}

impl Departed {
    /// Adds a connection, with its commands in flight and the places of their plugins.
    pub(crate) fn add(&mut self, dest_id: u64, in_flight: impl Iterator<Item = (Token, u8)>) {
        let commands: BTreeMap<u64, u8> =
            in_flight.map(|(token, place)| (token.pack(), place)).collect();
        let mut counts = BTreeMap::new();
        for place in commands.values() {
            *counts.entry(*place).or_default() += 1;
        }
        self.orphans += commands.len();
        let gone = Gone { commands, counts, is_cancelled: false, untold: u64::MAX };
        self.connections.insert(dest_id, gone);
        self.news.push(dest_id);
    }

    /// Notes that the plugin in `place` is done with a command. Whether it is one of these, and
    /// that plugin's.
    pub(crate) fn end(&mut self, token: u64, dest_id: u64, place: usize) -> bool {
        let Some(gone) = self.connections.get_mut(&dest_id) else { return false };
        let Some(owner) = gone.commands.get(&token).copied().filter(|at| usize::from(*at) == place)
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

    /// Fails when plugins have left so many commands of hosts that are gone unanswered that no more
    /// may come: each takes memory, here and in its plugin.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let count = self.orphans;
        if count < MOST_ORPHANS {
            return Ok(());
        }
        let text = format!(
            "the plugins of this worker have left {count} commands of hosts that are gone \
             unanswered, and {MOST_ORPHANS} is the limit: use another worker, or start this one \
             again when its last host has left"
        );
        Err(Failure::new(DocaError::FULL, text))
    }

    /// Whether there is something to [tell](Departed::tell).
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Cancels a connection's commands at their plugins, each by its place, and when these have
    /// ended, reports to each plugin that the host has left.
    #[cold]
    pub(crate) fn tell(
        &mut self,
        plugins: usize,
        cancel: impl Fn(usize, u64, u64),
        host_left: impl Fn(usize, u64),
    ) {
        for dest_id in std::mem::take(&mut self.news) {
            let Some(gone) = self.connections.get_mut(&dest_id) else { continue };
            if !std::mem::replace(&mut gone.is_cancelled, true) {
                for (token, place) in &gone.commands {
                    cancel(usize::from(*place), dest_id, *token);
                }
            }
            let busy = gone.counts.keys().fold(0, |busy, place| busy | 1 << place);
            for place in 0..plugins {
                if gone.untold & !busy & (1 << place) != 0 {
                    host_left(place, dest_id);
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
