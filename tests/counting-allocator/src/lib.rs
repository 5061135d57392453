//! The system's allocator with counters for each thread: for tests that limit allocations.
//!
//! The implementation is `urom-wire`'s, whose published `fuzzing` feature cannot depend on a crate
//! that is not published.

#[path = "../../../urom-wire/src/fuzzing/memory.rs"]
pub mod memory;

pub use memory::{Counting as CountingAllocator, within};

/// How many times `work` takes memory on this thread.
///
/// # Panics
/// When [`CountingAllocator`] is not the program's allocator.
pub fn allocations_of(work: impl FnOnce()) -> usize {
    let before = memory::calls();
    drop(std::hint::black_box(Box::new(0_u8)));
    assert_eq!(memory::calls(), before + 1, "the program's allocator does not count");
    let before = memory::calls();
    work();
    memory::calls() - before
}

/// Nothing is made once for a thread here.
fn prepare() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_counts() {
        assert_eq!(allocations_of(|| ()), 0);
        assert_eq!(allocations_of(|| drop(std::hint::black_box(vec![1; 10]))), 1);
    }
}
