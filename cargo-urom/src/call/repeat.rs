//! One command many times, several at once: how long each took, and how many there were in a second.
//!
//! The window is full from the first command to the last: an answer is followed at once by the next command. Every
//! command's time is kept, from before it is submitted to after its answer is there, this program's own part included.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::Error;
use urom_host::{Answer, Plugin, RawCompletion, Worker, block_on_for};

use super::request::Request;

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// What each command took, in nanoseconds, whatever came of it; sorted at the end.
    samples: Vec<u64>,
    /// From the first command to the last answer.
    pub(super) elapsed: Duration,
    /// What went wrong, and how often.
    pub(super) errors: BTreeMap<String, u64>,
    /// What ended the run early.
    pub(super) broken: Option<Error>,
}

/// What later answers are compared with: the first one, and what is wrong with it.
type First = Option<(Answer, Vec<String>)>;

impl Tally {
    /// How many commands were answered.
    pub(super) fn samples(&self) -> usize {
        self.samples.len()
    }

    /// How many answers were not what the command calls for.
    pub(super) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Commands in a second.
    pub(super) fn rate(&self) -> f64 {
        self.samples() as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The time that so many percent of the commands did not exceed, in nanoseconds: one of the samples, by the nearest
    /// rank. `None` without any.
    pub(super) fn percentile(&self, percent: usize) -> Option<u64> {
        let rank = (self.samples.len() * percent).div_ceil(100).max(1);
        self.samples.get(rank - 1).copied()
    }

    pub(super) fn max(&self) -> Option<u64> {
        self.samples.last().copied()
    }
}

/// Sends `count` commands, with `window` of them in flight. `limit` is how long none may be answered.
pub(super) fn run(
    (worker, plugin): (&Worker, Plugin),
    request: &Request,
    (count, window): (usize, usize),
    limit: Duration,
) -> Tally {
    let samples = Vec::with_capacity(count);
    let mut round = Round {
        worker,
        plugin,
        request,
        left: count,
        flights: Vec::with_capacity(window),
        first: None,
        tally: Tally { samples, ..Tally::default() },
    };
    let start = Instant::now();
    round.fill(window);
    loop {
        let before = round.tally.samples();
        match block_on_for(limit, poll_fn(|cx| round.poll(cx))) {
            Ok(()) => break,
            Err(_) if round.tally.samples() > before => {}
            Err(error) => {
                round.tally.broken.get_or_insert(error.into());
                break;
            }
        }
    }
    let mut tally = round.tally;
    tally.elapsed = start.elapsed();
    tally.samples.sort_unstable();
    tally
}

struct Round<'a> {
    worker: &'a Worker,
    plugin: Plugin,
    request: &'a Request,
    /// How many are still to be sent.
    left: usize,
    flights: Vec<(Instant, RawCompletion)>,
    first: First,
    tally: Tally,
}

impl Round<'_> {
    fn fill(&mut self, window: usize) {
        while self.flights.len() < window
            && let Some(flight) = self.next()
        {
            self.flights.push(flight);
        }
    }

    /// Sends one more, if there is one to be sent.
    fn next(&mut self) -> Option<(Instant, RawCompletion)> {
        if self.left == 0 || self.tally.broken.is_some() {
            return None;
        }
        self.left -= 1;
        let start = Instant::now();
        match self.request.submit(self.worker, self.plugin) {
            Ok(completion) => Some((start, completion)),
            Err(error) => {
                self.tally.broken = Some(error);
                None
            }
        }
    }

    /// Takes every answer that is there, and sends the next command in the place of each.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut at = 0;
        while let Some((start, completion)) = self.flights.get_mut(at) {
            let Poll::Ready(answer) = Pin::new(completion).poll(cx) else {
                at += 1;
                continue;
            };
            let took = start.elapsed();
            self.tally.samples.push(took.as_nanos().try_into().unwrap_or(u64::MAX));
            match self.next() {
                // It is polled in its turn, as nobody else would wake this for it.
                Some(flight) => self.flights[at] = flight,
                None => drop(self.flights.swap_remove(at)),
            }
            // Only now, so that the window is not kept open by it.
            self.judge(answer);
        }
        if self.flights.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Counts what is wrong with an answer. The same command is answered alike as a rule, and then there is nothing to
    /// find out.
    fn judge(&mut self, answer: Answer) {
        let problems = match &self.first {
            Some((first, problems)) if *first == answer => problems.clone(),
            _ => problems(self.request, &answer),
        };
        for problem in &problems {
            match self.tally.errors.get_mut(problem) {
                Some(count) => *count += 1,
                None => _ = self.tally.errors.insert(problem.clone(), 1),
            }
        }
        self.first.get_or_insert((answer, problems));
    }
}

/// What is wrong with an answer: at most one thing, so that errors are as many as commands.
fn problems(request: &Request, answer: &Answer) -> Vec<String> {
    match answer.status.check() {
        Err(code) => vec![code.to_string()],
        Ok(()) => request.read(answer).problems.into_iter().take(1).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_by_their_nearest_rank() {
        let tally = |samples: Vec<u64>| Tally { samples, ..Tally::default() };
        let hundred = tally((1..=100).collect());
        let of = |percent| hundred.percentile(percent);
        assert_eq!(
            (of(0), of(50), of(90), of(99), hundred.max()),
            (Some(1), Some(50), Some(90), Some(99), Some(100))
        );
        let three = tally(vec![10, 20, 30]);
        assert_eq!((three.percentile(50), three.percentile(90)), (Some(20), Some(30)));
        assert_eq!(tally(vec![7]).percentile(99), Some(7));
        assert_eq!(tally(vec![]).percentile(50), None);
    }
}
