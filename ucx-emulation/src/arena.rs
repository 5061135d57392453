//! The arena: memory that other processes can map, and its block table. `malloc` uses it, so
//! failures are error values, not panics. The table comes from the C library: see
//! [`malloc`](crate::malloc).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use crate::lock::Lock;
use crate::malloc::page_size;
use crate::memfd::{FileId, SharedFile};
use crate::note::fatal;
use crate::runs::{GRANULE, GranuleRun, NoRun, RELEASE, Runs};
use crate::slot::{self, SLOT_SIZE};

/// Granules of the header: one page of 64 KiB, the largest page size.
pub(crate) const FIRST: u32 = 16;

/// Granules made accessible at a time (64 MiB). A process with `mlockall` pays only for these.
const STEP: u32 = 16 << 10;

/// Minimum size of an arena in bytes.
const LEAST: usize = 64 << 20;

pub(crate) static ARENA: Arena = Arena {
    base: AtomicUsize::new(0),
    size: AtomicUsize::new(0),
    // Null until the arena opens.
    alive: AtomicPtr::new(ptr::null_mut()),
    gives_back: AtomicBool::new(true),
    state: Lock::new(None),
};

pub(crate) struct Arena {
    /// 0 while the arena is closed.
    base: AtomicUsize,
    size: AtomicUsize,
    /// The kernel clears it in a forked child. See [`Arena::is_usable`].
    alive: AtomicPtr<AtomicBool>,
    /// Whether `MADV_REMOVE` frees memory. CPU emulators may ignore it.
    gives_back: AtomicBool,
    pub(crate) state: Lock<Option<ArenaState>>,
}

pub(crate) struct ArenaState {
    pub(crate) runs: Runs,
    /// `None` in a child whose copy failed.
    pub(crate) shared: Option<SharedFile>,
    /// Held by this process and, until they exec, its forked children.
    _slot: slot::AddressSlot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArenaId {
    pub(crate) base: usize,
    pub(crate) size: usize,
    pub(crate) fd: i32,
    pub(crate) file: FileId,
    pub(crate) cookie: [u8; 16],
}

impl Arena {
    /// Opens the arena. Must be called once, before the process has threads.
    ///
    /// # Errors
    /// An error of the kernel. All memory then comes from the C library.
    pub(crate) fn open(&self) -> Result<(), Errno> {
        let size = affordable();
        if size < LEAST {
            return Err(Errno::NOMEM);
        }
        let alive = reserve(None, 4096, ProtFlags::READ | ProtFlags::WRITE)?;
        // SAFETY: the page was mapped above and is never unmapped.
        unsafe { rustix::mm::madvise(alive, 4096, rustix::mm::Advice::LinuxWipeOnFork) }?;
        let alive = alive.cast::<AtomicBool>();
        // SAFETY: the page is mapped and zero, and zero is a valid `AtomicBool`.
        unsafe { &*alive }.store(true, Ordering::Relaxed);

        let pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
        for slot in slot::free(pid) {
            match reserve(Some(slot.base), size, ProtFlags::empty()) {
                Ok(_) => {}
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error),
            }
            let base = slot.base;
            let shared = SharedFile::create(base, size)?;
            map(base, size, ProtFlags::empty(), MapFlags::SHARED, shared.memfd.as_fd())?;
            let (runs, shared) = (Runs::new(FIRST), Some(shared));
            self.state.with(|state| *state = Some(ArenaState { runs, shared, _slot: slot }));
            self.alive.store(alive, Ordering::Relaxed);
            self.size.store(size, Ordering::Relaxed);
            self.gives_back.store(takes_back(base)?, Ordering::Relaxed);
            self.base.store(base, Ordering::Release);
            return Ok(());
        }
        Err(Errno::ADDRINUSE)
    }

    /// Returns the base address, or 0 before the arena opens.
    pub(crate) fn base(&self) -> usize {
        self.base.load(Ordering::Acquire)
    }

    pub(crate) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    pub(crate) fn has(&self, address: usize) -> bool {
        let base = self.base();
        base != 0 && address.wrapping_sub(base) < self.size()
    }

    /// Returns whether this process may allocate and free. A child of a bare system call (without
    /// `pthread_atfork`) may not: its copy of the table is separate from the parent's.
    pub(crate) fn is_usable(&self) -> bool {
        let alive = self.alive.load(Ordering::Acquire);
        // SAFETY: the pointer is null or points to a page that is never unmapped.
        self.base() != 0 && unsafe { alive.as_ref() }.is_some_and(|it| it.load(Ordering::Relaxed))
    }

    /// Enables the arena in a forked child that has its own copy.
    pub(crate) fn revive(&self) {
        let alive = self.alive.load(Ordering::Acquire);
        // SAFETY: as in `is_usable`.
        if let Some(alive) = unsafe { alive.as_ref() } {
            alive.store(true, Ordering::Relaxed);
        }
    }

    /// Allocates `size` bytes at a multiple of `align`, a power of two. `None` if the arena is
    /// full.
    pub(crate) fn allocate(&self, size: usize, align: usize, zero: bool) -> Option<NonNull<u8>> {
        if !self.is_usable() {
            return None;
        }
        let len = granules(size)?;
        let align = granules(align)?;
        let (run, is_clean) = self.with(|state| {
            if let Some(taken) = state.runs.take(len, align) {
                return Some(taken);
            }
            extend(self.base(), self.size(), &mut state.runs, len.checked_add(align)?)?;
            state.runs.take(len, align)
        })?;
        let start = NonNull::new(self.at(run.start))?;
        if zero && !is_clean && (len < RELEASE || !self.release(run)) {
            // SAFETY: the granules are in the arena, accessible, and owned by this call.
            unsafe { ptr::write_bytes(start.as_ptr(), 0, len as usize * GRANULE) };
        }
        Some(start)
    }

    /// Frees the block at `address`, which must lie in the arena.
    pub(crate) fn free(&self, address: usize) {
        if !self.is_usable() {
            // The block is shared with the parent.
            return;
        }
        self.give(self.start_of(address));
    }

    /// Returns the size of a block in bytes. `address` must lie in the arena.
    pub(crate) fn usable_size(&self, address: usize) -> usize {
        let start = self.start_of(address);
        let len = self.with(|state| state.runs.len(start).ok());
        len.unwrap_or_else(|| no_block()) as usize * GRANULE
    }

    /// Resizes a block in place if possible. `address` must lie in the arena.
    pub(crate) fn resize(&self, address: usize, size: usize) -> bool {
        let (Some(len), true) = (granules(size), self.is_usable()) else { return false };
        let start = self.start_of(address);
        let resized = self.with(|state| {
            let old = state.runs.len(start)?;
            if len > old {
                return state.runs.grow(start, len).map(|done| (done, None));
            }
            let rest = (len < old).then(|| state.runs.split(start, len)).transpose()?;
            Ok((true, rest))
        });
        let Ok((done, rest)) = resized else { no_block() };
        if let Some(rest) = rest {
            self.give(rest);
        }
        done
    }

    /// Returns the arena's identity if other processes can open the arena.
    pub(crate) fn identity(&self) -> Option<ArenaId> {
        if !self.is_usable() {
            return None;
        }
        let (base, size) = (self.base(), self.size());
        self.with(|state| {
            let shared = state.shared.as_ref()?;
            let fd = shared.own_memfd()?.as_raw_fd();
            Some(ArenaId { base, size, fd, file: shared.file, cookie: shared.cookie })
        })
    }

    fn give(&self, start: u32) {
        let mut given = self.with(|state| state.runs.give(start, false, true));
        while let Some(run) = given.unwrap_or_else(|NoRun| no_block()) {
            // Without the lock: UCX intercepts madvise and may call malloc.
            let clean = self.release(run);
            given = self.with(|state| state.runs.give(run.start, clean, clean));
        }
    }

    /// Returns a run's memory to the system. True if all of it is zero now.
    fn release(&self, run: GranuleRun) -> bool {
        let page = page_size();
        let start = self.base() + run.start as usize * GRANULE;
        let end = start + run.len as usize * GRANULE;
        let (first, last) = (start.next_multiple_of(page), end - end % page);
        if first >= last || !self.gives_back.load(Ordering::Relaxed) {
            return false;
        }
        let whole = (first, last) == (start, end);
        let first = ptr::with_exposed_provenance_mut(first);
        // The C library's function instead of a raw system call: UCX then drops its registrations.
        // SAFETY: the pages are in the arena, in a run that this thread alone owns.
        whole & (unsafe { libc::madvise(first, last - first.addr(), libc::MADV_REMOVE) } == 0)
    }

    fn start_of(&self, address: usize) -> u32 {
        let offset = address.wrapping_sub(self.base());
        if !offset.is_multiple_of(GRANULE) {
            no_block();
        }
        u32::try_from(offset / GRANULE).unwrap_or_else(|_| no_block())
    }

    fn at(&self, start: u32) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.base() + start as usize * GRANULE)
    }

    /// The arena must be open.
    fn with<R>(&self, f: impl FnOnce(&mut ArenaState) -> R) -> R {
        self.state.with(|state| f(state.as_mut().unwrap_or_else(|| no_block())))
    }
}

fn extend(base: usize, size: usize, runs: &mut Runs, least: u32) -> Option<()> {
    let end = runs.end();
    let all = u32::try_from(size / GRANULE).ok()?;
    let wanted = end.checked_add(least)?.checked_next_multiple_of(STEP)?.min(all);
    let more = wanted.checked_sub(end).filter(|more| *more >= least)?;
    let start = ptr::with_exposed_provenance_mut(base);
    let read_write = MprotectFlags::READ | MprotectFlags::WRITE;
    // SAFETY: the range is the start of the arena; all of it but the end is already accessible.
    unsafe { rustix::mm::mprotect(start, wanted as usize * GRANULE, read_write) }.ok()?;
    runs.extend(more);
    Some(())
}

fn granules(size: usize) -> Option<u32> {
    u32::try_from(size.div_ceil(GRANULE))
        .ok()
        .filter(|len| *len < u32::MAX / 2)
        .map(|len| len.max(1))
}

/// Returns the largest size within this process's limits: RLIMIT_AS / 4 and RLIMIT_FSIZE.
fn affordable() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit = |resource, part: u64| getrlimit(resource).current.map_or(u64::MAX, |it| it / part);
    let most = limit(Resource::As, 4).min(limit(Resource::Fsize, 1)).min(SLOT_SIZE as u64);
    let size = usize::try_from(most).unwrap_or(SLOT_SIZE);
    size - size % LEAST
}

/// Returns whether `MADV_REMOVE` zeroes pages. The arena must still be unused.
fn takes_back(base: usize) -> Result<bool, Errno> {
    let len = FIRST as usize * GRANULE;
    let pages: *mut libc::c_void = ptr::with_exposed_provenance_mut(base + len);
    let word = pages.cast::<u64>();
    // SAFETY: the arena is mapped here and longer than this.
    unsafe { rustix::mm::mprotect(pages, len, MprotectFlags::READ | MprotectFlags::WRITE) }?;
    // SAFETY: the page is accessible and not in use.
    unsafe { word.write_volatile(1) };
    // SAFETY: `mprotect` above made these pages accessible, and the arena does not yet have blocks.
    let answer = unsafe { libc::madvise(pages, len, libc::MADV_REMOVE) };
    // SAFETY: `mprotect` made the page readable, and a hole in a memfd reads as zeros.
    let left = unsafe { word.read_volatile() };
    // SAFETY: `mprotect` made the page writable, and it is not in a block yet.
    unsafe { word.write_volatile(0) };
    Ok(answer == 0 && left == 0)
}

/// Reserves anonymous memory, anywhere or exactly at `at`.
fn reserve(at: Option<usize>, len: usize, access: ProtFlags) -> Result<*mut libc::c_void, Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let (start, fixed) = match at {
        Some(start) => (start, MapFlags::FIXED_NOREPLACE),
        None => (0, MapFlags::empty()),
    };
    let wanted = ptr::with_exposed_provenance_mut(start);
    // SAFETY: the mapping does not replace another (`FIXED_NOREPLACE`, or no address).
    let found = unsafe { rustix::mm::mmap_anonymous(wanted, len, access, flags | fixed) }?;
    if start != 0 && found != wanted {
        // Kernels before 4.17 treat the address as a hint.
        // SAFETY: the range was mapped above.
        unsafe { rustix::mm::munmap(found, len) }?;
        return Err(Errno::EXIST);
    }
    Ok(found)
}

/// Maps an arena's file, or its beginning, over this process's mapping at `base`.
pub(crate) fn map(
    base: usize,
    len: usize,
    access: ProtFlags,
    kind: MapFlags,
    memfd: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let base = ptr::with_exposed_provenance_mut(base);
    let flags = kind | MapFlags::FIXED | MapFlags::NORESERVE;
    // SAFETY: the arena already owns this range, and the file replaces its content.
    unsafe { rustix::mm::mmap(base, len, access, flags, memfd, 0) }.map(drop)
}

#[cold]
fn no_block() -> ! {
    fatal("urom_ucx_emulation: free() or realloc() of an address that malloc() did not return\n")
}
