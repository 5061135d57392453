//! Hosts that flood or stop reading: they are disconnected or left waiting, and other hosts of the
//! same worker or daemon go on.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use rustix::process::Pid;
use urom_tests::PluginDirectory;

use crate::bystander::{Paces, Repeats, TRIES, pace_until, usual_pace};
use crate::ending::wait_for_end;
use crate::host::Kind;
use crate::measure::Times;
use crate::process::{END, HostProcess, Program, TIMEOUT};
use crate::rude::{Manner, Outcry};
use crate::service::{FAULTY, Logs, Service};
use crate::suite::{Extent, Figure, Outcome};
use crate::transports::Transports;
use crate::vitals::{Vitals, peak, returns, unsent, vitals, watch_peak};

const WORKER: u64 = 1;

const ANOTHER: u64 = 2;

const STARTS: Duration = Duration::from_secs(3);

/// Time limit for disconnecting a host that floods a worker.
const BUDGET: Duration = Duration::from_secs(5);

const A_FEW: u64 = 500;

/// Observation time of the other host; the rude host goes on after its disconnect.
const BESIDE: Duration = Duration::from_secs(1);

/// Allowed slowdown of the other host: both hosts use the same worker, and the three busy processes
/// may have two processors.
const SLOWER: u32 = 20;

/// Allowed growth of worker or daemon meanwhile, in KiB: floods are hundreds of MiB.
const HIGH_WATER: u64 = 32 * 1024;

/// `--max-unread` in bytes: enough for all answers to `Manner::StopsReading`.
const LIMIT: &str = "16777216";

/// Allowed growth afterwards, in KiB: the C library returns memory late.
const TOLERANCE: u64 = 3 * 1024;

const FULL: u32 = 256 * 1024;

/// Least expected memory for answers beyond the ring's capacity, in KiB.
const KEPT: u64 = 4 * 1024;

const RECEIVE_BUFFER: (&str, &str) = ("UCX_TCP_RCVBUF", "64K");

/// `--max-unread` in [`hoard`], in bytes. The answers take about 11 MiB.
const UNREAD: u64 = 2 << 20;

/// Allowed growth of a worker for each host of `hoard`, in KiB.
const HOARD: u64 = 3 * 1024;

const REPEATS: u32 = 4;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let (mut times, mut played) = (Times::default(), 0);
    let (mut repeats, mut hung) = (Repeats::at_most(REPEATS), 0);
    let rounds = extent.rounds.unwrap_or(extent.pick(1, 5));
    for transports in [Transports::All, Transports::Tcp] {
        let mut scene = Scene::new(transports)?;
        for _ in 0..rounds {
            // The daemon's streams do not depend on UCX's transports.
            let daemons = |manner: &&Manner| **manner == Manner::AsksWithoutReading;
            let manners = Manner::value_variants().iter();
            for manner in manners.filter(|manner| transports == Transports::Tcp || !daemons(manner))
            {
                let name = format!("{} over {transports:?}", name(*manner));
                let took = scene
                    .play(*manner, &mut repeats)
                    .with_context(|| format!("{name}\n{}\n{name}", scene.logs.tails()))?;
                played += 1;
                println!("  {name}: {:.3} s", took.as_secs_f64());
                times.add(format!("hosts/{}", name.replace(' ', "-").to_lowercase()), None, took);
            }
        }
        hung += scene.hung;
        scene.end()?;
    }
    let grew = hoard().context("two hosts that read nothing")?;
    let mut figures = times.figures();
    let note = "times a host that sent without reading could send no more, and was still connected";
    figures.push(Figure::new("hosts/hung", "", hung.into(), note));
    let note = "KiB that a worker was larger for two hosts which may each leave 2048 KiB unread";
    figures.push(Figure::new("hosts/unread", "KiB", grew as f64, note));
    figures.push(repeats.figure("hosts"));
    Ok(Outcome::Passed { done: format!("{played} rude hosts, {repeats}"), figures })
}

/// Starts two hosts that exceed `--max-unread`: the worker disconnects them and frees their
/// answers. Returns the worker's growth in KiB.
fn hoard() -> Result<u64> {
    let limit = UNREAD.to_string();
    let mut scene = Scene::with(Transports::Tcp, &["--max-unread", &limit])?;
    let [(_, worker), _] = scene.victims();
    let (before, resident) = (vitals(worker)?, watch_peak(worker)?);
    let start = || {
        Rude::start(
            scene.service.address(),
            Manner::StopsReading,
            scene.transports,
            scene.logs.file("rude")?,
        )
    };
    let mut rude = [start()?, start()?];
    for host in &mut rude {
        let why = host.disconnected(BUDGET)?.unwrap_or_default();
        ensure!(
            why.contains("has not read 2 MiB") && why.contains("--max-unread"),
            "it was disconnected: {why}"
        );
    }
    scene.good.pass_within(END, WORKER, A_FEW).context("the other host is kept waiting")?;
    let grew = peak(worker)?.saturating_sub(resident);
    ensure!(grew <= 2 * HOARD, "the worker had {resident} KiB, and {grew} KiB more meanwhile");
    drop(rude);
    returns(worker, "the worker", before, END, TOLERANCE)?;
    scene.good.is_quiet()?;
    scene.end()?;
    Ok(grew)
}

fn name(manner: Manner) -> String {
    manner.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Expected reasons for the disconnect; `None` if the manner is allowed.
fn verdict(manner: Manner) -> Option<&'static [&'static str]> {
    match manner {
        Manner::Beyond => Some(&["task slot 64 is beyond the 64 it asked for"]),
        // The reason depends on the speed of the plugin.
        Manner::Floods | Manner::SendsWithoutReading => {
            Some(&["already has a command in flight", "the host has not read 16 MiB"])
        }
        Manner::StopsReading => None,
        Manner::AsksWithoutReading => Some(&["reset by peer", "roken pipe"]),
    }
}

struct Scene {
    // Drop order: later processes end first.
    good: HostProcess,
    worker: Pid,
    service: Service,
    transports: Transports,
    logs: Logs,
    before: Vec<Vitals>,
    /// Number of rude hosts that stalled before they could be disconnected.
    hung: u32,
}

impl Scene {
    fn new(transports: Transports) -> Result<Scene> {
        let mut scene = Scene::with(transports, &["--max-unread", LIMIT])?;
        scene.settle()?;
        Ok(scene)
    }

    fn with(transports: Transports, args: &[&str]) -> Result<Scene> {
        let logs = Logs::new()?;
        let plugins = PluginDirectory::with(&[FAULTY])?;
        let service = Service::with(plugins, transports, &logs, |command| command.args(args))?;
        let mut good = service.host("good")?;
        let worker = good.start_worker(WORKER)?;
        let before = Vec::new();
        let mut scene = Scene { good, worker, service, transports, logs, before, hung: 0 };
        scene.good.load(WORKER, Kind::Busy, 8, 1)?;
        scene.good.pass(WORKER, A_FEW)?;
        Ok(scene)
    }

    /// Plays two manners, so that first-use allocations precede the comparison.
    fn settle(&mut self) -> Result<()> {
        self.before.clear();
        // Over TCP UCX keeps its request pool, with one request for each unread message.
        self.attend(Manner::SendsWithoutReading)?;
        self.attend(Manner::StopsReading)?;
        self.before =
            self.victims().map(|(_, pid)| vitals(pid)).into_iter().collect::<Result<_>>()?;
        Ok(())
    }

    fn victims(&self) -> [(&'static str, Pid); 2] {
        [("the worker", self.worker), ("the daemon", self.service.pid())]
    }

    /// Plays a manner; returns the time until the disconnect, or until the other host had its
    /// answers.
    fn play(&mut self, manner: Manner, repeats: &mut Repeats) -> Result<Duration> {
        for tries in 1.. {
            let (took, paces) = self.attend(manner)?;
            for ((name, pid), before) in self.victims().into_iter().zip(&self.before) {
                returns(pid, name, *before, END, TOLERANCE)?;
            }
            println!("    the other host beside it: {paces}");
            match paces.check(SLOWER) {
                Err(error) if tries == TRIES => {
                    return Err(error.context("the other host is kept waiting"));
                }
                Err(error) => repeats.add(error)?,
                Ok(()) => return Ok(took),
            }
        }
        unreachable!("it ends at last")
    }

    fn attend(&mut self, manner: Manner) -> Result<(Duration, Paces)> {
        let before = usual_pace(&mut self.good, WORKER)?;
        let victims = self.victims();
        let resident =
            victims.map(|(_, pid)| watch_peak(pid)).into_iter().collect::<Result<Vec<_>>>()?;
        let mut rude =
            Rude::start(self.service.address(), manner, self.transports, self.logs.file("rude")?)?;
        let asked = Instant::now();
        self.good.start_worker(ANOTHER)?;
        ensure!(
            asked.elapsed() <= STARTS,
            "a worker took {:?} to start beside it",
            asked.elapsed()
        );
        self.good.leave(ANOTHER)?;
        self.good.pace(WORKER)?;
        let begin = Instant::now();
        self.good.pass_within(END, WORKER, A_FEW).context("the other host is kept waiting")?;
        if let Some(texts) = verdict(manner) {
            let why = rude.disconnected(BUDGET)?;
            // A host that cannot send is harmless.
            let harmless = why.is_none() && manner == Manner::SendsWithoutReading;
            let named = why.as_ref().is_some_and(|why| texts.iter().any(|text| why.contains(text)));
            ensure!(harmless || named, "not disconnected, or for another reason: {why:?}");
            self.hung += u32::from(harmless);
        }
        let took = begin.elapsed();
        let beside = pace_until(&mut self.good, WORKER, Instant::now().max(begin + BESIDE));
        let beside = beside.context("the other host is kept waiting")?;
        match self.transports {
            _ if manner != Manner::StopsReading => {}
            Transports::Tcp => {
                let unsent = unsent(self.worker)?;
                ensure!(unsent >= FULL, "the worker could send all answers but {unsent} bytes");
            }
            Transports::All => {
                let kept = peak(self.worker)?.saturating_sub(resident[0]);
                ensure!(kept >= KEPT, "the worker keeps {kept} KiB: the ring had space");
            }
        }
        if verdict(manner).is_none() {
            let said: Option<Outcry> = rude.0.hear(Duration::ZERO)?;
            ensure!(said.is_none(), "that is allowed, and yet it reports {said:?}");
        }
        for ((name, pid), before) in victims.into_iter().zip(resident) {
            let most = peak(pid)?;
            ensure!(
                most <= before + HIGH_WATER,
                "{name} had {before} KiB, and {most} KiB meanwhile"
            );
        }
        drop(rude);
        self.good.pass_within(END, WORKER, A_FEW)?;
        self.good.is_quiet()?;
        Ok((took, Paces { before, beside }))
    }

    fn end(mut self) -> Result<()> {
        self.good.halt(WORKER)?;
        self.good.leave(WORKER)?;
        wait_for_end(self.worker, END, "a worker that its host has left")?;
        self.good.disconnect()?;
        self.service.end()
    }
}

struct Rude(Program);

impl Rude {
    fn start(address: &str, manner: Manner, transports: Transports, log: File) -> Result<Rude> {
        let mut rude = Rude(Program::start(&[], transports, log, |command| {
            command.arg("rude").arg(address).arg(WORKER.to_string()).arg(name(manner));
            command.env(RECEIVE_BUFFER.0, RECEIVE_BUFFER.1)
        })?);
        match rude.hear(TIMEOUT)? {
            Outcry::Begins => Ok(rude),
            other => bail!("the rude host was not let in: {other:?}"),
        }
    }

    fn hear(&mut self, limit: Duration) -> Result<Outcry> {
        let heard = self.0.hear(limit).context("the rude host")?;
        heard.with_context(|| format!("the rude host reports nothing within {limit:?}"))
    }

    fn disconnected(&mut self, limit: Duration) -> Result<Option<String>> {
        match self.hear(limit)? {
            Outcry::Disconnected(why) => Ok(Some(why)),
            Outcry::Hung => Ok(None),
            Outcry::Begins => bail!("it begins twice"),
        }
    }
}
