//! `ucx/src/queue_probe/state.rs`: from the thread that sends a message into a queue to the
//! queue's owner, and back. `send` and `QueueProbe::look` of `queue_probe.rs` use it in this order.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use crate::probe_state::{Enough, ProbeState, Seen, Stage};

/// A message that is in the queue is there without an order of its own: that comes with the state.
const PLACE: Ordering = Ordering::Relaxed;

#[test]
fn a_queue_that_moves_is_never_taken_for_one_that_does_not() {
    loom::model(|| {
        let (state, queue) = (Arc::new(ProbeState::new()), Arc::new(AtomicBool::new(false)));
        let (told, place) = (Arc::clone(&state), Arc::clone(&queue));
        let sender = thread::spawn(move || {
            told.reach(Stage::Sent);
            // The queue is full at first, for less turns than are enough.
            told.turn();
            place.store(true, PLACE);
            told.reach(Stage::Arrived);
        });
        let mut seen = Seen::default();
        for _ in 0..4 {
            let empty = !queue.load(PLACE);
            assert!(!empty || seen.stage() < Stage::Arrived, "it is said to be there");
            if !empty {
                break;
            }
            if !seen.got_further(&state) {
                assert!(!seen.look(&state, empty, &Enough { looks: 1, turns: 2 }), "{seen:?}");
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_sender_for_whom_nobody_waits_ends() {
    loom::model(|| {
        let state = Arc::new(ProbeState::new());
        let told = Arc::clone(&state);
        let sender = thread::spawn(move || {
            while told.is_wanted() {
                thread::yield_now();
            }
            told.reach(Stage::Failed);
        });
        state.abandon();
        sender.join().unwrap();
        assert_eq!(state.stage(), Stage::Failed);
    });
}
