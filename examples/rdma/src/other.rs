//! The other process, for exchanges of bytes.

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

    pub(crate) fn swap(&self, own: &[u8]) -> Result<Vec<u8>> {
        let lens = self.gather(&(own.len() as u64).to_le_bytes(), || Ok(()))?;
        let lens = lens.map(|len| len.try_into().map_or(0, u64::from_le_bytes));
        let longest = lens.into_iter().max().unwrap_or(0) as usize;
        let mut block = own.to_vec();
        block.resize(longest, 0);
        let [first, second] = self.gather(&block, || Ok(()))?;
        let (mut theirs, len) = match self.index() {
            0 => (second, lens[1]),
            _ => (first, lens[0]),
        };
        theirs.truncate(len as usize);
        Ok(theirs)
    }

    pub(crate) fn meet(&self) -> Result<()> {
        self.meet_while(|| Ok(()))
    }

    /// Waits for the other process, and calls `meanwhile` repeatedly without a pause.
    pub(crate) fn meet_while(&self, meanwhile: impl FnMut() -> Result<()>) -> Result<()> {
        self.gather(&[1], meanwhile).map(drop)
    }

    fn index(&self) -> u32 {
        self.gather.borrow().index()
    }

    fn gather(&self, block: &[u8], meanwhile: impl FnMut() -> Result<()>) -> Result<[Vec<u8>; 2]> {
        if block.is_empty() {
            return Ok([Vec::new(), Vec::new()]);
        }
        let mut first = Exchange::begin(&self.gather, block)?.finish(LIMIT, meanwhile)?;
        let second = first.split_off(block.len());
        Ok([first, second])
    }
}
