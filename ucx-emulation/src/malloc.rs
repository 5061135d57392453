//! `malloc` and its relatives: large blocks from the arena, all others from the C library. Each
//! function has the C library's contract. They run before `main`, on any thread, at any time, so
//! they must not panic or use thread-local variables. Their own memory comes from the C library.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arena::ARENA;
use crate::real;

/// Minimum size of arena blocks in bytes. `MAX` until the arena is open.
static THRESHOLD: AtomicUsize = AtomicUsize::new(usize::MAX);

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

/// Rust's own allocator: the C library, because the arena allocates under its lock.
struct OfCLibrary;

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: OfCLibrary = OfCLibrary;

// SAFETY: the C library keeps the contract, and `__libc_memalign` accepts any power of two.
unsafe impl GlobalAlloc for OfCLibrary {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any values are allowed.
        unsafe { __libc_memalign(layout.align(), layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block is from `alloc`.
        unsafe { __libc_free(block.cast()) };
    }
}

pub(crate) fn use_arena_from(threshold: usize) {
    THRESHOLD.store(threshold, Ordering::Relaxed);
}

/// Allocates in the arena. Returns null if the size is too small or the arena is full.
fn allocate(size: usize, align: usize, zero: bool) -> *mut c_void {
    if size < THRESHOLD.load(Ordering::Relaxed) || !align.is_power_of_two() {
        return ptr::null_mut();
    }
    ARENA.allocate(size, align, zero).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

fn set_errno(code: c_int) {
    // SAFETY: the function can always be called.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: errno belongs to this thread.
    unsafe { location.write(code) };
}

fn errno() -> c_int {
    // SAFETY: the function can always be called.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: errno belongs to this thread.
    unsafe { location.read() }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn malloc(size: usize) -> *mut c_void {
    let block = allocate(size, 1, false);
    if !block.is_null() {
        return block;
    }
    // SAFETY: any size is allowed.
    unsafe { __libc_malloc(size) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if let Some(bytes) = count.checked_mul(size) {
        let block = allocate(bytes, 1, true);
        if !block.is_null() {
            return block;
        }
    }
    // SAFETY: any sizes are allowed.
    unsafe { __libc_calloc(count, size) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn free(block: *mut c_void) {
    if ARENA.has(block.addr()) {
        let kept = errno();
        ARENA.free(block.addr());
        set_errno(kept);
    } else {
        // SAFETY: the caller's block is outside the arena, so it is the C library's.
        unsafe { __libc_free(block) };
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    let is_own = ARENA.has(block.addr());
    if is_own && size == 0 {
        // Like the C library.
        // SAFETY: the program frees a block of this allocator.
        unsafe { free(block) };
        return ptr::null_mut();
    }
    let is_large = size >= THRESHOLD.load(Ordering::Relaxed);
    if is_own && is_large && ARENA.resize(block.addr(), size) {
        return block;
    }
    // A C library block moves only if the arena takes the larger one.
    let moved = if is_own { malloc(size) } else { allocate(size, 1, false) };
    if moved.is_null() {
        // SAFETY: the program's block is outside the arena, so it is the C library's.
        return if is_own { moved } else { unsafe { __libc_realloc(block, size) } };
    }
    // SAFETY: the program's block is live until it is freed below.
    let old = unsafe { malloc_usable_size(block) };
    // SAFETY: both blocks have at least this length, and the new one is not shared.
    unsafe { ptr::copy_nonoverlapping(block.cast::<u8>(), moved.cast(), old.min(size)) };
    // SAFETY: the program no longer uses the old block, and its content was copied.
    unsafe { free(block) };
    moved
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the program passes a live block of this allocator, as C demands.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => {
            set_errno(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    let block = allocate(size, align, false);
    if !block.is_null() {
        return block;
    }
    // SAFETY: any values are allowed.
    unsafe { __libc_memalign(align, size) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    memalign(align, size)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn posix_memalign(
    memptr: *mut *mut c_void,
    align: usize,
    size: usize,
) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let kept = errno();
    let block = memalign(align, size);
    set_errno(kept);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program passes a valid pointer, as C demands.
    unsafe { memptr.write(block) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn valloc(size: usize) -> *mut c_void {
    memalign(page_size(), size)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn pvalloc(size: usize) -> *mut c_void {
    let page = page_size();
    match size.max(1).checked_next_multiple_of(page) {
        Some(pages) => memalign(page, pages),
        None => {
            set_errno(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    if ARENA.has(block.addr()) {
        return ARENA.usable_size(block.addr());
    }
    match real::malloc_usable_size() {
        // SAFETY: the caller's block is outside the arena, so it is the C library's.
        Some(function) => unsafe { function(block) },
        None => 0,
    }
}

pub(crate) fn page_size() -> usize {
    // SAFETY: `sysconf` only returns a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16)
}
