//! Connections that are over: their commands that plugins have not answered yet, and the plugins
//! that have not been told.

use std::collections::HashMap;

use urom_abi::DocaError;
use urom_abi::extension::CancelReason;
use urom_wire::control::Failure;
use urom_wire::frame::MAX_SLOTS;

use super::instance::Instance;
use super::slot::Token;

/// How many commands of hosts that are gone may wait for their plugins before no more hosts are let
/// in: four times what one host may have in flight.
const MOST_ORPHANS: usize = 4 * MAX_SLOTS;

#[derive(Debug, Default)]
pub(crate) struct Departed {
    /// The plugins' places by the tokens and connections of commands whose hosts are gone.
    orphans: HashMap<(u64, u64), u8>,
    connections: Vec<Connection>,
    has_news: bool,
}

#[derive(Debug)]
struct Connection {
    dest_id: u64,
    /// Whether plugins were told of its commands that nobody waits for.
    is_cancelled: bool,
    /// The plugins that were not told of its end, by their places.
    untold: u64,
}

impl Departed {
    /// Adds a connection, with its commands in flight and the places of their plugins.
    pub(crate) fn add(&mut self, dest_id: u64, in_flight: impl Iterator<Item = (Token, u8)>) {
        self.orphans.extend(in_flight.map(|(token, place)| ((token.pack(), dest_id), place)));
        self.connections.push(Connection { dest_id, is_cancelled: false, untold: u64::MAX });
        self.has_news = true;
    }

    /// Notes that the plugin in `place` is done with a command. Whether it is one of these, and
    /// that plugin's.
    pub(crate) fn end(&mut self, token: u64, dest_id: u64, place: usize) -> bool {
        let owner = self.orphans.get(&(token, dest_id));
        let is_its = owner.is_some_and(|owner| usize::from(*owner) == place);
        if is_its {
            self.orphans.remove(&(token, dest_id));
            self.has_news = true;
        }
        is_its
    }

    /// Fails when plugins have left so many commands of hosts that are gone unanswered that no more
    /// may come: each takes memory, here and in its plugin.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let count = self.orphans.len();
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
        self.has_news
    }

    /// Tells plugins first that nobody waits for a connection's commands, and when these have
    /// ended, that its host has left.
    #[cold]
    pub(crate) fn tell(&mut self, plugins: &[Instance]) {
        self.has_news = false;
        let orphans = &self.orphans;
        self.connections.retain_mut(|Connection { dest_id, is_cancelled, untold }| {
            let is_news = !std::mem::replace(is_cancelled, true);
            let mut busy = 0;
            for ((token, _), place) in orphans.iter().filter(|((_, of), _)| of == dest_id) {
                busy |= 1 << place;
                if let Some(plugin) = plugins.get(usize::from(*place)).filter(|_| is_news) {
                    plugin.cancel(*dest_id, *token, CancelReason::HOST_LEFT);
                }
            }
            for (place, plugin) in plugins.iter().enumerate() {
                if *untold & !busy & (1 << place) != 0 {
                    plugin.host_left(*dest_id);
                }
            }
            *untold &= busy;
            *untold != 0
        });
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.orphans.is_empty()
    }
}
