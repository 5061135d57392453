//! The other process: its parameters, its liveness, and its end.
//!
//! A worker reports its own failure, but not the failure of the other process. The processes
//! therefore exchange bytes during the game; the exchange fails when a process ends.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use example_common::{Exchange, LOST, SharedGather};

/// Interval of liveness checks.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);
/// Timeout of an exchange.
const LIMIT: Duration = Duration::from_secs(30);

/// After a message fails, the time until the end of the other process is also detected.
const NOTICE: Duration = Duration::from_millis(500);

const PLAYING: &[u8] = &[0];
const DONE: &[u8] = &[1];

pub(crate) struct Partner {
    gather: SharedGather,
    exchange: Option<Exchange>,
    looked: Instant,
}

impl Partner {
    /// Both processes must be told the same number of rounds and of bytes.
    pub(crate) fn meet(gather: SharedGather, rounds: u32, bytes: u32) -> Result<Partner> {
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

    /// Checks the other process without blocking, at most once per interval.
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

    /// Adds the reason to an error if the other process has ended.
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

    /// Waits until both are done: an earlier end of a worker could lose messages.
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

    fn meet(gather: SharedGather) -> Result<Partner> {
        Partner::meet(gather, 70_000, 1 << 28)
    }

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
            let mut partner = meet(gather)?;
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
            Partner::meet(gather, 3 + rank, 8).map(drop).expect_err("they differ").to_string()
        });
        for text in met {
            assert!(text.contains("3 ") && text.contains("4 ") && text.contains("8"), "{text}");
        }
    }

    #[test]
    fn one_that_goes_is_missed_by_the_other() {
        let played: Vec<Result<()>> = both(|rank, gather| {
            let mut partner = meet(gather)?;
            if rank == 0 {
                Ok(())
            } else {
                loop {
                    partner.glance()?
                }
            }
        });
        let error = played[1].as_ref().expect_err("it is empty");
        assert_eq!(error.to_string(), "the other process is lost");
        assert!(played[0].is_ok());
    }
}
