//! The workers that commands go to: one, or a domain of several. They stay until the last command has been answered.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
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
}

/// What is to be started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// How many workers a domain has; one without a domain if not given.
    pub(super) domain: Option<usize>,
    /// The id of the first one; new ones if not given.
    pub(super) first: Option<u64>,
    /// How many commands may be in flight.
    pub(super) window: usize,
}

/// What came of a command.
pub(super) type Outcome = Option<Result<(Answer, Duration), urom_host::Error>>;

impl Crew {
    /// Starts workers, and makes a domain of them.
    pub(super) fn start(service: &Service, plugin: Plugin, shape: Shape) -> Result<Crew> {
        let window = shape.window.next_power_of_two().try_into()?;
        let start = |number: u64| {
            let mut worker = service.worker().plugin(plugin).max_inflight(window);
            if let Some(first) = shape.first {
                worker = worker.id(first.wrapping_add(number));
            }
            worker.start().wait()
        };
        let count = shape.domain.unwrap_or(1) as u64;
        let workers = (0..count).map(start).collect::<Result<Vec<_>, _>>()?;
        let domain = match shape.domain {
            None => None,
            Some(_) => {
                let members = (0..).zip(&workers);
                let domain = members.fold(service.domain(), |domain, (id, worker)| domain.worker(id, worker));
                Some(domain.gather(InProcess::alone()).start().wait()?)
            }
        };
        Ok(Crew { plugin, workers, domain })
    }

    /// A worker by its number.
    pub(super) fn worker(&self, number: usize) -> Option<&Worker> {
        self.workers.get(number)
    }

    /// Sends commands together; what came of each, nothing where no answer came within `limit`.
    pub(super) fn send(&self, requests: &[(usize, Request)], limit: Duration) -> Vec<Outcome> {
        let start = Instant::now();
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut flights: Vec<Option<RawCompletion>> = Vec::new();
        for (number, request) in requests {
            let sent = self.workers[*number].command(self.plugin, &request.bytes);
            let (flight, outcome) = match sent {
                Ok(flight) => (Some(flight), None),
                Err(error) => (None, Some(Err(error))),
            };
            flights.push(flight);
            outcomes.push(outcome);
        }
        let all = poll_fn(|cx| {
            for (flight, outcome) in flights.iter_mut().zip(&mut outcomes) {
                if let Some(completion) = flight
                    && let Poll::Ready(answer) = Pin::new(completion).poll(cx)
                {
                    *outcome = Some(Ok((answer, start.elapsed())));
                    *flight = None;
                }
            }
            if flights.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
        });
        // What is missing then shows.
        let _ = block_on_for(limit, all);
        outcomes
    }

    /// Ends the domain and the workers.
    pub(super) fn stop(self) -> Result<()> {
        let stopped = self.domain.map_or(Ok(()), Domain::stop);
        for worker in self.workers {
            worker.stop().wait().context("the worker did not stop in order")?;
        }
        stopped.context("the domain did not stop in order")
    }
}
