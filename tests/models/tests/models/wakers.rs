//! `urom-pdk/src/woken.rs`: from the wakers of a plugin's futures, on any thread, to the executor.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::woken::Woken;

struct Chunk {
    woken: Woken,
    done: [UnsafeCell<bool>; 2],
}

impl Chunk {
    fn new() -> Arc<Chunk> {
        Arc::new(Chunk {
            woken: Woken::new(),
            done: [UnsafeCell::new(false), UnsafeCell::new(false)],
        })
    }

    /// Reads a woken future's data. loom reports a race with the writer.
    fn is_done(&self, slot: usize) -> bool {
        self.done[slot].with(|done| {
            // SAFETY: the write precedes the wake that led here.
            unsafe { *done }
        })
    }

    /// Returns whether the worker sleeps and must be woken.
    fn finish(&self, slot: usize) -> bool {
        self.done[slot].with_mut(|done| {
            // SAFETY: readers come only after the wake.
            unsafe { *done = true }
        });
        self.woken.set(1 << slot)
    }
}

#[test]
fn every_wake_is_seen_once_with_what_was_written_before_it() {
    loom::model(|| {
        let chunk = Chunk::new();
        let wakers = [0, 1].map(|slot| {
            let chunk = Arc::clone(&chunk);
            thread::spawn(move || chunk.finish(slot))
        });
        let mut seen = 0;
        for _ in 0..2 {
            let woken = chunk.woken.take();
            assert_eq!(seen & woken, 0, "a wake counts once");
            (0..2)
                .filter(|slot| woken >> slot & 1 != 0)
                .for_each(|slot| assert!(chunk.is_done(slot)));
            seen |= woken;
        }
        let rang = wakers.map(|waker| waker.join().unwrap());
        assert_eq!(rang, [false; 2], "the worker does not sleep");
        seen |= chunk.woken.take();
        assert_eq!(seen, 0b11, "a wake was lost");
    });
}

#[test]
fn a_wake_beside_a_worker_that_falls_asleep_is_seen_by_one_of_them() {
    loom::model(|| {
        let chunk = Chunk::new();
        let waker = {
            let chunk = Arc::clone(&chunk);
            thread::spawn(move || chunk.finish(0))
        };
        let sleeps = chunk.woken.fall_asleep();
        let rang = waker.join().unwrap();
        assert!(!sleeps || rang, "the worker sleeps on");
        chunk.woken.wake_up();
        assert_eq!(chunk.woken.take(), 1);
        assert!(chunk.is_done(0));
        assert!(!chunk.woken.set(1), "no thread sleeps");
    });
}
