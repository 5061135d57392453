//! Counts the messages sent to receivers of frames: one input holds many.

use std::sync::atomic::{AtomicU64, Ordering};

const EACH: u64 = 1_000_000;

pub fn count() {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let sent = SENT.fetch_add(1, Ordering::Relaxed) + 1;
    if sent.is_multiple_of(EACH) {
        eprintln!("{sent} messages were sent so far");
    }
}
