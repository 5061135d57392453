//! A daemon with two hosts: one at a misbehaving plugin's worker, and a bystander at another
//! worker, under load during all acts.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::Pid;
use unruly_protocol::PANICS;
use urom_host::DocaError;
use urom_tests::PluginDirectory;
use urom_tests::c::{Source, prefix};

use crate::bystander::{Paces, Repeats, pace_until, usual_pace};
use crate::ending::wait_for_end;
use crate::host::{Call, Kind, Trouble};
use crate::process::{END, HostProcess, TIMEOUT};
use crate::service::{FAULTY, Logs, Service};
use crate::transports::Transports;
use crate::vitals::{Vitals, returns, vitals};

/// Maximum number of answers before the plugin's own progress, which has every second turn.
const ANSWERED_BEFORE: usize = 2;

const ONE: u64 = 1;
const TWO: u64 = 2;

const UNRULY: &str = "worker_unruly";
const CORRUPT: &str = "worker_corrupt";

const DEADLINE: Duration = Duration::from_millis(300);

const FOR_EVER: Duration = Duration::from_secs(1 << 20);

const LATE: Duration = Duration::from_secs(1);

const A_FEW: u64 = 200;

const SLOWER: u32 = 5;

/// Limit of repeats of the act that measures the bystander.
const REPEATS: u32 = 1;

/// Allowed growth of the other processes, in KiB: the heap shrinks late.
const TOLERANCE: u64 = 3 * 1024;

type Play = Box<dyn Fn(&mut Stage) -> Result<Duration>>;

pub(super) struct Act {
    pub(super) class: &'static str,
    pub(super) name: String,
    /// Log text of the daemon after the act; for some acts the answers are the proof.
    pub(super) trace: Option<String>,
    pub(super) play: Play,
}

pub(super) struct Stage {
    // Drop order: later processes end first.
    host: HostProcess,
    bystander: HostProcess,
    service: Service,
    two: Pid,
    before: Vec<Vitals>,
    pub(super) repeats: Repeats,
    logs: Logs,
}

impl Stage {
    pub(super) fn new() -> Result<Stage> {
        let logs = Logs::new()?;
        let mut plugins = PluginDirectory::with(&[FAULTY, UNRULY])?;
        let libraries = prefix()?.lib();
        let corrupt =
            Source::new("corrupt_plugin.c").flag(format!("-Wl,-rpath,{}", libraries.display()));
        plugins.add(&corrupt.plugin(CORRUPT)?)?;
        // Hosts set this variable for workers: it names the methods that panic.
        let allowed = ["--worker-env-allow", PANICS];
        let service =
            Service::with(plugins, Transports::All, &logs, |command| command.args(allowed))?;
        let (host, mut bystander) = (service.host("host")?, service.host("bystander")?);
        let two = bystander.start_worker(TWO)?;
        bystander.load(TWO, Kind::Busy, 8, 1)?;
        let (before, repeats) = (Vec::new(), Repeats::at_most(REPEATS));
        let mut stage = Stage { host, bystander, service, two, before, repeats, logs };
        // First-use allocations for worker and commands precede the comparison.
        let worker = stage.host.start_worker(ONE)?;
        stage.answers(Call::Echo(1))?;
        stage.leave(worker)?;
        stage.bystander.pass(TWO, A_FEW)?;
        stage.before =
            stage.rest().map(|(_, pid)| vitals(pid)).into_iter().collect::<Result<_>>()?;
        Ok(stage)
    }

    pub(super) fn logs(&self) -> String {
        self.logs.tails()
    }

    fn rest(&self) -> [(&'static str, Pid); 4] {
        [
            ("the daemon", self.service.pid()),
            ("the host", self.host.pid()),
            ("the bystander", self.bystander.pid()),
            ("the bystander's worker", self.two),
        ]
    }

    pub(super) fn play(&mut self, act: &Act) -> Result<Duration> {
        let traces = self.traces(act)?;
        let took = (act.play)(self)?;
        // The next worker works, and all other processes are as before.
        let worker = self.start(&[UNRULY, CORRUPT], "")?;
        self.answers(Call::Echo(2))?;
        self.answers(Call::Keep(3))?;
        self.answers(Call::Raw { plugin: CORRUPT.to_owned(), words: [0, 4] })?;
        self.leave(worker)?;
        ensure!(
            self.traces(act)? > traces || act.trace.is_none(),
            "the log does not name the plugin"
        );
        self.goes_on(END)?;
        for ((name, pid), before) in self.rest().into_iter().zip(&self.before) {
            returns(pid, name, *before, END, TOLERANCE)?;
        }
        self.host.is_quiet()?;
        self.bystander.is_quiet()?;
        Ok(took)
    }

    fn traces(&self, act: &Act) -> Result<usize> {
        act.trace.as_ref().map_or(Ok(0), |words| self.logs.count("uromd", words))
    }

    /// Starts the worker with these plugins; `panics` names the methods that panic.
    fn try_start(&mut self, plugins: &[&str], panics: &str) -> Result<Result<Pid, Trouble>> {
        let plugins: Vec<String> = plugins.iter().map(|name| (*name).to_owned()).collect();
        self.host.try_start_with(ONE, &plugins, &[(PANICS, panics)])
    }

    fn start(&mut self, plugins: &[&str], panics: &str) -> Result<Pid> {
        self.try_start(plugins, panics)?
            .map_err(|trouble| anyhow!("worker {ONE}: {}", trouble.text))
    }

    fn leave(&mut self, worker: Pid) -> Result<()> {
        self.host.leave(ONE)?;
        wait_for_end(worker, END, "a worker that its host has left")
    }

    fn answers(&mut self, call: Call) -> Result<u64> {
        let (end, _) = self.host.call(ONE, call.clone(), TIMEOUT)?;
        end.map_err(|trouble| anyhow!("{call:?}: {}", trouble.text))
    }

    /// Makes a call without an answer, which must end at its deadline.
    fn times_out(&mut self, call: Call) -> Result<Duration> {
        let (end, took) = self.host.call(ONE, call.clone(), DEADLINE)?;
        let trouble = end.err().with_context(|| format!("{call:?} was answered"))?;
        ensure!(trouble.code == DocaError::TIME_OUT.code(), "{call:?}: {}", trouble.text);
        ensure!(
            trouble.text.contains("worker 1"),
            "an error that does not say which worker: {}",
            trouble.text
        );
        ensure!(
            (DEADLINE..DEADLINE + LATE).contains(&took),
            "{call:?} was cancelled after {took:?}"
        );
        Ok(took)
    }

    fn goes_on(&mut self, limit: Duration) -> Result<()> {
        self.bystander.pass_within(limit, TWO, A_FEW).context("the bystander is kept waiting")
    }

    /// Blocks the worker; repeats if the bystander is slower than before.
    pub(super) fn blocks(&mut self, time: Duration) -> Result<Duration> {
        loop {
            let (took, paces) = self.block(time)?;
            println!("    the bystander beside it: {paces}");
            match paces.check(SLOWER) {
                Err(error) => self.repeats.add(error.context("the bystander is kept waiting"))?,
                Ok(()) => return Ok(took),
            }
        }
    }

    fn block(&mut self, time: Duration) -> Result<(Duration, Paces)> {
        let worker = self.start(&[], "")?;
        let before = usual_pace(&mut self.bystander, TWO)?;
        let begin = Instant::now();
        let took = self.times_out(Call::Stall(time))?;
        self.times_out(Call::Echo(5))?;
        // Most of the time; the rest is a margin for a busy machine.
        let beside = pace_until(&mut self.bystander, TWO, begin + time * 3 / 4)?;
        ensure!(begin.elapsed() < time, "the block was over before all of it was seen");
        // The worker was not lost, and the late answers were dropped.
        ensure!(self.answers(Call::Echo(6))? == 6, "an answer that belongs to another command");
        ensure!(begin.elapsed() >= time, "an answer of a worker that is blocked");
        let late = self.answers(Call::LateAnswers)?;
        ensure!(late == 2, "{late} answers came late, not 2");
        self.leave(worker)?;
        Ok((took, Paces { before, beside }))
    }

    /// Checks that a daemon with a plugin timeout ends the blocked worker only.
    pub(super) fn is_ended(&mut self, limit: u32) -> Result<Duration> {
        let service = Service::start_with(&self.logs, |command| {
            command.args(["--plugin-timeout", &limit.to_string()])
        })?;
        let mut hosts = [service.host("first")?, service.host("second")?];
        let [first, second] = &mut hosts;
        let worker = first.start_worker(ONE)?;
        second.start_worker(ONE)?;
        second.load(ONE, Kind::Idle, 4, 1)?;
        let other = second.start_worker(TWO)?;
        let begin = Instant::now();
        let (end, took) = first.call(ONE, Call::Stall(FOR_EVER), TIMEOUT)?;
        let limit = Duration::from_secs(limit.into());
        ensure!((limit..limit + 3 * LATE).contains(&took), "the worker was ended after {took:?}");
        let first_trouble = end.err().context("a command that never ends was answered")?;
        let tally = second.over(ONE, LATE)?;
        let others = tally.errors.iter().map(|(trouble, _)| trouble);
        for trouble in others.chain([&first_trouble]) {
            ensure!(trouble.code == DocaError::TIME_OUT.code(), "{}", trouble.text);
            ensure!(trouble.text.contains("--plugin-timeout"), "{}", trouble.text);
            names_the_call(trouble)?;
        }
        ensure!(!tally.errors.is_empty(), "the second host had nothing in flight");
        wait_for_end(worker, END, "a worker whose plugin does not return")?;
        let (end, _) = second.call(TWO, Call::Echo(1), TIMEOUT)?;
        ensure!(end == Ok(1), "another worker: {end:?}");
        first.leave(ONE)?;
        second.leave(ONE)?;
        let again = first.start_worker(ONE)?;
        ensure!(first.call(ONE, Call::Echo(2), TIMEOUT)?.0 == Ok(2), "the worker that replaces it");
        first.leave(ONE)?;
        second.leave(TWO)?;
        for worker in [again, other] {
            wait_for_end(worker, END, "a worker that its host has left")?;
        }
        println!("    it was all over after {:?}", begin.elapsed());
        drop(hosts);
        service.end()?;
        Ok(took)
    }

    pub(super) fn leaks(&mut self, commands: u32, each: u64) -> Result<Duration> {
        let worker = self.start(&[UNRULY], "")?;
        let begin = Instant::now();
        let before = vitals(worker)?;
        for number in 1..=u64::from(commands) {
            let leaked = self.answers(Call::Leak(each))?;
            ensure!(leaked == number * each, "{leaked} bytes leaked after {number} times {each}");
        }
        let (grown, leaked) =
            (vitals(worker)?.memory - before.memory, u64::from(commands) * each / 1024);
        ensure!(grown >= leaked, "the worker grew by {grown} KiB where {leaked} were leaked");
        let took = begin.elapsed();
        self.leave(worker)?;
        Ok(took)
    }

    pub(super) fn panics_for(&mut self, call: &Call) -> Result<Duration> {
        let worker = self.start(&[UNRULY], "")?;
        let (end, took) = self.host.call(ONE, call.clone(), TIMEOUT)?;
        let trouble = end.err().with_context(|| format!("{call:?} gave a value"))?;
        ensure!(
            trouble.code != DocaError::TIME_OUT.code(),
            "{call:?} was not answered: {}",
            trouble.text
        );
        ensure!(self.answers(Call::Keep(8))? == 8, "another value");
        self.leave(worker)?;
        Ok(took)
    }

    pub(super) fn panics_when_cancelled(&mut self) -> Result<Duration> {
        let worker = self.start(&[UNRULY], "")?;
        self.times_out(Call::PanicWhenCancelled)?;
        ensure!(self.answers(Call::Keep(9))? == 9, "another value");
        let begin = Instant::now();
        self.leave(worker)?;
        Ok(begin.elapsed())
    }

    pub(super) fn panics_at_start(&mut self, method: &str) -> Result<Duration> {
        let begin = Instant::now();
        let trouble = self.try_start(&[UNRULY], method)?.err().context("the worker started")?;
        ensure!(
            trouble.text.contains(UNRULY),
            "an error that does not say which plugin: {}",
            trouble.text
        );
        Ok(begin.elapsed())
    }

    pub(super) fn panics_in(&mut self, method: &str) -> Result<Duration> {
        let worker = self.start(&[UNRULY], method)?;
        let begin = Instant::now();
        // The worker's other plugin always answers.
        ensure!(self.answers(Call::Echo(10))? == 10, "another value");
        let mut keep = || anyhow::Ok(self.host.call(ONE, Call::Keep(11), TIMEOUT)?.0);
        let mut end = keep()?;
        if method == "progress" {
            for _ in 0..ANSWERED_BEFORE {
                if end != Ok(11) {
                    break;
                }
                end = keep()?;
            }
        }
        match (method, end) {
            // The plugin's state is unknown, so it is disabled.
            ("progress", Err(trouble)) if trouble.code != DocaError::TIME_OUT.code() => {}
            ("progress", end) => {
                bail!("a plugin whose progress panics ended a command with {end:?}")
            }
            (_, end) => ensure!(end == Ok(11), "a command ended with {end:?}"),
        }
        self.leave(worker)?;
        Ok(begin.elapsed())
    }

    /// The worker may crash or loop: its host gets errors or the right values, and can leave it.
    pub(super) fn corrupts(&mut self, how: u64) -> Result<Duration> {
        let worker = self.start(&[CORRUPT], "")?;
        let begin = Instant::now();
        for words in [[how, 0], [0, 1], [0, 2]] {
            let call = Call::Raw { plugin: CORRUPT.to_owned(), words };
            let (end, took) = self.host.call(ONE, call, DEADLINE)?;
            if let Ok(value) = end {
                ensure!(
                    value == words[1],
                    "{words:?} ended with {value}, which belongs to another command"
                );
            }
            ensure!(took < DEADLINE + LATE, "the deadline of {words:?} fired after {took:?}");
        }
        let took = begin.elapsed();
        self.goes_on(END)?;
        self.leave(worker)?;
        Ok(took)
    }

    pub(super) fn end(mut self) -> Result<()> {
        self.bystander.halt(TWO)?;
        self.bystander.leave(TWO)?;
        wait_for_end(self.two, END, "the bystander's worker")?;
        self.host.disconnect()?;
        self.bystander.disconnect()?;
        self.service.end()
    }
}

fn names_the_call(trouble: &Trouble) -> Result<()> {
    let Trouble { text, .. } = trouble;
    ensure!(text.contains("worker_faulty") && text.contains("`call`"), "no call is named: {text}");
    Ok(())
}
