//! Other processes' arenas, each mapped once while a handle uses it. Handles are untrusted: the
//! arena must belong to this process's user and have the cookie.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

use crate::arena::{ARENA, ArenaId};
use crate::handle::MemoryHandle;
use crate::memfd::{ArenaHeader, FileId, SEALS, has_header};

static MAPPED: Mutex<Vec<ArenaMapping>> = Mutex::new(Vec::new());

/// Imports by UCX handle. UCX may return the same handle for two registrations of a range.
static IMPORTED: Mutex<BTreeMap<usize, Vec<Import>>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct ArenaMapping {
    arena: ArenaId,
    users: usize,
}

/// An accessible range. Dropping the import releases it.
#[derive(Debug)]
pub(crate) struct Import {
    /// `None` for this process's own memory.
    base: Option<usize>,
}

impl Import {
    /// Makes a handle's range accessible at its own address.
    ///
    /// # Errors
    /// Why the import failed.
    pub(crate) fn new(handle: &MemoryHandle) -> Result<Import, String> {
        if is_own(&handle.arena) {
            return Ok(Import { base: None });
        }
        let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match mapped.iter().position(|it| is_same(&it.arena, &handle.arena)) {
            Some(at) => at,
            None => {
                mapped.push(map(handle)?);
                mapped.len() - 1
            }
        };
        // From here on, dropping the import releases the mapping.
        mapped[at].users += 1;
        let import = Import { base: Some(handle.arena.base) };
        drop(mapped);
        open_range(handle).map_err(|error| format!("its range cannot be accessed: {error}"))?;
        Ok(import)
    }

    pub(crate) fn keep(self, memh: *mut std::ffi::c_void) {
        let mut imported = IMPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        imported.entry(memh.addr()).or_default().push(self);
    }

    pub(crate) fn of(memh: *mut std::ffi::c_void) -> Option<Import> {
        let mut imported = IMPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        let imports = imported.get_mut(&memh.addr())?;
        let import = imports.pop();
        if imports.is_empty() {
            imported.remove(&memh.addr());
        }
        import
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        let Some(base) = self.base else { return };
        let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = mapped.iter().position(|it| it.arena.base == base) else { return };
        mapped[at].users -= 1;
        if mapped[at].users == 0 {
            let ArenaId { base, size, .. } = mapped.swap_remove(at).arena;
            // The C library's function, which UCX intercepts.
            // SAFETY: the range was mapped for handles, and the last handle was dropped.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(base), size) };
        }
    }
}

/// Returns whether it is this process's own arena, as in an embedded service.
fn is_own(arena: &ArenaId) -> bool {
    ARENA.identity().is_some_and(|own| is_same(&own, arena))
}

/// Compares two identities without the descriptor.
fn is_same(one: &ArenaId, other: &ArenaId) -> bool {
    ArenaId { fd: other.fd, ..*one } == *other
}

fn map(handle: &MemoryHandle) -> Result<ArenaMapping, String> {
    let ArenaId { base, size, .. } = handle.arena;
    let memfd = open(handle)?;
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    let wanted = ptr::with_exposed_provenance_mut(base);
    // Inaccessible at first: a plugin's access outside its range must not reach the host's memory.
    // SAFETY: the mapping does not replace another.
    let found =
        unsafe { rustix::mm::mmap(wanted, size, ProtFlags::empty(), flags, memfd.as_fd(), 0) };
    let found = found.map_err(|error| match error {
        Errno::EXIST => {
            format!("something else is at {base:#x} in this process; start the worker again")
        }
        error => format!("its arena cannot be mapped: {error}"),
    })?;
    if found != wanted {
        // Kernels before 4.17 treat the address as a hint.
        // SAFETY: the range was mapped above.
        unsafe { libc::munmap(found, size) };
        return Err(format!("something else is at {base:#x} in this process"));
    }
    for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork] {
        // Ignores errors: the advice affects only dumps and forked children.
        // SAFETY: the range was mapped above, and the advice does not change its content.
        let _ = unsafe { rustix::mm::madvise(wanted, size, advice) };
    }
    Ok(ArenaMapping { arena: handle.arena, users: 0 })
}

fn open(handle: &MemoryHandle) -> Result<OwnedFd, String> {
    let ArenaId { base, size, fd, file, cookie } = handle.arena;
    let gone = |error: Errno| {
        let pid = handle.pid;
        format!("descriptor {fd} of process {pid}, which exported it, cannot be opened: {error}")
    };
    let own = rustix::process::geteuid().as_raw();
    let path = format!("/proc/{}/fd/{fd}", handle.pid);
    // O_PATH first: opening a device or FIFO may have side effects.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let there = rustix::fs::open(path, flags, Mode::empty()).map_err(gone)?;
    let stat = rustix::fs::fstat(&there).map_err(gone)?;
    if stat.st_uid != own {
        return Err(format!("it belongs to user {}, and this process to user {own}", stat.st_uid));
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
        || FileId::of(&stat) != file
        || u64::try_from(stat.st_size) != Ok(size as u64)
    {
        return Err("its process has ended or closed it: the descriptor is another file".to_owned());
    }
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&there));
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let memfd = rustix::fs::open(path, flags, Mode::empty()).map_err(gone)?;
    let seals = rustix::fs::fcntl_get_seals(&memfd).map_err(|_| "it is not a memfd".to_owned())?;
    if !seals.contains(SEALS) {
        return Err("its memory is not sealed".to_owned());
    }
    if !has_header(&memfd, &ArenaHeader::new(base, size, cookie)) {
        return Err("the cookie is not the arena's".to_owned());
    }
    Ok(memfd)
}

/// Makes a range's pages accessible until the arena is unmapped.
fn open_range(handle: &MemoryHandle) -> Result<(), Errno> {
    let page = rustix::param::page_size();
    let start = handle.address - handle.address % page;
    let end = (handle.address + handle.length).next_multiple_of(page);
    let access = MprotectFlags::READ | MprotectFlags::WRITE;
    let pages = ptr::with_exposed_provenance_mut(start);
    // SAFETY: the range is in the arena, which the caller's import keeps mapped.
    unsafe { rustix::mm::mprotect(pages, end - start, access) }
}
