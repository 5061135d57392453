//! The other process: whether it plays by the same rules, is still there, and is done.
//!
//! A worker says when it fails, but nobody says when the process at the other end of a message
//! does. So the two keep exchanging a byte beside the game; when one of them goes, so does the
//! exchange.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use example_common::{Exchange, LOST, SharedGather};

/// How often to look for the other process.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);
/// The other process takes no longer for an exchange unless something is wrong.
const LIMIT: Duration = Duration::from_secs(30);

/// A message fails as soon as the worker at its other end is gone; how long it may take until the
/// process is missed too.
const NOTICE: Duration = Duration::from_millis(500);

const PLAYING: &[u8] = &[0];
const DONE: &[u8] = &[1];

/// What both must have been told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) rounds: u32,
    pub(crate) bytes: u32,
}

pub(crate) struct Partner {
    gather: SharedGather,
    /// The exchange that is under way.
    exchange: Option<Exchange>,
    looked: Instant,
}

impl Partner {
    /// Makes sure that both processes play the same game.
    pub(crate) fn meet(gather: SharedGather, rules: Rules) -> Result<Partner> {
        let Rules { rounds, bytes } = rules;
        let own = [rounds, bytes].map(u32::to_le_bytes).concat();
        let both = Exchange::begin(&gather, &own)?.finish(LIMIT, || Ok(()))?;
        let words: Vec<u32> = both.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
        for other in words.chunks(2) {
            ensure!(
                *other == [rounds, bytes],
                "the two processes were told different things: {rounds} rounds of {bytes} bytes here, {} of {} there",
                other[0],
                other[1]
            );
        }
        Ok(Partner { gather, exchange: None, looked: Instant::now() })
    }

    /// Looks for the other process when that was not done for a while, without waiting for it.
    pub(crate) fn glance(&mut self) -> Result<()> {
        if self.looked.elapsed() < GLANCE {
            return Ok(());
        }
        self.looked = Instant::now();
        let mut exchange = self.under_way(PLAYING)?;
        if !exchange.test()? {
            self.exchange = Some(exchange);
        }
        Ok(())
    }

    /// Why a message failed: when the other process turns out to be gone, that is why.
    pub(crate) fn explain(&mut self, error: anyhow::Error) -> anyhow::Error {
        let begin = Instant::now();
        while begin.elapsed() < NOTICE {
            self.looked -= GLANCE;
            if self.glance().is_err() {
                return error.context(LOST);
            }
            thread::sleep(Duration::from_millis(1));
        }
        error
    }

    /// Waits until both are done: a worker that left earlier could take messages with it.
    pub(crate) fn part(mut self) -> Result<()> {
        loop {
            let both = self.under_way(DONE)?.finish(LIMIT, || Ok(()))?;
            if both == [DONE, DONE].concat() {
                return Ok(());
            }
        }
    }

    fn under_way(&mut self, block: &[u8]) -> Result<Exchange> {
        match self.exchange.take() {
            Some(exchange) => Ok(exchange),
            None => Exchange::begin(&self.gather, block),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;
    use urom_host::gather::InProcess;

    const RULES: Rules = Rules { rounds: 70_000, bytes: 1 << 28 };

    /// What both get from `play`, each on a thread of its own.
    fn both<T: Send>(play: impl Fn(u32, SharedGather) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let play = &play;
            let threads: Vec<_> = (0..)
                .zip(InProcess::group(2))
                .map(|(rank, gather)| {
                    scope.spawn(move || play(rank, Rc::new(RefCell::new(gather))))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        })
    }

    #[test]
    fn both_part_when_both_are_done_however_often_one_looked() {
        let parted = both(|rank, gather| {
            let mut partner = Partner::meet(gather, RULES)?;
            for _ in 0..rank {
                partner.looked -= 2 * GLANCE;
                partner.glance()?;
            }
            partner.part()
        });
        for result in parted {
            result.expect("both came to the end");
        }
    }

    #[test]
    fn different_rules_are_refused_by_both_with_all_numbers() {
        let met = both(|rank, gather| {
            let rules = Rules { rounds: 3 + rank, bytes: 8 };
            Partner::meet(gather, rules).map(drop).expect_err("they differ").to_string()
        });
        for text in met {
            assert!(text.contains("3 ") && text.contains("4 ") && text.contains("8"), "{text}");
        }
    }

    #[test]
    fn one_that_goes_is_missed_by_the_other() {
        let played: Vec<Result<()>> = both(|rank, gather| {
            let mut partner = Partner::meet(gather, RULES)?;
            if rank == 0 {
                Ok(())
            } else {
                loop {
                    partner.glance()?
                }
            }
        });
        let error = played[1].as_ref().expect_err("nobody is there");
        assert_eq!(error.to_string(), "the other process is lost");
        assert!(played[0].is_ok());
    }
}
