//! The workers that receive the commands: one, or a domain of several.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use urom_abi::WorkerId;
use urom_host::gather::InProcess;
use urom_host::memory::{MemoryPath, MemoryShare, Mmap, Share};
use urom_host::{Domain, Pending, Plugin, RawCompletion, RawReply, Service, Worker, block_on_for};

use super::request::CommandRequest;

#[derive(Debug)]
pub(super) struct WorkerGroup {
    plugin: Plugin,
    workers: Vec<Worker>,
    domain: Option<Domain>,
    /// Unanswered commands. A late command occupies the window until it is answered.
    flights: Vec<InFlightCommand>,
    shares: Vec<MemoryShare>,
}

const WINDOW: u32 = 64;

#[derive(Debug)]
pub(super) enum CommandOutcome {
    Answered(RawReply, Duration),
    Refused(anyhow::Error),
    Late,
    /// Not sent: this number of earlier commands timed out and fills the window.
    Unsent(usize),
}

#[derive(Debug)]
struct InFlightCommand {
    /// Index in the batch; `None` after the timeout.
    at: Option<usize>,
    number: usize,
    sent: Instant,
    completion: RawCompletion,
}

impl WorkerGroup {
    /// Starts the worker `id`, or a worker with a new id, or a domain of `domain_of` workers.
    pub(super) fn start(
        service: &Service,
        plugin: Plugin,
        id: Option<WorkerId>,
        domain_of: Option<usize>,
    ) -> Result<WorkerGroup> {
        let start = |_| {
            let worker = service.worker().plugin(plugin).max_inflight(WINDOW);
            id.iter().fold(worker, |worker, id| worker.id(id.0)).start().wait()
        };
        let workers = (0..domain_of.unwrap_or(1)).map(start).collect::<Result<Vec<_>, _>>()?;
        let domain = domain_of.map(|_| {
            let members = (0..).zip(&workers);
            let domain =
                members.fold(service.domain(), |domain, (id, worker)| domain.worker(id, worker));
            domain.gather(InProcess::alone()).start().wait()
        });
        Ok(WorkerGroup {
            plugin,
            domain: domain.transpose()?,
            workers,
            flights: Vec::new(),
            shares: Vec::new(),
        })
    }

    pub(super) fn share(&mut self, memory: &Mmap, limit: Duration) -> Result<Vec<MemoryPath>> {
        let asked: Vec<_> = self.workers.iter().map(|worker| memory.share(worker)).collect();
        let share = |asked: Pending<MemoryShare>| {
            let shared = block_on_for(limit, asked).context("the worker does not answer")??;
            let path = shared.path();
            self.shares.push(shared);
            Ok(path)
        };
        asked.into_iter().map(share).collect()
    }

    pub(super) fn failure(&self, number: usize) -> Option<String> {
        self.workers.get(number)?.failure()
    }

    /// Sends each command to its worker, in order for each worker. Waits at most `limit` for each.
    pub(super) fn send(
        &mut self,
        commands: &[(usize, CommandRequest)],
        limit: Duration,
    ) -> Vec<CommandOutcome> {
        // Receives late answers.
        let _ = block_on_for(Duration::ZERO, poll_fn(|cx| self.take(cx)));
        let mut outcomes: Vec<_> = commands.iter().map(|_| None).collect();
        let mut waiting: Vec<_> = (0..commands.len()).collect();
        loop {
            let numbers = 0..self.workers.len();
            let mut in_flight: Vec<_> = numbers.map(|number| self.in_flight(number)).collect();
            waiting.retain(|&at| {
                let (number, request) = &commands[at];
                if in_flight[*number] == WINDOW as usize {
                    return true;
                }
                let sent = Instant::now();
                match request.submit(&self.workers[*number], self.plugin) {
                    Ok(completion) => {
                        in_flight[*number] += 1;
                        let (at, number) = (Some(at), *number);
                        self.flights.push(InFlightCommand { at, number, sent, completion });
                    }
                    Err(error) => outcomes[at] = Some(CommandOutcome::Refused(error)),
                }
                false
            });
            let waited_for = self.flights.iter().filter(|flight| flight.at.is_some());
            let Some(first) = waited_for.map(|flight| flight.sent).min() else { break };
            let left = limit.saturating_sub(first.elapsed());
            if let Ok(answers) = block_on_for(left, poll_fn(|cx| self.take(cx))) {
                for (at, answer, took) in answers {
                    outcomes[at] = Some(CommandOutcome::Answered(answer, took));
                }
                continue;
            }
            for flight in self.flights.iter_mut().filter(|flight| flight.sent.elapsed() >= limit) {
                if let Some(at) = flight.at.take() {
                    outcomes[at] = Some(CommandOutcome::Late);
                }
            }
        }
        let unsent = |number| CommandOutcome::Unsent(self.in_flight(number));
        let outcomes = outcomes.into_iter().zip(commands);
        outcomes.map(|(outcome, (number, _))| outcome.unwrap_or_else(|| unsent(*number))).collect()
    }

    fn in_flight(&self, number: usize) -> usize {
        self.flights.iter().filter(|flight| flight.number == number).count()
    }

    /// Waits for at least one answer, and takes all that have arrived. Drops late answers.
    fn take(&mut self, cx: &mut Context<'_>) -> Poll<Vec<(usize, RawReply, Duration)>> {
        let (before, mut answers) = (self.flights.len(), Vec::new());
        self.flights.retain_mut(|flight| {
            let Poll::Ready(answer) = Pin::new(&mut flight.completion).poll(cx) else {
                return true;
            };
            answers.extend(flight.at.map(|at| (at, answer, flight.sent.elapsed())));
            false
        });
        if self.flights.len() < before { Poll::Ready(answers) } else { Poll::Pending }
    }

    pub(super) fn stop(self) -> Result<()> {
        drop((self.flights, self.shares));
        let stopped = self.domain.map_or(Ok(()), Domain::stop_blocking);
        for worker in self.workers {
            worker.stop().wait().context("the worker did not stop in order")?;
        }
        stopped.context("the domain did not stop in order")
    }
}
