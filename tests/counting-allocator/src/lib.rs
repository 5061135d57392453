//! The system allocator with counters for each thread, for tests that limit allocations.
//!
//! The implementation is in `urom-wire`: its published `fuzzing` feature cannot depend on this
//! unpublished crate.

#[path = "../../../urom-wire/src/fuzzing/memory.rs"]
pub mod memory;

pub use memory::{Counting as CountingAllocator, within};

/// Counts the allocations of `work` on this thread.
///
/// # Panics
/// If [`CountingAllocator`] is not the program's allocator.
pub fn allocations_of(work: impl FnOnce()) -> usize {
    let before = memory::calls();
    drop(std::hint::black_box(Box::new(0_u8)));
    assert_eq!(memory::calls(), before + 1, "the program's allocator does not count");
    let before = memory::calls();
    work();
    memory::calls() - before
}

fn prepare() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_is_counted() {
        assert_eq!(allocations_of(|| ()), 0);
        assert_eq!(allocations_of(|| drop(std::hint::black_box(vec![1; 10]))), 1);
    }
}
