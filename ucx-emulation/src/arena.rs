//! The arena: the memory of this process that others can map, and who has what of it.
//!
//! `malloc` works on it, so each failure is an error value, not a panic. This library allocates its
//! own tables from the C library: see [`malloc`](crate::malloc).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use crate::lock::Lock;
use crate::memfd::{self, File};
use crate::note::fatal;
use crate::runs::{GRANULE, Given, NoRun, RELEASE, Run, Runs};
use crate::slot::{self, SLOT_SIZE};

/// Granules of the header: a whole page, on kernels with pages of 64 KiB, too.
pub(crate) const FIRST: u32 = 16;

/// So many granules become accessible at a time, 64 MiB: one that locks all its memory has to pay
/// for these, not for the whole arena.
const STEP: u32 = 16 << 10;

/// An arena of less is none.
const LEAST: usize = 64 << 20;

/// This process's arena.
pub(crate) static ARENA: Arena = Arena {
    base: AtomicUsize::new(0),
    size: AtomicUsize::new(0),
    // Where a process is that was not forked, or was told so.
    alive: AtomicPtr::new(ptr::null_mut()),
    gives_back: AtomicBool::new(true),
    state: Lock::new(None),
};

pub(crate) struct Arena {
    /// 0 until there is one.
    base: AtomicUsize,
    size: AtomicUsize,
    /// What the kernel makes false in a forked child. See [`Arena::is_usable`].
    alive: AtomicPtr<AtomicBool>,
    /// Whether the system takes memory back, as emulators of processors only say.
    gives_back: AtomicBool,
    pub(crate) state: Lock<Option<ArenaState>>,
}

pub(crate) struct ArenaState {
    pub(crate) runs: Runs,
    pub(crate) shared: SharedFile,
    /// This process's, and that of the processes it forked until they exec.
    _slot: slot::AddressSlot,
}

/// What other processes need to find an arena.
pub(crate) struct SharedFile {
    /// None in a child that could not be given a copy of its own.
    pub(crate) memfd: Option<OwnedFd>,
    pub(crate) file: File,
    pub(crate) cookie: [u8; 16],
}

/// An arena as its handles name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) base: usize,
    pub(crate) size: usize,
    pub(crate) fd: i32,
    pub(crate) file: File,
    pub(crate) cookie: [u8; 16],
}

impl Arena {
    /// Makes the arena. Called once, before the process has threads.
    ///
    /// # Errors
    /// The kernel's. There is none then, and all memory is the C library's.
    pub(crate) fn open(&self) -> Result<(), Errno> {
        let size = affordable();
        if size < LEAST {
            return Err(Errno::NOMEM);
        }
        let alive = reserve(None, 4096, ProtFlags::READ | ProtFlags::WRITE)?;
        // SAFETY: it is a page that was mapped above and is never unmapped.
        unsafe { rustix::mm::madvise(alive, 4096, rustix::mm::Advice::LinuxWipeOnFork) }?;
        let alive = alive.cast::<AtomicBool>();
        // SAFETY: the page is there, zero, and that is a valid value.
        unsafe { &*alive }.store(true, Ordering::Relaxed);

        let pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
        for slot in slot::free(pid) {
            match reserve(Some(slot.base), size, ProtFlags::empty()) {
                Ok(_) => {}
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error),
            }
            let base = slot.base;
            let (memfd, file, cookie) = memfd::create(base, size)?;
            map(base, size, ProtFlags::empty(), MapFlags::SHARED, memfd.as_fd())?;
            let shared = SharedFile { memfd: Some(memfd), file, cookie };
            let runs = Runs::new(FIRST);
            self.state.with(|state| *state = Some(ArenaState { runs, shared, _slot: slot }));
            self.alive.store(alive, Ordering::Relaxed);
            self.size.store(size, Ordering::Relaxed);
            self.gives_back.store(takes_back(base)?, Ordering::Relaxed);
            // From here on malloc uses it.
            self.base.store(base, Ordering::Release);
            return Ok(());
        }
        Err(Errno::ADDRINUSE)
    }

    /// Where it is, or 0.
    pub(crate) fn base(&self) -> usize {
        self.base.load(Ordering::Acquire)
    }

    pub(crate) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Whether an address lies in it.
    pub(crate) fn has(&self, address: usize) -> bool {
        let base = self.base();
        base != 0 && address.wrapping_sub(base) < self.size()
    }

    /// Whether this process may take and give memory. Not one that was forked past `pthread_atfork`
    /// by a bare system call: it has the parent's arena, and a copy of the table that the parent
    /// does not see.
    pub(crate) fn is_usable(&self) -> bool {
        let alive = self.alive.load(Ordering::Acquire);
        // SAFETY: it is null or leads to a page that is never unmapped.
        self.base() != 0 && unsafe { alive.as_ref() }.is_some_and(|it| it.load(Ordering::Relaxed))
    }

    /// In a forked child that has an arena of its own now.
    pub(crate) fn revive(&self) {
        let alive = self.alive.load(Ordering::Acquire);
        // SAFETY: as above; it is there, because the arena is.
        if let Some(alive) = unsafe { alive.as_ref() } {
            alive.store(true, Ordering::Relaxed);
        }
    }

    /// Memory for `size` bytes at a multiple of `align`, a power of two; all zero if `zero`. None
    /// when there is no room.
    pub(crate) fn allocate(&self, size: usize, align: usize, zero: bool) -> Option<NonNull<u8>> {
        if !self.is_usable() {
            return None;
        }
        let len = granules(size)?;
        let align = granules(align)?;
        let taken = self.with(|state| {
            if let Some(taken) = state.runs.take(len, align) {
                return Some(taken);
            }
            extend(self.base(), self.size(), &mut state.runs, len.checked_add(align)?)?;
            state.runs.take(len, align)
        })?;
        let start = NonNull::new(self.at(taken.start))?;
        if zero && !taken.clean {
            let run = Run { start: taken.start, len };
            if len < RELEASE || !self.release(run) {
                // SAFETY: the granules are the arena's, accessible, and this call's own.
                unsafe { ptr::write_bytes(start.as_ptr(), 0, len as usize * GRANULE) };
            }
        }
        Some(start)
    }

    /// Takes memory back. `address` lies in the arena.
    pub(crate) fn free(&self, address: usize) {
        if !self.is_usable() {
            // It is the parent's, too.
            return;
        }
        self.give(self.start_of(address));
    }

    /// How many bytes the block has. `address` lies in the arena.
    pub(crate) fn usable_size(&self, address: usize) -> usize {
        let start = self.start_of(address);
        let len = self.with(|state| state.runs.len(start).ok());
        len.unwrap_or_else(|| no_block()) as usize * GRANULE
    }

    /// Makes a block longer or shorter where it is, if that is possible. `address` lies in the
    /// arena.
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

    /// How its handles name it, if others can find it.
    pub(crate) fn identity(&self) -> Option<Identity> {
        if !self.is_usable() {
            return None;
        }
        let (base, size) = (self.base(), self.size());
        self.with(|state| {
            let SharedFile { memfd, file, cookie } = &state.shared;
            let memfd = memfd.as_ref()?;
            // A program may have closed it, and have another file under the same number.
            let stat = rustix::fs::fstat(memfd).ok()?;
            let fd = std::os::fd::AsRawFd::as_raw_fd(memfd);
            (File::of(&stat) == *file).then_some(Identity {
                base,
                size,
                fd,
                file: *file,
                cookie: *cookie,
            })
        })
    }

    fn give(&self, start: u32) {
        let mut given = self.with(|state| state.runs.give(start, false, true));
        loop {
            match given {
                Ok(Given::Kept) => return,
                Ok(Given::Release(run)) => {
                    // Without the lock: UCX watches this call, and may call malloc for that.
                    let clean = self.release(run);
                    given = self.with(|state| state.runs.give(run.start, clean, clean));
                }
                Err(NoRun) => no_block(),
            }
        }
    }

    /// Gives the memory of a run back to the system. Whether all of it is zero now.
    fn release(&self, run: Run) -> bool {
        // SAFETY: it asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16);
        let start = self.base() + run.start as usize * GRANULE;
        let end = start + run.len as usize * GRANULE;
        let (first, last) = (start.next_multiple_of(page), end - end % page);
        if first >= last || !self.gives_back.load(Ordering::Relaxed) {
            return false;
        }
        let whole = (first, last) == (start, end);
        let first = ptr::with_exposed_provenance_mut(first);
        // By the C library and not by a system call of our own: UCX forgets registrations then.
        // SAFETY: the pages are the arena's, and of a run that this thread alone has.
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

    /// Only where the arena is open.
    fn with<R>(&self, f: impl FnOnce(&mut ArenaState) -> R) -> R {
        self.state.with(|state| f(state.as_mut().unwrap_or_else(|| no_block())))
    }
}

/// Makes more of the arena accessible, at least so many granules.
fn extend(base: usize, size: usize, runs: &mut Runs, least: u32) -> Option<()> {
    let end = runs.end();
    let all = u32::try_from(size / GRANULE).ok()?;
    let wanted = end.checked_add(least)?.checked_next_multiple_of(STEP)?.min(all);
    let more = wanted.checked_sub(end).filter(|more| *more >= least)?;
    let start = ptr::with_exposed_provenance_mut(base);
    let read_write = MprotectFlags::READ | MprotectFlags::WRITE;
    // SAFETY: that is the arena's beginning, where all but the end is accessible already.
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

/// The largest arena that this process's limits allow: a quarter of its addresses, and a file that
/// does not end it by a signal.
fn affordable() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit = |resource, part: u64| getrlimit(resource).current.map_or(u64::MAX, |it| it / part);
    let most = limit(Resource::As, 4).min(limit(Resource::Fsize, 1)).min(SLOT_SIZE as u64);
    let size = usize::try_from(most).unwrap_or(SLOT_SIZE);
    size - size % LEAST
}

/// Whether pages of an arena that nobody uses yet are zero after they were given back.
fn takes_back(base: usize) -> Result<bool, Errno> {
    let len = FIRST as usize * GRANULE;
    let pages: *mut libc::c_void = ptr::with_exposed_provenance_mut(base + len);
    let word = pages.cast::<u64>();
    // SAFETY: the arena is longer, and has been mapped there.
    unsafe { rustix::mm::mprotect(pages, len, MprotectFlags::READ | MprotectFlags::WRITE) }?;
    // SAFETY: it is accessible, and nobody else's.
    unsafe { word.write_volatile(1) };
    // SAFETY: `mprotect` above made these pages accessible, and no block lies there before the
    // arena starts.
    let answer = unsafe { libc::madvise(pages, len, libc::MADV_REMOVE) };
    // SAFETY: `mprotect` made the page readable, and a hole in a memfd reads as zeros.
    let left = unsafe { word.read_volatile() };
    // SAFETY: `mprotect` made the page writable, and no block lies there yet.
    unsafe { word.write_volatile(0) };
    Ok(answer == 0 && left == 0)
}

/// Memory without a file, somewhere or exactly there.
fn reserve(at: Option<usize>, len: usize, access: ProtFlags) -> Result<*mut libc::c_void, Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let (start, fixed) = match at {
        Some(start) => (start, MapFlags::FIXED_NOREPLACE),
        None => (0, MapFlags::empty()),
    };
    let wanted = ptr::with_exposed_provenance_mut(start);
    // SAFETY: it replaces nothing.
    let found = unsafe { rustix::mm::mmap_anonymous(wanted, len, access, flags | fixed) }?;
    if start != 0 && found != wanted {
        // Kernels before 4.17 take the address for a wish.
        // SAFETY: it was mapped above.
        unsafe { rustix::mm::munmap(found, len) }?;
        return Err(Errno::EXIST);
    }
    Ok(found)
}

/// Maps an arena's file, or its beginning, in place of what this process has there.
pub(crate) fn map(
    base: usize,
    len: usize,
    access: ProtFlags,
    kind: MapFlags,
    memfd: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let base = ptr::with_exposed_provenance_mut(base);
    let flags = kind | MapFlags::FIXED | MapFlags::NORESERVE;
    // SAFETY: what is there is the arena's own, which the file stands for.
    unsafe { rustix::mm::mmap(base, len, access, flags, memfd, 0) }.map(drop)
}

#[cold]
fn no_block() -> ! {
    fatal("urom_ucx_emulation: free() or realloc() of an address that malloc() did not return\n")
}
