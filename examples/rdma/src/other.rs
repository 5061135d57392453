//! The other process: bytes that both exchange.

use anyhow::Result;
use example_common::{Exchange, SharedGather};

use crate::LIMIT;

pub(crate) struct Other {
    gather: SharedGather,
}

impl Other {
    pub(crate) fn new(gather: SharedGather) -> Other {
        Other { gather }
    }

    /// Gives bytes to the other process, and gets those that it gives.
    pub(crate) fn swap(&self, own: &[u8]) -> Result<Vec<u8>> {
        let lens = self.gather(&(own.len() as u64).to_le_bytes())?;
        let lens = lens.map(|len| len.try_into().map_or(0, u64::from_le_bytes) as usize);
        let mut block = own.to_vec();
        block.resize(lens[0].max(lens[1]), 0);
        let other = 1 - self.gather.borrow().index() as usize;
        let [first, second] = self.gather(&block)?;
        let mut theirs = if other == 0 { first } else { second };
        theirs.truncate(lens[other]);
        Ok(theirs)
    }

    /// Waits until the other process is here, too.
    pub(crate) fn meet(&self) -> Result<()> {
        self.gather(&[1]).map(drop)
    }

    /// The blocks of both processes.
    fn gather(&self, block: &[u8]) -> Result<[Vec<u8>; 2]> {
        if block.is_empty() {
            return Ok([Vec::new(), Vec::new()]);
        }
        let mut first = Exchange::begin(&self.gather, block)?.finish(LIMIT)?;
        let second = first.split_off(block.len());
        Ok([first, second])
    }
}
