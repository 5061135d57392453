//! Round trips of the kit against an alternative: a unary call of tonic.
//!
//! tonic sleeps in the kernel between messages. *Spinning*: both ends of the kit poll. *Asleep*:
//! both ends sleep before each command, so the worker must be woken, and tonic pauses as long
//! before each call.

use std::time::{Duration, Instant};

use anyhow::Result;
use bench_peers as tonic_echo;
use rustix::event::{PollFd, PollFlags, poll};

use crate::child::{self, Child};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::Launch;
use crate::party::{Party, answered};
use crate::process::Process;

/// Longer than a worker polls after its last work, so that it sleeps before the next command.
const PAUSE: Duration = Duration::from_micros(500);

pub(crate) fn serve(core: usize) -> Result<()> {
    pin(core)?;
    // A failed write means that the parent has ended.
    tonic_echo::serve(|address| drop(child::answer(&address.to_string())))
}

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut server = Child::start(Process::Tonic(launch.cores.worker()).command()?)?;
    let address: String = server.answer()?;
    let party = Party::start(launch)?;
    let mut tonic = tonic_echo::Client::at(address.parse()?)?;
    let mut figures = Vec::new();
    for (how, asleep, note) in [
        (
            "spinning",
            false,
            "the kit polls at both ends; the peer sleeps in the kernel, as it always does",
        ),
        ("asleep", true, "both ends sleep before each round trip, and the worker has to be woken"),
    ] {
        // Nanoseconds of a trip of the kit or of tonic, without pauses.
        let mut round = |side: usize, trips: u64| -> Result<f64> {
            let mut timed = Duration::ZERO;
            let (rounds, at_once) = if asleep { (trips, 1) } else { (1, trips) };
            for _ in 0..rounds {
                if asleep {
                    std::thread::sleep(PAUSE);
                }
                let begin = Instant::now();
                match side {
                    0 if asleep => kit_asleep(&party)?,
                    0 => (0..at_once).try_for_each(|data| party.loopback(data))?,
                    _ => tonic.round_trips(at_once)?,
                }
                timed += begin.elapsed();
            }
            Ok(timed.as_nanos() as f64 / trips as f64)
        };
        let mut trips = [0; 2];
        for (side, trips) in trips.iter_mut().enumerate() {
            // Pauses are not measured, but are part of a round's length.
            let begin = Instant::now();
            round(side, 20)?;
            let each = begin.elapsed().as_nanos() as f64 / 20.0;
            *trips = launch.trips(each, 20).min(1_000_000);
        }
        let name = format!("peers/tonic/{}-{how}", launch.transport.name());
        let compared =
            launch.compare(name, "tonic unary call over TCP", |side| round(side, trips[side]))?;
        figures.push(compared.note(note));
    }
    Ok(figures)
}

/// A round trip that never polls twice in a row: it sleeps until the engine has news.
fn kit_asleep(party: &Party) -> Result<()> {
    let engine = party.worker.engine();
    let task = party.graph.task_loopback(&party.worker, 7).submit()?;
    loop {
        while engine.progress() {}
        if task.is_complete() {
            return answered(7, task);
        }
        engine.request_notification()?;
        poll(&mut [PollFd::new(engine, PollFlags::IN)], None)?;
        engine.clear_notification()?;
    }
}
