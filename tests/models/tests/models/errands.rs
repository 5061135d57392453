//! `urom-service/src/queue/errand.rs`: from the thread that sends a message into a queue to the queue's owner, and back. `send` and
//! `Probe::look` of `queue.rs` use it in this order.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use crate::errand::{Enough, Errand, Seen, Stage};

/// A message that is in the queue is there without an order of its own: that comes with the errand.
const PLACE: Ordering = Ordering::Relaxed;

#[test]
fn a_queue_that_moves_is_never_taken_for_one_that_does_not() {
    loom::model(|| {
        let (errand, queue) = (Arc::new(Errand::new()), Arc::new(AtomicBool::new(false)));
        let (told, place) = (Arc::clone(&errand), Arc::clone(&queue));
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
            if !seen.got_further(&errand) {
                assert!(!seen.look(&errand, empty, &Enough { looks: 1, turns: 2 }), "{seen:?}");
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_sender_for_whom_nobody_waits_ends() {
    loom::model(|| {
        let errand = Arc::new(Errand::new());
        let told = Arc::clone(&errand);
        let sender = thread::spawn(move || {
            while told.is_wanted() {
                thread::yield_now();
            }
            told.reach(Stage::Failed);
        });
        errand.abandon();
        sender.join().unwrap();
        assert_eq!(errand.stage(), Stage::Failed);
    });
}
