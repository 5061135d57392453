//! A hundred million loopbacks in one run: every value comes back, and memory stays constant after
//! the warm-up.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Pid;
use urom_tests::PluginDirectory;

use crate::host::{MARKS, Order, Said};
use crate::service::{FAULTY, Logs, Service};
use crate::suite::{Extent, Figure, Outcome};
use crate::transports::Transports;
use crate::vitals::resident;

const WORKER: u64 = 1;
const PLUGIN: &str = "worker_graph";

const IN_FLIGHT: u32 = 64;

const MARK_LIMIT: Duration = Duration::from_secs(300);

/// Length of the warm-up, with all first-use allocations, in hundredths of the run.
const WARM_UP: usize = 10;

/// Allowed growth above the peak of the warm-up, in KiB. A leak of one byte a command would add 90
/// MiB in a full run.
const TOLERANCE: u64 = 1024;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let commands = extent.commands.unwrap_or(extent.pick(200_000, 100_000_000));
    let logs = Logs::new()?;
    let figures = endure(commands, extent.seed, &logs).with_context(|| logs.tails())?;
    Ok(Outcome::Passed { done: format!("{commands} loopbacks"), figures })
}

fn endure(commands: u64, seed: u64, logs: &Logs) -> Result<Vec<Figure>> {
    let plugins = PluginDirectory::with(&[FAULTY, PLUGIN])?;
    let service = Service::with(plugins, Transports::All, logs, |command| command)?;
    let mut host = service.host("host")?;
    let worker = host
        .try_start_with(WORKER, &[PLUGIN.to_owned()], &[])?
        .map_err(|trouble| anyhow::anyhow!("cannot start the worker: {}", trouble.text))?;
    let mut watched =
        [("host", host.pid()), ("worker", worker), ("daemon", service.pid())].map(Watched::new);
    let begin = Instant::now();
    host.tell(&Order::Loopbacks { worker: WORKER, commands, in_flight: IN_FLIGHT, seed })?;
    let tally = loop {
        let next = host.hear_of(WORKER, MARK_LIMIT, "hundredth", |said| match said {
            Said::Marked => Some(None),
            Said::Over(tally) => Some(Some(tally.clone())),
            _ => None,
        })?;
        match next {
            None => watched.iter_mut().try_for_each(Watched::look)?,
            Some(tally) => break tally,
        }
    };
    let took = begin.elapsed();
    ensure!(
        tally.violations.is_empty() && tally.errors.is_empty(),
        "not every value came back: {tally:?}"
    );
    ensure!(tally.values == commands, "{} values of {commands} came back", tally.values);
    watched.iter().try_for_each(Watched::is_flat)?;
    host.leave(WORKER)?;
    host.disconnect()?;
    host.is_quiet()?;
    service.end()?;
    let note =
        format!("in {:.1} s, {IN_FLIGHT} in flight, every value checked", took.as_secs_f64());
    let mut figures = vec![Figure::new("endurance/loopbacks", "", commands as f64, note)];
    figures.extend(watched.iter().map(Watched::figure));
    Ok(figures)
}

#[derive(Debug)]
struct Watched {
    name: &'static str,
    pid: Pid,
    samples: Vec<u64>,
}

impl Watched {
    fn new((name, pid): (&'static str, Pid)) -> Watched {
        Watched { name, pid, samples: Vec::with_capacity(MARKS as usize) }
    }

    fn look(&mut self) -> Result<()> {
        self.samples.push(resident(self.pid)?);
        Ok(())
    }

    fn growth(&self) -> u64 {
        let (warm_up, later) = self.samples.split_at(WARM_UP.min(self.samples.len()));
        let most = |samples: &[u64]| samples.iter().copied().max().unwrap_or_default();
        most(later).saturating_sub(most(warm_up))
    }

    fn is_flat(&self) -> Result<()> {
        let Watched { name, samples, .. } = self;
        ensure!(
            self.growth() <= TOLERANCE,
            "the {name} grew by more than {TOLERANCE} KiB; in KiB, hundredth by hundredth: {samples:?}"
        );
        Ok(())
    }

    fn figure(&self) -> Figure {
        let last = self.samples.last().copied().unwrap_or_default();
        let note = format!(
            "beyond the first {WARM_UP} of {} samples; {last} KiB at last",
            self.samples.len()
        );
        Figure::new(format!("endurance/growth/{}", self.name), "KiB", self.growth() as f64, note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(samples: Vec<u64>) -> Watched {
        Watched { samples, ..Watched::new(("host", rustix::process::getpid())) }
    }

    #[test]
    fn growth_after_the_warm_up_is_not_flat() {
        let steady = [vec![100; WARM_UP], vec![100 + TOLERANCE; 90]].concat();
        assert!(watched(steady.clone()).is_flat().is_ok());
        let grown = [steady, vec![101 + TOLERANCE]].concat();
        assert!(watched(grown).is_flat().is_err());
    }

    #[test]
    fn growth_in_the_warm_up_does_not_count() {
        assert_eq!(watched([vec![1; WARM_UP - 1], vec![1 << 20; 91]].concat()).growth(), 0);
    }
}
