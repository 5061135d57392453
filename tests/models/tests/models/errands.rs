//! `urom-service/src/queue/errand.rs`: from the thread that sends a message into a queue to the queue's owner, and back.

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
            // The queue is full at first.
            told.turn();
            place.store(true, PLACE);
            told.reach(Stage::Arrived);
        });
        let mut seen = Seen::default();
        for _ in 0..4 {
            let empty = !queue.load(PLACE);
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
fn one_that_does_not_move_is_found_out_whether_the_message_has_a_place_in_it_or_none() {
    for stages in [&[Stage::Sent][..], &[Stage::Sent, Stage::Arrived]] {
        loom::model(move || {
            let errand = Arc::new(Errand::new());
            let told = Arc::clone(&errand);
            let sender = thread::spawn(move || {
                stages.iter().for_each(|stage| told.reach(*stage));
                told.turn();
            });
            sender.join().unwrap();
            let mut seen = Seen::default();
            assert!(seen.got_further(&errand) && Some(&seen.stage()) == stages.last());
            assert!(!seen.got_further(&errand), "it is where it was");
            let enough = Enough { looks: 2, turns: 1 };
            assert!(!seen.look(&errand, true, &enough) && !seen.look(&errand, false, &enough));
            assert!(seen.look(&errand, true, &enough));
        });
    }
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
