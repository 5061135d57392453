//! Tracks C heap descriptors and their owners, for leak checks (feature `test-util`). Allocations
//! within [`of`] belong to its owner; any thread may free them. Tracks only this copy of the crate.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    Command(u64),
    /// A notification with this capacity after its header.
    Notification(usize),
}

static LIVING: Mutex<BTreeMap<usize, (u64, Block)>> = Mutex::new(BTreeMap::new());

/// Whether tracking was ever used; otherwise it costs nothing.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The owner of this thread's allocations; 0 for none.
    static OWNER: Cell<u64> = const { Cell::new(0) };
    static FAILING: Cell<usize> = const { Cell::new(0) };
}

fn living_blocks() -> MutexGuard<'static, BTreeMap<usize, (u64, Block)>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` and assigns this thread's allocations to `owner`, which is not 0.
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

pub fn living(owner: u64) -> Vec<Block> {
    living_blocks().values().filter(|(whose, _)| *whose == owner).map(|(_, block)| *block).collect()
}

pub fn forget(owner: u64) {
    living_blocks().retain(|_, (whose, _)| *whose != owner);
}

/// Makes this thread's next `count` notifications fail. Returns the rest of the previous count.
pub fn fail_notifications(count: usize) -> usize {
    IS_USED.store(true, Ordering::Relaxed);
    FAILING.replace(count)
}

/// Always false without the feature, so that the compiler removes the tracking.
#[inline]
fn is_used() -> bool {
    cfg!(feature = "test-util") && IS_USED.load(Ordering::Relaxed)
}

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
    // A thread that frees another thread's block synchronised with it before, so it sees the flag.
    if is_used() {
        living_blocks().remove(&at.addr());
    }
}
