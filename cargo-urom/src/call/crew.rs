//! The workers that commands go to: one, or a domain of several.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use urom_abi::{WORKER_ID_ANY, WorkerId};
use urom_host::gather::InProcess;
use urom_host::{Answer, Domain, Plugin, RawCompletion, Service, Worker, block_on_for};

use super::request::Request;

#[derive(Debug)]
pub(super) struct Crew {
    plugin: Plugin,
    workers: Vec<Worker>,
    /// Of several workers; each is known in it by its number.
    domain: Option<Domain>,
    /// How many commands each worker may have in flight.
    window: usize,
    /// Commands without an answer. Late ones take room until they are answered.
    flights: Vec<Flight>,
}

/// The ids of `count` workers, from this one on.
pub(super) fn ids(first: WorkerId, count: usize) -> Result<Vec<Option<WorkerId>>, String> {
    let id = |number| first.0.checked_add(number).filter(|id| *id != WORKER_ID_ANY);
    let ids = (0..count as u64).map(|number| id(number).map(|id| Some(WorkerId(id))));
    ids.collect::<Option<_>>().ok_or_else(|| {
        format!(
            "--worker {first} --workers {count}: the last id would be beyond {}, the largest: \
             begin with a smaller one",
            WORKER_ID_ANY - 1
        )
    })
}

#[derive(Debug)]
pub(super) enum Outcome {
    Answered(Answer, Duration),
    Refused(anyhow::Error),
    Late,
    /// It was not sent: so many commands before it were not answered in time.
    Unsent(usize),
}

#[derive(Debug)]
struct Flight {
    /// Its place among all.
    at: usize,
    number: usize,
    sent: Instant,
    completion: RawCompletion,
    /// Whether it was given up.
    is_late: bool,
}

impl Crew {
    /// Starts workers with these ids, or ids that the service chooses, and possibly makes a domain
    /// of them. Each may have `window` commands in flight.
    pub(super) fn start(
        service: &Service,
        plugin: Plugin,
        ids: &[Option<WorkerId>],
        is_domain: bool,
        window: usize,
    ) -> Result<Crew> {
        let tasks = window.next_power_of_two().try_into()?;
        let start = |id: &Option<WorkerId>| {
            let mut worker = service.worker().plugin(plugin).max_inflight(tasks);
            if let Some(WorkerId(id)) = id {
                worker = worker.id(*id);
            }
            worker.start().wait()
        };
        let workers = ids.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let domain = match is_domain {
            false => None,
            true => {
                let members = (0..).zip(&workers);
                let domain = members
                    .fold(service.domain(), |domain, (id, worker)| domain.worker(id, worker));
                Some(domain.gather(InProcess::alone()).start().wait()?)
            }
        };
        Ok(Crew { plugin, workers, domain, window, flights: Vec::new() })
    }

    pub(super) fn failure(&self, number: usize) -> Option<String> {
        self.workers.get(number)?.failure()
    }

    /// Sends `count` commands. `command` gives each with its worker's number; a worker gets its
    /// commands in order. None is waited for longer than `limit`. `done` gets the outcome of each,
    /// and returns whether to go on.
    pub(super) fn send<'a>(
        &mut self,
        count: usize,
        command: impl Fn(usize) -> &'a (usize, Request),
        limit: Duration,
        mut done: impl FnMut(usize, Outcome) -> bool,
    ) {
        // Late answers may have come since.
        let _ = block_on_for(Duration::ZERO, poll_fn(|cx| self.take(cx)));
        let command = &command;
        let of_worker = |number| (0..count).filter(move |at| command(*at).0 == number);
        let mut commands: Vec<_> = (0..self.workers.len()).map(of_worker).collect();
        let mut goes_on = true;
        loop {
            for (number, commands) in commands.iter_mut().enumerate() {
                let mut room = self.window.saturating_sub(self.in_flight(number));
                while goes_on
                    && room > 0
                    && let Some(at) = commands.next()
                {
                    let sent = Instant::now();
                    match command(at).1.submit(&self.workers[number], self.plugin) {
                        Ok(completion) => {
                            let is_late = false;
                            self.flights.push(Flight { at, number, sent, completion, is_late });
                            room -= 1;
                        }
                        Err(error) => goes_on = done(at, Outcome::Refused(error)),
                    }
                }
            }
            let waited_for = self.flights.iter().filter(|flight| !flight.is_late);
            let Some(first) = waited_for.map(|flight| flight.sent).min() else { break };
            let left = limit.saturating_sub(first.elapsed());
            if let Ok(answers) = block_on_for(left, poll_fn(|cx| self.take(cx))) {
                for (at, answer, took) in answers {
                    goes_on &= done(at, Outcome::Answered(answer, took));
                }
                continue;
            }
            let waited_for = self.flights.iter_mut().filter(|flight| !flight.is_late);
            for flight in waited_for.filter(|flight| flight.sent.elapsed() >= limit) {
                flight.is_late = true;
                goes_on &= done(flight.at, Outcome::Late);
            }
        }
        for (number, commands) in commands.into_iter().enumerate().filter(|_| goes_on) {
            commands.for_each(|at| _ = done(at, Outcome::Unsent(self.in_flight(number))));
        }
    }

    fn in_flight(&self, number: usize) -> usize {
        self.flights.iter().filter(|flight| flight.number == number).count()
    }

    /// Takes the answers that are there, once there are any. Answers to late commands are dropped.
    fn take(&mut self, cx: &mut Context<'_>) -> Poll<Vec<(usize, Answer, Duration)>> {
        let (before, mut answers) = (self.flights.len(), Vec::new());
        self.flights.retain_mut(|flight| {
            let Poll::Ready(answer) = Pin::new(&mut flight.completion).poll(cx) else {
                return true;
            };
            if !flight.is_late {
                answers.push((flight.at, answer, flight.sent.elapsed()));
            }
            false
        });
        if self.flights.len() < before { Poll::Ready(answers) } else { Poll::Pending }
    }

    pub(super) fn stop(self) -> Result<()> {
        drop(self.flights);
        let stopped = self.domain.map_or(Ok(()), Domain::stop);
        for worker in self.workers {
            worker.stop().wait().context("the worker did not stop in order")?;
        }
        stopped.context("the domain did not stop in order")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_up_and_never_to_the_one_that_asks_for_any() {
        let ids = |first, count| ids(WorkerId(first), count);
        let some = |ids: &[u64]| Ok(ids.iter().map(|id| Some(WorkerId(*id))).collect());
        assert_eq!(ids(7, 1), some(&[7]));
        assert_eq!(ids(7, 3), some(&[7, 8, 9]));
        assert_eq!(ids(u64::MAX - 2, 2), some(&[u64::MAX - 2, u64::MAX - 1]));
        for (first, count) in [(u64::MAX - 2, 3), (u64::MAX - 1, 256), (u64::MAX, 1), (u64::MAX, 2)]
        {
            let why = ids(first, count).expect_err("there are no such ids");
            assert!(why.contains("begin with a smaller one"), "{why}");
        }
    }
}
