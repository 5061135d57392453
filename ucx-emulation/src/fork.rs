//! `fork`: gives the child a private copy of the arena at the same address. The parent copies the
//! pages of used blocks before the fork, so they cannot change. `vfork`, `posix_spawn`, `system`
//! and `popen` do not call these handlers. An exec discards the arena.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::arena::{ARENA, ArenaState, map};
use crate::lock::Lock;
use crate::memfd::SharedFile;
use crate::note::{fatal, warn};
use crate::runs::GRANULE;

/// The copy, between the handlers of one fork. The arena's lock protects it all that time.
static COPY: Lock<Option<SharedFile>> = Lock::new(None);

/// Whether the arena's lock is held. False if the arena is not usable.
static HELD: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch() -> Result<(), Errno> {
    // SAFETY: the functions are in this library, which is never unloaded.
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
    // SAFETY: this thread locked it above.
    let state = unsafe { ARENA.state.held() };
    let made = state.as_mut().and_then(|state| copy(state).ok());
    COPY.with(|copy| *copy = made);
}

extern "C" fn in_parent() {
    if HELD.swap(false, Ordering::Relaxed) {
        COPY.with(|copy| *copy = None);
        // SAFETY: `before` locked it on this thread.
        unsafe { ARENA.state.unlock() };
    }
}

extern "C" fn in_child() {
    if !HELD.swap(false, Ordering::Relaxed) {
        return;
    }
    // SAFETY: `before` locked it on the thread that forked.
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

fn copy(state: &ArenaState) -> Result<SharedFile, Errno> {
    let base = ARENA.base();
    let new = SharedFile::create(base, ARENA.size())?;
    let old = state.shared.as_ref().and_then(SharedFile::own_memfd);
    let mut data = 0..0;
    for run in state.runs.used() {
        let start = run.start as usize * GRANULE;
        let end = start + run.len as usize * GRANULE;
        copy_range(old, &new.memfd, base, (start, end), &mut data)?;
    }
    Ok(new)
}

/// Copies a range's existing pages, or all pages if the file is closed. `data` caches the last
/// extent found, which may exceed the range: a search for a hole takes time by its distance.
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
                    // Only holes follow.
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
        // Other threads may write to the block during the copy. Any forking program has that race,
        // and the kernel copies the bytes without interpreting them.
        // SAFETY: a block in use is accessible, and remains so under the lock.
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

/// Replaces the arena by the copy, or by a private mapping of the parent's file. Only raw system
/// calls: hooks of the C library may wait for a thread of the parent.
fn replace(state: &mut ArenaState, copy: Option<SharedFile>) -> Result<(), Errno> {
    let (base, size) = (ARENA.base(), ARENA.size());
    let used = state.runs.end() as usize * GRANULE;
    let read_write = ProtFlags::READ | ProtFlags::WRITE;
    if let Some(copy) = copy {
        map(base, size, ProtFlags::empty(), MapFlags::SHARED, copy.memfd.as_fd())?;
        map(base, used, read_write, MapFlags::SHARED, copy.memfd.as_fd())?;
        // Closes the parent's file unless the program already closed it.
        if let Some(old) = state.shared.replace(copy)
            && old.own_memfd().is_none()
        {
            // If the program has reused the descriptor, it stays open.
            std::mem::forget(old.memfd);
        }
        return Ok(());
    }
    let parent = state.shared.as_ref().ok_or(Errno::BADF)?.memfd.as_fd();
    map(base, size, ProtFlags::empty(), MapFlags::PRIVATE, parent)?;
    map(base, used, read_write, MapFlags::PRIVATE, parent)?;
    state.shared = None;
    Ok(())
}
