//! The other process, for exchanges of bytes.

use anyhow::Result;
use example_common::{Exchange, SharedGather};

use crate::LIMIT;

pub(crate) struct Other(pub(crate) SharedGather);

impl Other {
    pub(crate) fn swap(&self, own: &[u8]) -> Result<Vec<u8>> {
        let lens = self.gather(&(own.len() as u64).to_le_bytes(), || Ok(()))?;
        let lens = lens.map(|len| len.try_into().map_or(0, u64::from_le_bytes) as usize);
        let mut block = own.to_vec();
        block.resize(lens[0].max(lens[1]), 0);
        let mut blocks = self.gather(&block, || Ok(()))?;
        let other = 1 - self.0.borrow().index() as usize;
        blocks[other].truncate(lens[other]);
        Ok(std::mem::take(&mut blocks[other]))
    }

    pub(crate) fn meet(&self) -> Result<()> {
        self.meet_while(|| Ok(()))
    }

    /// Waits for the other process, and calls `meanwhile` repeatedly without a pause.
    pub(crate) fn meet_while(&self, meanwhile: impl FnMut() -> Result<()>) -> Result<()> {
        self.gather(&[1], meanwhile).map(drop)
    }

    fn gather(&self, block: &[u8], meanwhile: impl FnMut() -> Result<()>) -> Result<[Vec<u8>; 2]> {
        if block.is_empty() {
            return Ok([Vec::new(), Vec::new()]);
        }
        let mut first = Exchange::begin(&self.0, block)?.finish(LIMIT, meanwhile)?;
        let second = first.split_off(block.len());
        Ok([first, second])
    }
}
