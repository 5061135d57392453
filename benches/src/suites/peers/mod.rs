//! Round trips of the kit against what a user might build instead: a unary call of tonic, and a plain tokio echo over a
//! Unix socket.
//!
//! The peers sleep in the kernel between messages. The kit is measured in both of its modes: *spinning*, where both ends
//! poll, and *asleep*, where both ends sleep before each command and the host sleeps until its answer wakes it. For the
//! latter the peers pause just as long before each call.

mod host;
mod server;

use std::cell::RefCell;

use anyhow::{Context, Result, ensure};
use urom_tests::{PluginDirectory, Uromd};

use self::host::{Arguments, Done, Order, Role, Side};
use self::server::Server;
use super::Suite;
use crate::child::Child;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::{alternate, median};
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "round trips against a tonic unary echo and a tokio Unix-socket echo",
    run,
    child: Some(host::run),
};

const NAME: &str = "peers";

/// What is compared in one pair of figures.
struct Contest {
    name: &'static str,
    transport: Transport,
    asleep: bool,
}

const CONTESTS: [Contest; 4] = [
    Contest { name: "tcp-spinning", transport: Transport::Tcp, asleep: false },
    Contest { name: "tcp-asleep", transport: Transport::Tcp, asleep: true },
    Contest { name: "shm-spinning", transport: Transport::SharedMemory, asleep: false },
    Contest { name: "shm-asleep", transport: Transport::SharedMemory, asleep: true },
];

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    extent.launches(NAME, |_| {
        let servers = [Side::Tonic, Side::UnixSocket].map(|side| Server::start(side, extent.cores.worker()));
        let [tonic, unix_socket] = servers;
        let (tonic, unix_socket) = (tonic?, unix_socket?);
        let mut figures = Vec::new();
        for transport in Transport::ALL {
            let plugins = PluginDirectory::with(&["worker_graph"])?;
            let (variable, value) = transport.variable();
            let daemon = Uromd::start_with(plugins.variable(), |command| {
                command.args(["-l", "30"]).env(variable, value)
            })?;
            let arguments = Arguments {
                daemon: daemon.address().to_owned(),
                tonic: tonic.address().to_owned(),
                unix_socket: unix_socket.address().to_owned(),
                core: extent.cores.host(0),
                worker_core: extent.cores.worker(),
            };
            let mut host =
                Child::start(NAME, &Role::Host(arguments), |command| command.env(variable, value))?;
            for contest in CONTESTS.iter().filter(|contest| contest.transport == transport) {
                for side in [Side::Tonic, Side::UnixSocket] {
                    figures.push(contest.measure(extent, &mut host, side)?);
                }
            }
            host.finish()?;
            ensure!(daemon.stop()?.success(), "uromd did not end in order");
        }
        Ok(figures)
    })
}

impl Contest {
    fn measure(&self, extent: &Extent, host: &mut Child, peer: Side) -> Result<Figure> {
        let mut calibrate = |side| -> Result<u64> {
            let first: Done = host.ask(&Order { side, trips: 20, asleep: self.asleep })?;
            // A pause is no part of what is measured, but of how long a round takes.
            Ok((extent.round().as_nanos() as u64 / first.elapsed.max(1) * 20).clamp(20, 1_000_000))
        };
        let trips = [calibrate(Side::Kit)?, calibrate(peer)?];
        let host = RefCell::new(host);
        let round = |side, trips| -> Result<Done> {
            host.borrow_mut().ask(&Order { side, trips, asleep: self.asleep })
        };
        let [kit, other] =
            alternate(extent.rounds(), || round(Side::Kit, trips[0]), || round(peer, trips[1]))?;
        let each = |rounds: &[Done]| {
            median(&rounds.iter().map(|done| done.each).collect::<Vec<_>>()).context("no round was measured")
        };
        let note = match self.asleep {
            true => "both ends sleep before each, and the host sleeps until its answer is there",
            false => "the kit polls at both ends; the peer sleeps in the kernel, as it always does",
        };
        let figure = Figure::new(format!("{NAME}/{}/{}", peer.name(), self.name), "ns", each(&kit)?);
        Ok(figure.against(peer.about(), each(&other)?).note(note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_budgets_are_about_is_measured() {
        for row in crate::budget::ROWS.iter().filter(|row| row.suite == NAME) {
            let measured = CONTESTS
                .iter()
                .any(|contest| row.figures == format!("{NAME}/{}/{}", Side::Tonic.name(), contest.name));
            assert!(measured, "{}", row.figures);
        }
    }
}
