//! Exchanges of the two processes: each gives a block of bytes, and both get both blocks.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::SharedGather;

/// The interval between two looks: all-gathers over MPI lack an event to wait for.
const PAUSE: Duration = Duration::from_micros(100);

/// The error of an exchange whose other process has ended.
pub const LOST: &str = "the other process is lost";

/// An exchange that is under way.
pub struct Exchange {
    gather: SharedGather,
    /// Room for the blocks of both, in the order of the ranks.
    blocks: Vec<u8>,
}

impl Exchange {
    /// Gives this process's block. Both blocks have the same length.
    pub fn begin(gather: &SharedGather, block: &[u8]) -> Result<Exchange> {
        let mut group = gather.borrow_mut();
        group.begin(block).map_err(|error| anyhow!(error)).context(LOST)?;
        let blocks = vec![0; block.len() * group.participants() as usize];
        Ok(Exchange { gather: Rc::clone(gather), blocks })
    }

    /// Whether both have given their blocks.
    pub fn test(&mut self) -> Result<bool> {
        let over = self.gather.borrow_mut().test(&mut self.blocks);
        over.map_err(|error| anyhow!(error)).context(LOST)
    }

    /// Waits for the blocks of both, at most `limit`. Runs `meanwhile` again and again.
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
