//! Round trips of the kit against what a user might build instead: a unary call of tonic, and a plain tokio echo over a
//! Unix socket.
//!
//! The peers sleep in the kernel between messages. The kit is measured in both of its modes: *spinning*, where both ends
//! poll, and *asleep*, where both ends sleep before each command, so that the worker has to be woken, while the host polls before it would sleep. For the
//! latter the peers pause just as long before each call.
//!
//! Most of a round trip asleep is the two times that the kernel wakes somebody. What these take by themselves is measured in
//! the same rounds: two bare threads on the same cores, which pause as long and wake each other over a connection, or by events
//! where the kit has shared memory.

mod host;
mod server;

use anyhow::{Context, Result, ensure};
use urom_tests::{PluginDirectory, Uromd};

use self::host::{Arguments, Done, Order, Role, Side};
use self::server::Server;
use super::Suite;
use crate::child::Child;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::{in_turns, median};
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "round trips against a tonic unary echo, a tokio Unix-socket echo and two bare threads",
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
        let servers =
            [Side::Tonic, Side::UnixSocket].map(|side| Server::start(side, extent.cores.worker()));
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
                transport,
                tonic: tonic.address().to_owned(),
                unix_socket: unix_socket.address().to_owned(),
                core: extent.cores.host(0),
                worker_core: extent.cores.worker(),
            };
            let mut host =
                Child::start(NAME, &Role::Host(arguments), |command| command.env(variable, value))?;
            for contest in CONTESTS.iter().filter(|contest| contest.transport == transport) {
                figures.extend(contest.measure(extent, &mut host)?);
            }
            host.finish()?;
            ensure!(daemon.stop()?.success(), "uromd did not end in order");
        }
        Ok(figures)
    })
}

/// What is measured: the kit, then each peer.
const AWAKE: [Side; 3] = [Side::Kit, Side::Tonic, Side::UnixSocket];
const ASLEEP: [Side; 4] = [Side::Kit, Side::Tonic, Side::UnixSocket, Side::Threads];

impl Contest {
    fn measure(&self, extent: &Extent, host: &mut Child) -> Result<Vec<Figure>> {
        if !self.asleep {
            let note =
                "the kit polls at both ends; the peer sleeps in the kernel, as it always does";
            let [kit, tonic, unix_socket] = self.rounds(extent, host, AWAKE)?;
            let figure = |side, each| self.figure(side, kit).against(side.about(), each).note(note);
            return Ok(vec![figure(Side::Tonic, tonic), figure(Side::UnixSocket, unix_socket)]);
        }
        let note = "both ends sleep before each, and the worker has to be woken; the host polls for the answer before it would sleep";
        let [kit, tonic, unix_socket, threads] = self.rounds(extent, host, ASLEEP)?;
        let figure =
            |side: Side, each| self.figure(side, kit).against(side.about(), each).note(note);
        let floor =
            Figure::new(format!("{NAME}/threads-against-tonic/{}", self.name), "ns", threads);
        Ok(vec![
            figure(Side::Tonic, tonic),
            figure(Side::UnixSocket, unix_socket),
            figure(Side::Threads, threads),
            floor
                .against(Side::Tonic.about(), tonic)
                .note("the two threads in the kit's place: what is left to a service that sleeps"),
        ])
    }

    /// The kit beside a peer.
    fn figure(&self, peer: Side, kit: f64) -> Figure {
        Figure::new(format!("{NAME}/{}/{}", peer.name(), self.name), "ns", kit)
    }

    /// What a round trip of each side takes, all of them in turns.
    fn rounds<const SIDES: usize>(
        &self,
        extent: &Extent,
        host: &mut Child,
        sides: [Side; SIDES],
    ) -> Result<[f64; SIDES]> {
        let mut trips = [0; SIDES];
        for (side, trips) in sides.into_iter().zip(&mut trips) {
            let first: Done = host.ask(&Order { side, trips: 20, asleep: self.asleep })?;
            // A pause is no part of what is measured, but of how long a round takes.
            *trips =
                (extent.round().as_nanos() as u64 / first.elapsed.max(1) * 20).clamp(20, 1_000_000);
        }
        let rounds = in_turns::<Done, SIDES>(extent.rounds(), |side| {
            host.ask(&Order { side: sides[side], trips: trips[side], asleep: self.asleep })
        })?;
        let mut medians = [0.0; SIDES];
        for (rounds, median_of) in rounds.iter().zip(&mut medians) {
            let each: Vec<_> = rounds.iter().map(|done| done.each).collect();
            *median_of = median(&each).context("no round was measured")?;
        }
        Ok(medians)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_budgets_are_about_is_measured() {
        for row in crate::budget::ROWS.iter().filter(|row| row.suite == NAME) {
            let measured = CONTESTS.iter().any(|contest| {
                row.figures == format!("{NAME}/{}/{}", Side::Tonic.name(), contest.name)
            });
            assert!(measured, "{}", row.figures);
        }
    }
}
