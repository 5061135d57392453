//! `fork`: the child has a copy of the arena as it was, at the same address, and nothing that it
//! writes there is seen by its parent or by workers.
//!
//! The copy is made before the fork, so that the parent cannot change what is copied: pages that
//! exist, of blocks in use. `vfork` and `posix_spawn`, and with them `system` and `popen`, call
//! nothing here. A child that execs loses everything with its old program.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::arena::{ARENA, ArenaState, SharedFile, map};
use crate::lock::Lock;
use crate::memfd::{self, File};
use crate::note::{fatal, warn};
use crate::runs::GRANULE;

/// Between the handlers of one fork. The arena's lock is held for all of that time, and by that
/// this one is nobody else's.
static COPY: Lock<Option<SharedFile>> = Lock::new(None);

/// Whether the lock is held: not when the arena cannot be used.
static HELD: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch() -> Result<(), Errno> {
    // SAFETY: the functions are there as long as this library, which stays until the process ends.
    match unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) } {
        0 => Ok(()),
        error => Err(Errno::from_raw_os_error(error)),
    }
}

extern "C" fn before() {
    if !ARENA.is_usable() {
        return;
    }
    ARENA.state.lock();
    HELD.store(true, Ordering::Relaxed);
    // SAFETY: it was locked above.
    let state = unsafe { ARENA.state.held() };
    let made = state.as_mut().and_then(|state| copy(state).ok());
    COPY.with(|copy| *copy = made);
}

extern "C" fn in_parent() {
    if HELD.swap(false, Ordering::Relaxed) {
        COPY.with(|copy| *copy = None);
        // SAFETY: `before` locked it, on this thread.
        unsafe { ARENA.state.unlock() };
    }
}

extern "C" fn in_child() {
    if !HELD.swap(false, Ordering::Relaxed) {
        return;
    }
    // SAFETY: `before` locked it, on the thread that this one is a copy of.
    let state = unsafe { ARENA.state.held() };
    if let Some(state) = state {
        let copy = COPY.with(Option::take);
        let is_copy = copy.is_some();
        if replace(state, copy).is_err() {
            fatal("urom_ucx_emulation: a forked process could not be given memory of its own\n");
        }
        if is_copy {
            state.runs.all_free_is_clean();
        } else {
            warn(
                "urom_ucx_emulation: no memory for a forked process's own copy of the arena: what \
                 its parent writes may show up in it, and it cannot export memory\n",
            );
        }
    }
    ARENA.revive();
    // SAFETY: the thread that forked holds the lock since `before`, and this thread is its copy.
    unsafe { ARENA.state.unlock() };
}

/// Another arena's file with the content of all blocks.
fn copy(state: &ArenaState) -> Result<SharedFile, Errno> {
    let base = ARENA.base();
    let (new, file, cookie) = memfd::create(base, ARENA.size())?;
    let old = state.shared.memfd.as_ref().filter(|old| {
        rustix::fs::fstat(old).is_ok_and(|stat| File::of(&stat) == state.shared.file)
    });
    let mut data = 0..0;
    for run in state.runs.used() {
        let start = run.start as usize * GRANULE;
        let end = start + run.len as usize * GRANULE;
        copy_range(old, &new, base, (start, end), &mut data)?;
    }
    Ok(SharedFile { memfd: Some(new), file, cookie })
}

/// Copies what exists between two offsets; everything where the file itself is gone.
///
/// `data` is what was found to exist, which may reach beyond the end: to look for a hole takes time
/// in proportion to its distance, so each is looked for once.
fn copy_range(
    old: Option<&OwnedFd>,
    new: &OwnedFd,
    base: usize,
    (start, end): (usize, usize),
    data: &mut Range<usize>,
) -> Result<(), Errno> {
    let mut at = start;
    while at < end {
        let mut stop = end;
        if let Some(old) = old {
            if at >= data.end {
                *data = match rustix::fs::seek(old, SeekFrom::Data(at as u64)) {
                    Ok(first) => {
                        let hole = rustix::fs::seek(old, SeekFrom::Hole(first))?;
                        offset(first)..offset(hole)
                    }
                    // Nothing but holes behind it.
                    Err(Errno::NXIO) => usize::MAX..usize::MAX,
                    Err(error) => return Err(error),
                };
            }
            at = at.max(data.start);
            if at >= end {
                return Ok(());
            }
            stop = data.end.min(end);
        }
        let source = std::ptr::with_exposed_provenance::<u8>(base + at);
        // Other threads may write to it meanwhile. What the child sees of that is undefined in any
        // program that forks while they do; the kernel reads bytes, whatever they are.
        // SAFETY: a block in use is accessible, and stays so under the lock.
        let bytes = unsafe { std::slice::from_raw_parts(source, stop - at) };
        match rustix::io::pwrite(new, bytes, at as u64)? {
            0 => return Err(Errno::IO),
            written => at += written,
        }
    }
    Ok(())
}

fn offset(found: u64) -> usize {
    usize::try_from(found).unwrap_or(usize::MAX)
}

/// Puts a copy, or the parent's own file without a way back, in place of the arena.
///
/// By system calls alone: what watches the C library's may wait for a thread of the parent.
fn replace(state: &mut ArenaState, copy: Option<SharedFile>) -> Result<(), Errno> {
    let (base, size) = (ARENA.base(), ARENA.size());
    let used = state.runs.end() as usize * GRANULE;
    let read_write = ProtFlags::READ | ProtFlags::WRITE;
    if let Some(copy) = copy {
        let memfd = copy.memfd.as_ref().ok_or(Errno::BADF)?.as_fd();
        map(base, size, ProtFlags::empty(), MapFlags::SHARED, memfd)?;
        map(base, used, read_write, MapFlags::SHARED, memfd)?;
        // Closes the parent's, unless a program has closed it already.
        let old = std::mem::replace(&mut state.shared, copy);
        drop_if_own(old);
        return Ok(());
    }
    let parent = state.shared.memfd.as_ref().ok_or(Errno::BADF)?.as_fd();
    map(base, size, ProtFlags::empty(), MapFlags::PRIVATE, parent)?;
    map(base, used, read_write, MapFlags::PRIVATE, parent)?;
    state.shared.memfd = None;
    Ok(())
}

/// A descriptor whose file a program has replaced is the program's.
fn drop_if_own(shared: SharedFile) {
    let Some(memfd) = shared.memfd else { return };
    let is_own = rustix::fs::fstat(&memfd).is_ok_and(|stat| File::of(&stat) == shared.file);
    if !is_own {
        std::mem::forget(memfd);
    }
}
