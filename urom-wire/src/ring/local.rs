//! A direction in memory of this process, for tests.

use super::cells::{Cell, LaneControl, LaneMemory, WORDS};
use crate::sync::{Arc, AtomicU64, Ordering};

#[derive(Clone)]
pub(crate) struct LocalLane(Arc<(LaneControl, Vec<Cell>)>);

impl LocalLane {
    pub(crate) fn new(cells: usize) -> LocalLane {
        let zero = || AtomicU64::new(0);
        let control = LaneControl {
            taken: zero(),
            sleeps: zero(),
            _reader: std::array::from_fn(|_| zero()),
            waits: zero(),
            _writer: std::array::from_fn(|_| zero()),
        };
        let cell = || Cell(std::array::from_fn::<_, WORDS, _>(|_| zero()));
        LocalLane(Arc::new((control, std::iter::repeat_with(cell).take(cells).collect())))
    }

    pub(crate) fn set_taken(&self, taken: u64) {
        self.0.0.taken.store(taken, Ordering::Relaxed);
    }

    pub(crate) fn word(&self, position: usize, word: usize) -> &AtomicU64 {
        &self.0.1[position].0[word]
    }
}

impl LaneMemory for LocalLane {
    fn control(&self) -> &LaneControl {
        &self.0.0
    }

    fn cells(&self) -> &[Cell] {
        &self.0.1
    }
}
