//! Counts each thread's memory in an allocator, which the program must install, not a library: the
//! fuzz targets and this crate's tests do.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// The thread that a test watches from another thread, or 0.
static WATCHED: AtomicI32 = AtomicI32::new(0);
static WATCHED_CALLS: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counting each thread's memory in use: for `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(calls: usize, by: isize) {
    let watched = WATCHED.load(Ordering::Relaxed);
    if watched != 0 && rustix::thread::gettid().as_raw_nonzero().get() == watched {
        WATCHED_CALLS.fetch_add(calls, Ordering::Relaxed);
    }
    // The counters of an ending thread are already destroyed.
    let _ = CALLS.try_with(|all| all.set(all.get() + calls));
    let _ = NOW.try_with(|now| {
        now.set(now.get() + by);
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: all calls go to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: the caller fulfils the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: the caller fulfils the contract of `GlobalAlloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(0, -(layout.size() as isize));
        // SAFETY: the caller fulfils the contract of `GlobalAlloc`, and the memory is `System`'s.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as isize - layout.size() as isize);
        // SAFETY: the caller fulfils the contract of `GlobalAlloc`, and the memory is `System`'s.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Returns the number of this thread's allocations.
pub fn calls() -> usize {
    CALLS.get()
}

/// Counts the allocations of a thread, by its system id.
pub fn watch(thread: i32) {
    WATCHED.store(thread, Ordering::Relaxed);
}

/// Returns the number of the watched thread's allocations.
pub fn watched_calls() -> usize {
    WATCHED_CALLS.load(Ordering::Relaxed)
}

/// Panics if `body` uses more than `limit` bytes, or without [`Counting`] as the allocator.
pub fn within<T>(limit: usize, body: impl FnOnce() -> T) -> T {
    // The thread's one-time allocations are not counted.
    super::prepare();
    let before = NOW.get();
    let one = std::hint::black_box(Box::new(0_u8));
    assert_eq!(NOW.get(), before + 1, "the program has an allocator that does not count");
    drop(one);
    MOST.set(before);
    let result = body();
    let most = MOST.get() - before;
    assert!(most <= limit as isize, "it took {most} bytes of memory, where {limit} are the most");
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_and_frees_are_counted() {
        within(3000, || drop((vec![1_u8; 1000], vec![0_u8; 1000])));
        let taken = std::panic::catch_unwind(|| within(999, || drop(vec![1_u8; 1000])));
        assert!(taken.is_err());
        let grown = std::panic::catch_unwind(|| within(999, || vec![1_u8; 500].resize(1000, 1)));
        assert!(grown.is_err());
    }
}
