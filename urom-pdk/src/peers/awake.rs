//! Keeps a worker awake during long transfers.

use std::cell::Cell;
use std::rc::Rc;

/// Turns without UCX progress that a transfer keeps a worker awake; pieces take fewer.
const MOST_TURNS: u32 = 20_000;

/// Turns without progress after which an awake worker yields its core.
const TURNS: u32 = 2;

/// Keeps a worker awake during long transfers. UCX moves the pieces of a long message in the
/// worker's progress and reports few of them: the worker would sleep in between. The worker yields
/// its core now and then, because the peers may need it.
#[derive(Clone, Debug, Default)]
pub struct KeepAwake(Rc<TransferCounts>);

#[derive(Debug, Default)]
struct TransferCounts {
    transfers: Cell<usize>,
    turns: Cell<u32>,
}

/// A long transfer, until this is dropped.
#[derive(Debug)]
pub struct Awake(KeepAwake);

impl KeepAwake {
    /// Begins a transfer. It keeps the worker awake for up to 20,000 turns without progress.
    #[must_use]
    pub fn transfer(&self) -> Awake {
        self.count(self.0.transfers.get() + 1);
        Awake(self.clone())
    }

    fn count(&self, transfers: usize) {
        self.0.transfers.set(transfers);
        self.0.turns.set(0);
    }

    #[inline]
    pub(super) fn after(&self, moved: bool) -> bool {
        let TransferCounts { transfers, turns } = &*self.0;
        if moved || transfers.get() == 0 {
            turns.set(0);
            return moved;
        }
        turns.set(turns.get().saturating_add(1));
        let is_kept = turns.get() < MOST_TURNS;
        if is_kept && turns.get().is_multiple_of(TURNS) {
            std::thread::yield_now();
        }
        is_kept
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.count(self.0.0.transfers.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_keep_a_worker_awake_while_ucx_moves_now_and_then() {
        let awake = KeepAwake::default();
        assert!(!awake.after(false) && awake.after(true));
        let [first, second] = [awake.transfer(), awake.transfer()];
        drop(first);
        for _ in 0..3 {
            assert!((1..MOST_TURNS).all(|_| awake.after(false)));
            assert!(awake.after(true), "UCX moves");
        }
        assert!(!(0..MOST_TURNS).all(|_| awake.after(false)), "UCX moves no more");
        let third = awake.transfer();
        assert!(awake.after(false), "a transfer begins");
        drop((second, third));
        assert!(!awake.after(false));
    }
}
