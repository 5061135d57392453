//! Memory that C code gets the address of.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Zeroed memory, 8-aligned, that never moves.
#[derive(Debug)]
pub(super) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// `None` when there is no memory left.
    pub(super) fn new(len: usize) -> Option<Memory> {
        // Never zero bytes: the pointer given to a host is always one it can read.
        let layout = Layout::from_size_align(len.max(8), 8).ok()?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        Some(Memory { start: NonNull::new(start)?, layout })
    }

    /// No memory; nothing may be read or written.
    pub(super) const fn none() -> Memory {
        Memory { start: NonNull::<u64>::dangling().cast(), layout: Layout::new::<[u64; 0]>() }
    }

    /// How long it is, in bytes: at least what was asked for.
    pub(super) fn len(&self) -> usize {
        self.layout.size()
    }

    /// Where it begins.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.layout.size() == 0 {
            return;
        }
        // SAFETY: from `alloc_zeroed` with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
