//! One memory of a host, and the way to it.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use rustix::fs::{SealFlags, fcntl_get_seals, fstat, fstatfs};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{SendFlags, send};
use rustix::param::page_size;
use tracing::debug;
use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation, MemoryPath};
use urom_abi::memory::Access;
use urom_memory::View;
use urom_wire::control::{Failure, MemoryAnswer, MemoryOffer, MemoryPlace};
use urom_wire::memory::{COPIES_END, Handed};

use super::process;
use super::remote::Host;
use crate::worker::control_thread::ControlHandle;
use crate::worker::messages::{LinkKey, ToControl};

/// Memory that a host wants to share, with what it handed over at the door.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) offer: MemoryOffer,
    pub(crate) handed: Option<Handed>,
    /// The ticket of the host's stream.
    pub(crate) ticket: u128,
}

/// A host's memory. It stays reachable as long as this exists; the host is told of its end.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) share: u64,
    address: u64,
    len: u64,
    access: Access,
    place: Place,
    /// The way over the network, where there is one.
    pub(super) host: Option<Rc<Host>>,
    link: LinkKey,
    control: ControlHandle,
    lifeline: Rc<Lifeline>,
    /// Of memory that is mapped.
    _lease: Option<Rc<OwnedFd>>,
}

/// What the regions of a connection have in common.
#[derive(Debug, Default)]
pub(super) struct Lifeline {
    is_over: Cell<bool>,
    /// By which the host learns when its memory is used no more: by a word when nothing of it is
    /// copied, and as it closes when nothing of it is mapped, either.
    lease: RefCell<Option<Rc<OwnedFd>>>,
}

impl Lifeline {
    /// Keeps the lease.
    pub(super) fn hold(&self, lease: OwnedFd) {
        self.lease.replace(Some(Rc::new(lease)));
    }

    /// The connection is over: nothing but what is mapped is used from now on.
    pub(super) fn end(&self) {
        self.is_over.set(true);
        if let Some(lease) = self.lease.take() {
            // A host that is gone does not need to know.
            let _ = send(lease, &[COPIES_END], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }
}

#[derive(Debug)]
enum Place {
    Mapped(Mapping),
    Process(i32),
    Network,
}

impl Region {
    pub(super) fn new(
        shared: Shared,
        host: Option<Rc<Host>>,
        link: LinkKey,
        control: ControlHandle,
        lifeline: Rc<Lifeline>,
    ) -> Result<Region, Failure> {
        let MemoryOffer { share, memory, address, len, access, place, .. } = shared.offer;
        let refuse = |code, why: &str| {
            Err(Failure::new(code, format!("memory {memory:#x} cannot be shared: {why}")))
        };
        let access = Access::from_bits_truncate(access);
        if len == 0 || address.checked_add(len).is_none() || isize::try_from(len).is_err() {
            return refuse(DocaError::INVALID_VALUE, "there is no such range");
        }
        if !access.others_read() {
            return refuse(DocaError::NOT_PERMITTED, "its permissions are its owner's alone");
        }
        let handed = shared.handed;
        let place = match place {
            MemoryPlace::Handed { offset } => {
                let Some(fd) = handed.and_then(|handed| handed.fd) else {
                    return refuse(DocaError::NOT_FOUND, "no descriptor was handed over");
                };
                match Mapping::new(fd, offset, len, access.others_write()) {
                    Ok(mapping) => Place::Mapped(mapping),
                    Err(error) => return refuse(DocaError::OPERATING_SYSTEM, &error.to_string()),
                }
            }
            MemoryPlace::Process => {
                let process = handed.and_then(|handed| handed.process);
                match process.map(|process| (process, process::try_read(process, address))) {
                    Some((process, Ok(()))) => Place::Process(process),
                    Some((_, Err(DocaError::IO_FAILED))) => {
                        return refuse(DocaError::IO_FAILED, "there is no memory at its address");
                    }
                    _ => {
                        debug!(
                            "the kernel copies nothing of the process of memory {memory:#x}: it is \
                             another user's, or kernel.yama.ptrace_scope or a container forbids it"
                        );
                        Place::Network
                    }
                }
            }
            MemoryPlace::Network => Place::Network,
        };
        if host.is_none() && matches!(place, Place::Network) {
            return refuse(DocaError::NOT_CONNECTED, "no way leads to the host's process");
        }
        let is_mapped = matches!(place, Place::Mapped(_));
        let _lease = lifeline.lease.borrow().clone().filter(|_| is_mapped);
        Ok(Region { share, address, len, access, place, host, link, control, lifeline, _lease })
    }

    pub(super) fn path(&self) -> MemoryPath {
        match self.place {
            Place::Mapped(_) => MemoryPath::MAPPED,
            Place::Process(_) => MemoryPath::PROCESS,
            Place::Network => MemoryPath::NETWORK,
        }
    }

    /// Whether nothing leads to the memory any more.
    pub(super) fn is_lost(&self) -> bool {
        self.lifeline.is_over.get() && !matches!(self.place, Place::Mapped(_))
    }

    /// All of it, as plugins get a part of it.
    pub(super) fn whole(&self) -> HostMemory {
        let mapping = match &self.place {
            Place::Mapped(mapping) => mapping.start.as_ptr(),
            Place::Process(_) | Place::Network => ptr::null_mut(),
        };
        HostMemory {
            mapping,
            address: self.address,
            len: self.len,
            access: self.access.bits(),
            path: self.path(),
            ..HostMemory::NONE
        }
    }

    /// Runs an operation at `offset` that takes no answer of the host; `None` for one that does.
    /// The bytes are checked.
    ///
    /// # Safety
    /// `operation.local` has as many bytes as the operation moves.
    pub(super) unsafe fn run_here(
        &self,
        offset: u64,
        operation: &mut MemoryOperation,
    ) -> Option<Result<(), DocaError>> {
        let (local, len) = (operation.local, operation.len);
        match (&self.place, operation.action) {
            // Over the network only.
            (_, MemoryAction::TAG_SEND) => None,
            (Place::Mapped(mapping), MemoryAction::READ) => {
                let from = mapping.start.as_ptr().wrapping_add(offset as usize);
                // SAFETY: the bytes are inside the mapping, and the caller's promise.
                Some(unsafe { copy(from, local, len) })
            }
            (Place::Mapped(mapping), MemoryAction::WRITE) => {
                let to = mapping.start.as_ptr().wrapping_add(offset as usize);
                // SAFETY: as above; a write was permitted, so the mapping is writable.
                Some(unsafe { copy(local, to, len) })
            }
            (Place::Mapped(mapping), action) => {
                let (start, is_writable) = (mapping.start.as_ptr(), self.access.others_write());
                // SAFETY: the mapping, as long as this region. Whoever else uses the bytes is in
                // another process, or uses opaque copies and atomics as well.
                let view = unsafe { View::from_raw(start, self.len, is_writable) };
                // The host's address was checked, which may begin elsewhere in a page.
                let word = match view.word(offset) {
                    Ok(word) => word,
                    Err(error) => return Some(Err(error.code())),
                };
                let MemoryOperation { operand, compare, .. } = *operation;
                let ran = word.run(action, operand, compare);
                Some(ran.map(|result| operation.result = result).map_err(Into::into))
            }
            (Place::Process(process), MemoryAction::READ) => {
                // SAFETY: the caller's promise.
                Some(unsafe { process::read(*process, self.address + offset, local, len) })
            }
            (Place::Process(process), MemoryAction::WRITE) => {
                // SAFETY: the caller's promise.
                Some(unsafe { process::write(*process, self.address + offset, local, len) })
            }
            (Place::Process(_) | Place::Network, _) => None,
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let answer = MemoryAnswer::Ended { share: self.share };
        self.control.send(ToControl::Memory { link: self.link, answer });
    }
}

/// Copies bytes that others may write at the same time.
///
/// # Safety
/// As for `memcpy`.
unsafe fn copy(from: *const u8, to: *mut u8, len: u64) -> Result<(), DocaError> {
    // SAFETY: the caller's promise. A call of C's function, which the compiler does not look into.
    unsafe { libc::memcpy(to.cast(), from.cast(), len as usize) };
    Ok(())
}

/// A host's memory in this process.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    fn new(fd: OwnedFd, offset: u64, len: u64, is_writable: bool) -> io::Result<Mapping> {
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
        let Ok(seals) = fcntl_get_seals(&fd) else {
            return Err(invalid("its descriptor is not that of a memfd (memfd_create)"));
        };
        // Otherwise the host could take pages away that this process uses.
        if !seals.contains(SealFlags::SHRINK) {
            return Err(invalid("its descriptor is not sealed against shrinking (F_SEAL_SHRINK)"));
        }
        // Pages of another size can be taken away by a hole, and none be left in their place.
        if fstatfs(&fd)?.f_type == libc::HUGETLBFS_MAGIC {
            return Err(invalid("its descriptor has huge pages (MFD_HUGETLB)"));
        }
        let size = fstat(&fd)?.st_size as u64;
        if offset.checked_add(len).is_none_or(|end| end > size) {
            return Err(invalid("its descriptor has not as many bytes"));
        }
        if !offset.is_multiple_of(page_size() as u64) {
            return Err(invalid("it does not begin at a page of its descriptor"));
        }
        let mut protection = ProtFlags::READ;
        protection.set(ProtFlags::WRITE, is_writable);
        let len = len as usize;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start =
            unsafe { mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, &fd, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: what `new` mapped, once; whoever uses it holds the region.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
