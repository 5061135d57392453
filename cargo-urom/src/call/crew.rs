//! The workers that commands go to: one, or a domain of several. They stay until the last command has been answered.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use urom_abi::{WORKER_ID_ANY, WorkerId};
use urom_host::gather::InProcess;
use urom_host::{Answer, Domain, Plugin, RawCompletion, Service, Worker, block_on_for};

use super::request::Request;

/// Workers with a plugin.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) plugin: Plugin,
    workers: Vec<Worker>,
    /// Of several workers; each is known in it by its number.
    domain: Option<Domain>,
    /// How many commands each worker may have in flight.
    window: usize,
    /// Commands that were given up, with the numbers of their workers. They take room until they are
    /// answered.
    late: Vec<(usize, RawCompletion)>,
}

/// What is to be started.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// How many workers there are, and their ids; ids of the service's choice if not given.
    pub(super) workers: Vec<Option<WorkerId>>,
    /// Whether they are in a domain.
    pub(super) domain: bool,
    /// How many commands each worker may have in flight.
    pub(super) window: usize,
}

/// The ids of `count` workers, from this one on.
///
/// # Errors
/// They would go beyond the largest id, or come to the one that asks for any worker.
pub(super) fn ids(first: WorkerId, count: usize) -> Result<Vec<Option<WorkerId>>, String> {
    let last =
        first.0.checked_add(count.saturating_sub(1) as u64).filter(|last| *last != WORKER_ID_ANY);
    match last {
        Some(last) => Ok((first.0..=last).map(|id| Some(WorkerId(id))).collect()),
        None => Err(format!(
            "--worker {first} --workers {count}: the last id would be beyond {}, the largest: begin \
             with a smaller one",
            WORKER_ID_ANY - 1
        )),
    }
}

/// What came of a command.
#[derive(Debug)]
pub(super) enum Outcome {
    Answered(Answer, Duration),
    /// It could not be sent.
    Refused(anyhow::Error),
    /// No answer came in time.
    Late,
    /// It was not sent: so many commands before it were not answered in time.
    Unsent(usize),
}

/// A command that was sent: its place among all, and when.
struct Flight {
    at: usize,
    sent: Instant,
    completion: RawCompletion,
}

impl Crew {
    /// Starts workers, and makes a domain of them.
    pub(super) fn start(service: &Service, plugin: Plugin, shape: Shape) -> Result<Crew> {
        let tasks = shape.window.next_power_of_two().try_into()?;
        let start = |id: &Option<WorkerId>| {
            let mut worker = service.worker().plugin(plugin).max_inflight(tasks);
            if let Some(WorkerId(id)) = id {
                worker = worker.id(*id);
            }
            worker.start().wait()
        };
        let workers = shape.workers.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let domain = match shape.domain {
            false => None,
            true => {
                let members = (0..).zip(&workers);
                let domain = members
                    .fold(service.domain(), |domain, (id, worker)| domain.worker(id, worker));
                Some(domain.gather(InProcess::alone()).start().wait()?)
            }
        };
        Ok(Crew { plugin, workers, domain, window: shape.window, late: Vec::new() })
    }

    /// A worker by its number.
    pub(super) fn worker(&self, number: usize) -> Option<&Worker> {
        self.workers.get(number)
    }

    /// Sends commands together, and returns what came of each. Each worker gets its commands in their
    /// order, as many at a time as it may have in flight. None is waited for longer than `limit`.
    pub(super) fn send(&mut self, requests: &[(usize, Request)], limit: Duration) -> Vec<Outcome> {
        // What nobody waited for may have come since.
        let _ = block_on_for(Duration::ZERO, poll_fn(|cx| self.forget(cx)));
        let mut queues = vec![VecDeque::new(); self.workers.len()];
        (0..).zip(requests).for_each(|(at, (number, _))| queues[*number].push_back(at));
        let mut outcomes: Vec<Option<Outcome>> = requests.iter().map(|_| None).collect();
        let mut flights: Vec<Flight> = Vec::new();
        loop {
            for (number, queue) in queues.iter_mut().enumerate() {
                self.fill(number, queue, requests, &mut flights, &mut outcomes);
            }
            let Some(first) = flights.iter().map(|flight| flight.sent).min() else { break };
            let left = limit.saturating_sub(first.elapsed());
            let answers = block_on_for(
                left,
                poll_fn(|cx| {
                    let _ = self.forget(cx);
                    take(&mut flights, &mut outcomes, cx)
                }),
            );
            if answers.is_err() {
                let (late, others) =
                    flights.into_iter().partition(|flight: &Flight| flight.sent.elapsed() >= limit);
                flights = others;
                for Flight { at, completion, .. } in late {
                    outcomes[at] = Some(Outcome::Late);
                    self.late.push((requests[at].0, completion));
                }
            }
        }
        let outcome = |(outcome, (number, _)): (Option<Outcome>, &(usize, Request))| {
            outcome.unwrap_or_else(|| Outcome::Unsent(self.late_of(*number)))
        };
        outcomes.into_iter().zip(requests).map(outcome).collect()
    }

    /// Sends a worker as much as it may have in flight.
    fn fill(
        &self,
        number: usize,
        queue: &mut VecDeque<usize>,
        requests: &[(usize, Request)],
        flights: &mut Vec<Flight>,
        outcomes: &mut [Option<Outcome>],
    ) {
        let of_worker = flights.iter().filter(|flight| requests[flight.at].0 == number).count();
        let mut room = self.window.saturating_sub(of_worker + self.late_of(number));
        while room > 0
            && let Some(at) = queue.pop_front()
        {
            let sent = Instant::now();
            match requests[at].1.submit(&self.workers[number], self.plugin) {
                Ok(completion) => {
                    flights.push(Flight { at, sent, completion });
                    room -= 1;
                }
                Err(error) => outcomes[at] = Some(Outcome::Refused(error)),
            }
        }
    }

    fn late_of(&self, number: usize) -> usize {
        self.late.iter().filter(|(worker, _)| *worker == number).count()
    }

    /// Lets go of late commands that are answered.
    fn forget(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        self.late.retain_mut(|(_, completion)| Pin::new(completion).poll(cx).is_pending());
        Poll::Ready(())
    }

    /// Ends the domain and the workers.
    pub(super) fn stop(self) -> Result<()> {
        drop(self.late);
        let stopped = self.domain.map_or(Ok(()), Domain::stop);
        for worker in self.workers {
            worker.stop().wait().context("the worker did not stop in order")?;
        }
        stopped.context("the domain did not stop in order")
    }
}

/// Takes the answers that are there, once there are any.
fn take(
    flights: &mut Vec<Flight>,
    outcomes: &mut [Option<Outcome>],
    cx: &mut task::Context<'_>,
) -> Poll<()> {
    let before = flights.len();
    flights.retain_mut(|Flight { at, sent, completion }| match Pin::new(completion).poll(cx) {
        Poll::Ready(answer) => {
            outcomes[*at] = Some(Outcome::Answered(answer, sent.elapsed()));
            false
        }
        Poll::Pending => true,
    });
    if flights.len() < before { Poll::Ready(()) } else { Poll::Pending }
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
