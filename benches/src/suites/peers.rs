//! Round trips of the kit against what a user might build instead: a unary call of tonic.
//!
//! tonic sleeps in the kernel between messages. *Spinning*, both ends of the kit poll. *Asleep*,
//! both ends sleep before each command, so the worker has to be woken, and tonic pauses as long
//! before each call.
//!
//! Most of a round trip asleep is the two times that the kernel wakes a thread. These are measured
//! in the same rounds: two bare threads on the same cores.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bench_peers as tonic_echo;
use graph_protocol::Client as Graph;
use rustix::event::{PollFd, PollFlags, poll};
use urom_host::{Host, Worker};

use super::sleeper::Sleeper;
use super::{Part, Suite};
use crate::child::{self, Child};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Launch, worker};
use crate::statistics::{in_turns, of_rounds};

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "round trips against a tonic unary echo and two bare threads",
    parts: &[Part::new(measure)],
    process: Some(serve),
};

const NAME: &str = "peers";

/// Longer than a worker polls after its last work, so that it sleeps when the next command comes.
const PAUSE: Duration = Duration::from_micros(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Kit,
    Tonic,
    /// Two threads and nothing else, which can only be asleep.
    Threads,
}

/// Each with its part of figures' names, and what a reader sees.
const SIDES: [(Side, &str, &str); 3] = [
    (Side::Kit, "kit", "kit"),
    (Side::Tonic, "tonic", TONIC),
    (Side::Threads, "threads", "two threads that wake each other"),
];
const TONIC: &str = "tonic unary call over TCP";

/// The server, pinned to the worker's core, which its arguments say.
fn serve(core: &str) -> Result<()> {
    pin(serde_json::from_str(core).context("malformed arguments")?)?;
    // Nobody is left to read a line that cannot be written.
    tonic_echo::serve(|address| drop(child::answer(&address.to_string())))
}

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut server = Child::start(child::of_suite(NAME, &launch.cores.worker())?)?;
    let address: String = server.answer()?;
    let daemon = launch.daemon(&["worker_graph"])?;
    let service = daemon.connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let worker = worker(&service, &[graph.plugin()], launch.cores.worker())?;
    let sleeper = Sleeper::start(launch.transport, launch.cores.worker())?;
    pin(launch.cores.host(0))?;
    let tonic = tonic_echo::Client::at(address.parse()?)?;
    let mut party = Party { graph, worker, tonic, sleeper };
    let transport = launch.transport.name();
    let mut figures = Vec::new();
    for (how, sides, note) in [
        (
            "spinning",
            &SIDES[..2],
            "the kit polls at both ends; the peer sleeps in the kernel, as it always does",
        ),
        (
            "asleep",
            &SIDES,
            "both ends sleep before each round trip, and the worker has to be woken",
        ),
    ] {
        let medians = party.rounds(launch, sides, how == "asleep")?;
        for ((_, name, about), peer) in sides.iter().zip(&medians).skip(1) {
            let figure = Figure::new(format!("{NAME}/{name}/{transport}-{how}"), "ns", medians[0]);
            figures.push(figure.against(about, *peer).note(note));
        }
        if let [_, tonic, threads] = medians[..] {
            let name = format!("{NAME}/threads-against-tonic/{transport}-{how}");
            let note = "the two threads in the kit's place: the best of any service that sleeps";
            figures.push(Figure::new(name, "ns", threads).against(TONIC, tonic).note(note));
        }
    }
    Ok(figures)
}

struct Party {
    graph: Graph<Host>,
    worker: Worker,
    tonic: tonic_echo::Client,
    sleeper: Sleeper,
}

impl Party {
    /// Nanoseconds of a round trip of each side: the medians of rounds in turns.
    fn rounds(
        &mut self,
        launch: &Launch,
        sides: &[(Side, &str, &str)],
        asleep: bool,
    ) -> Result<Vec<f64>> {
        let mut trips = Vec::new();
        for (side, ..) in sides {
            // Pauses are not measured, but are part of a round's length.
            let begin = Instant::now();
            self.round(*side, 20, asleep)?;
            let each = begin.elapsed().as_nanos() as f64 / 20.0;
            trips.push(launch.trips(each, 20).min(1_000_000));
        }
        let round = |side: usize| self.round(sides[side].0, trips[side], asleep);
        let rounds = in_turns(launch.rounds(), sides.len(), round)?;
        rounds.iter().map(|rounds| of_rounds(rounds)).collect()
    }

    /// Nanoseconds of a trip, pauses apart.
    fn round(&mut self, side: Side, trips: u64, asleep: bool) -> Result<f64> {
        let mut timed = Duration::ZERO;
        for at_once in if asleep { vec![1; trips as usize] } else { vec![trips] } {
            if asleep {
                std::thread::sleep(PAUSE);
            }
            let begin = Instant::now();
            match side {
                Side::Kit if asleep => self.kit_asleep()?,
                Side::Kit => (0..at_once).try_for_each(|data| self.kit_spinning(data))?,
                Side::Tonic => self.tonic.round_trips(at_once)?,
                Side::Threads => self.sleeper.wake()?,
            }
            timed += begin.elapsed();
        }
        Ok(timed.as_nanos() as f64 / trips as f64)
    }

    fn kit_spinning(&self, data: u64) -> Result<()> {
        let done = self.graph.task_loopback(&self.worker, data).submit()?.wait()?;
        ensure!(done.data == data, "sent {data}, got {}", done.data);
        Ok(())
    }

    /// A round trip that never polls twice in a row: without news it sleeps until the engine has
    /// some.
    fn kit_asleep(&self) -> Result<()> {
        const DATA: u64 = 7;
        let engine = self.worker.engine();
        let task = self.graph.task_loopback(&self.worker, DATA).submit()?;
        loop {
            while engine.progress() {}
            if task.is_complete() {
                break;
            }
            engine.request_notification()?;
            let mut fds = [PollFd::new(engine, PollFlags::IN)];
            poll(&mut fds, None)?;
            engine.clear_notification()?;
        }
        let done = task.wait()?;
        ensure!(done.data == DATA, "sent {DATA}, got {}", done.data);
        Ok(())
    }
}
