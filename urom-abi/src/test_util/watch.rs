//! Which descriptors are on the C heap, and whose they are: what a test kit asks at the end
//! (feature `test-util`).
//!
//! What is allocated within [`of`] belongs to its owner; it may be freed on any thread. Only
//! descriptors that this copy of the crate allocates and frees are seen.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    /// A command with this token (`urom_context`).
    Command(u64),
    /// A notification with room for this many bytes behind its header.
    Notification(usize),
}

static LIVING: Mutex<BTreeMap<usize, (u64, Block)>> = Mutex::new(BTreeMap::new());

/// Whether anybody ever watched: a program with the feature that does not test costs nothing.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whose calls this thread is in; 0 for nobody's.
    static OWNER: Cell<u64> = const { Cell::new(0) };
    static FAILING: Cell<usize> = const { Cell::new(0) };
}

fn living_blocks() -> MutexGuard<'static, BTreeMap<usize, (u64, Block)>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body`; what this thread allocates meanwhile is `owner`'s, which is not 0.
pub fn of<R>(owner: u64, body: impl FnOnce() -> R) -> R {
    struct Back(u64);
    impl Drop for Back {
        fn drop(&mut self) {
            OWNER.set(self.0);
        }
    }
    IS_USED.store(true, Ordering::Relaxed);
    let _back = Back(OWNER.replace(owner));
    body()
}

/// What `owner` allocated and nobody freed yet.
pub fn living(owner: u64) -> Vec<Block> {
    living_blocks().values().filter(|(whose, _)| *whose == owner).map(|(_, block)| *block).collect()
}

pub fn forget(owner: u64) {
    living_blocks().retain(|_, (whose, _)| *whose != owner);
}

/// The next `count` notifications that this thread allocates find no memory. Gives what was
/// left of earlier calls.
pub fn fail_notifications(count: usize) -> usize {
    IS_USED.store(true, Ordering::Relaxed);
    FAILING.replace(count)
}

/// Never without the feature, so that all of this is gone then.
#[inline]
fn is_used() -> bool {
    cfg!(feature = "test-util") && IS_USED.load(Ordering::Relaxed)
}

/// Whether a notification that is wanted now finds no memory.
#[inline]
pub(crate) fn refuses() -> bool {
    if !is_used() {
        return false;
    }
    let left = FAILING.get();
    FAILING.set(left.saturating_sub(1));
    left > 0
}

#[inline]
pub(crate) fn allocated(at: *const u8, block: Block) {
    let owner = if is_used() { OWNER.get() } else { 0 };
    if owner != 0 {
        living_blocks().insert(at.addr(), (owner, block));
    }
}

#[inline]
pub(crate) fn freed(at: *const u8) {
    // Whoever frees on another thread got the block from there, and knows what was before.
    if is_used() {
        living_blocks().remove(&at.addr());
    }
}
