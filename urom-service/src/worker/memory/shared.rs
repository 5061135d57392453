//! [`HostMemories`]: memory that hosts share with this worker, its paths, and the end of a share.

use std::any::Any;
use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use rustc_hash::FxHashMap;
use rustix::net::{SendFlags, send};
use tracing::debug;
use urom_abi::DocaError;
use urom_abi::memory::Access;
use urom_memory::Error;
use urom_memory::engine::{Mapped, Offered, Path, Process, Shares};
use urom_wire::control::{Failure, MemoryAnswer, MemoryLocation, MemoryOffer, SharedBy};
use urom_wire::memory::{COPIES_END, Handed};
use urom_wire::ucx_context::Config;

use super::remote::RemoteAccess;
use crate::worker::control_thread::ControlHandle;
use crate::worker::messages::{LinkKey, ToControl};

/// A host's offer of memory, with the descriptor or process from the socket.
#[derive(Debug)]
pub(crate) struct HandedOffer {
    pub(crate) offer: MemoryOffer,
    pub(crate) handed: Option<Handed>,
    /// From the host's stream.
    pub(crate) token: u128,
}

/// Hosts' memory for this worker's plugins. It stays on the data thread.
#[derive(Debug)]
pub(crate) struct HostMemories {
    pub(crate) shares: Shares,
    remote: Rc<RemoteAccess>,
    /// By connection. A message on it reports the end of copies; it closes with the last mapping.
    use_guards: RefCell<FxHashMap<u64, Rc<OwnedFd>>>,
}

/// Dropped at the end of a memory's last use; notifies the host.
#[derive(Debug)]
struct EndNotifier {
    share: u64,
    link: LinkKey,
    control: ControlHandle,
    _use_guard: Option<Rc<OwnedFd>>,
}

impl Drop for EndNotifier {
    fn drop(&mut self) {
        let answer = MemoryAnswer::Ended { share: self.share };
        self.control.send(ToControl::Memory { link: self.link, answer });
    }
}

impl HostMemories {
    pub(crate) fn new(config: Config) -> HostMemories {
        let (remote, use_guards) = (Rc::new(RemoteAccess::new(config)), RefCell::default());
        HostMemories { shares: Shares::new(|_| ()), remote, use_guards }
    }

    /// Keeps a connection's use guard while memory of its host is used.
    pub(crate) fn use_guard(&self, dest_id: u64, use_guard: OwnedFd) {
        self.use_guards.borrow_mut().insert(dest_id, Rc::new(use_guard));
    }

    pub(crate) fn share(
        &self,
        dest_id: u64,
        link: LinkKey,
        handed: HandedOffer,
        control: ControlHandle,
    ) -> Result<SharedBy, Failure> {
        let MemoryOffer { share, memory, address, len, access, .. } = handed.offer;
        let access = Access::from_bits_truncate(access);
        let offered = Offered { share, memory, address, len, access };
        let mut ucx_address = Vec::new();
        let open = || {
            let path;
            (path, ucx_address) = self.open_path(dest_id, &offered, handed)?;
            let use_guard = self.use_guards.borrow().get(&dest_id).cloned();
            let _use_guard = use_guard.filter(|_| !path.mapping().is_null());
            let notifier: Box<dyn Any> = Box::new(EndNotifier { share, link, control, _use_guard });
            Ok((path, notifier))
        };
        match self.shares.share(dest_id, offered, open) {
            Ok(region) => Ok(SharedBy { path: region.path().kind().0, ucx_address }),
            Err(error) => Err(Failure::new(error.code(), error.text())),
        }
    }

    /// Opens an offer's path, or the next that works, with the address for any requests.
    fn open_path(
        &self,
        dest_id: u64,
        offered: &Offered,
        handed: HandedOffer,
    ) -> Result<(Box<dyn Path>, Vec<u8>), Error> {
        let HandedOffer { offer: MemoryOffer { location, ucx_address, .. }, handed, token } =
            handed;
        let network = || self.remote.open_path(dest_id, token, &ucx_address);
        let no_way =
            || offered.refuse(DocaError::NOT_CONNECTED, "no way leads to the host's process");
        match location {
            MemoryLocation::Handed { offset } => {
                let no_fd =
                    || offered.refuse(DocaError::NOT_FOUND, "no descriptor was handed over");
                let fd =
                    handed.and_then(|handed| handed.fds.into_iter().next()).ok_or_else(no_fd)?;
                let is_writable = offered.access.others_write();
                let mapped = Mapped::new(fd.as_fd(), offset, offered.len, is_writable);
                let why = |error: std::io::Error| {
                    offered.refuse(DocaError::OPERATING_SYSTEM, &error.to_string())
                };
                Ok((Box::new(mapped.map_err(why)?), Vec::new()))
            }
            MemoryLocation::Process => {
                // Atomic operations need the network path.
                let network = network().ok();
                let process = handed.and_then(|handed| handed.process);
                match process.map(|process| Process::new(process, offered.address)) {
                    Some(Ok(process)) => {
                        let (other, ucx_address) = network.unzip();
                        Ok((Box::new(process.with(other)), ucx_address.unwrap_or_default()))
                    }
                    Some(Err(DocaError::IO_FAILED)) => {
                        let why = "its address is not mapped";
                        Err(offered.refuse(DocaError::IO_FAILED, why))
                    }
                    _ => {
                        debug!(
                            "the kernel copies nothing of the process of memory {:#x}: it is \
                             another user's, or kernel.yama.ptrace_scope or a container forbids it",
                            offered.memory
                        );
                        network.ok_or_else(no_way)
                    }
                }
            }
            MemoryLocation::Network if ucx_address.is_empty() => Err(no_way()),
            MemoryLocation::Network => network(),
        }
    }

    /// Ends the shares of a connection: only mapped memory is used after this.
    pub(crate) fn close(&self, dest_id: u64) {
        self.shares.leave(dest_id);
        if let Some(use_guard) = self.use_guards.borrow_mut().remove(&dest_id) {
            let _ = send(&*use_guard, &[COPIES_END], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        self.remote.lose(dest_id);
    }

    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.remote.is_busy()
    }

    #[cold]
    pub(crate) fn turn(&self) -> bool {
        self.remote.turn()
    }

    pub(crate) fn shut(&self) {
        self.remote.shut();
    }
}
