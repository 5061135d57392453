//! Exchanges blocks of bytes between the two processes.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::SharedGather;

/// Polling interval: an all-gather over MPI lacks events.
const PAUSE: Duration = Duration::from_micros(100);

/// Error message for a lost process.
pub const LOST: &str = "the other process is lost";

/// An exchange in progress.
pub struct Exchange {
    gather: SharedGather,
    blocks: Vec<u8>,
}

impl Exchange {
    /// Contributes this process's block. Both blocks have the same length.
    pub fn begin(gather: &SharedGather, block: &[u8]) -> Result<Exchange> {
        let mut group = gather.borrow_mut();
        group.begin(block).map_err(|error| anyhow!(error)).context(LOST)?;
        let blocks = vec![0; block.len() * group.participants() as usize];
        Ok(Exchange { gather: Rc::clone(gather), blocks })
    }

    /// Returns whether both blocks are there.
    pub fn test(&mut self) -> Result<bool> {
        let over = self.gather.borrow_mut().test(&mut self.blocks);
        over.map_err(|error| anyhow!(error)).context(LOST)
    }

    /// Waits for both blocks, at most `limit`. Calls `meanwhile` repeatedly.
    pub fn finish(
        mut self,
        limit: Duration,
        mut meanwhile: impl FnMut() -> Result<()>,
    ) -> Result<Vec<u8>> {
        let begin = Instant::now();
        while !self.test()? {
            meanwhile()?;
            ensure!(
                begin.elapsed() < limit,
                "the other process was silent for {} s",
                limit.as_secs()
            );
            thread::sleep(PAUSE);
        }
        Ok(self.blocks)
    }
}
