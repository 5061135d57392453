//! The plugin: keeps a running sum of the values that its host sends.

use std::cell::Cell;

use protocol::{Accumulate, Accumulated, Handler};

use urom_pdk::prelude::*;

#[cfg(test)]
mod tests;

/// The state of one worker. Cells suffice, because the worker calls the plugin from one thread.
struct Reduction {
    sum: Cell<f64>,
    count: Cell<u64>,
}

#[urom_plugin]
impl Handler for Reduction {
    fn open(_cx: &OpenContext) -> Result<Self> {
        Ok(Reduction {
            sum: Cell::new(0.0),
            count: Cell::new(0),
        })
    }

    async fn accumulate(&self, _cx: &Context, cmd: Accumulate<'_>) -> Result<Accumulated> {
        let own: f64 = cmd.values.iter().sum();
        ensure!(
            own.is_finite(),
            DocaError::INVALID_VALUE,
            "the sum of the values is not finite"
        );
        self.sum.set(self.sum.get() + own);
        self.count.set(self.count.get() + cmd.values.len() as u64);
        Ok(Accumulated {
            sum: self.sum.get(),
            count: self.count.get(),
        })
    }
}
