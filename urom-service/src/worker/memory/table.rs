//! The memory of all hosts of a worker, and what plugins have open.

use std::cell::RefCell;
use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryOperation};
use urom_wire::control::{Failure, MemoryPlace, SharedBy};
use urom_wire::ucx_context::Config;

use super::region::{Lifeline, Region, Shared};
use super::remote::Remote;
use crate::worker::control_thread::ControlHandle;
use crate::worker::messages::LinkKey;

/// The most memories of one host: each may take a mapping, of which a process has some 65,000.
pub(crate) const MOST_OF_HOST: usize = 4096;

/// What plugins of this worker can do with hosts' memory. It stays on the data thread.
#[derive(Debug)]
pub(crate) struct Memories {
    table: RefCell<Table>,
    remote: Remote,
}

#[derive(Debug, Default)]
struct Table {
    /// By connection and the number that commands use.
    regions: FxHashMap<(u64, u64), Rc<Region>>,
    connections: FxHashMap<u64, Connection>,
    open: SlotMap<DefaultKey, Opened>,
}

#[derive(Debug, Default)]
struct Connection {
    /// How many memories it shares.
    count: usize,
    lifeline: Rc<Lifeline>,
}

#[derive(Debug)]
struct Opened {
    region: Rc<Region>,
    memory: HostMemory,
    /// Where it begins in the region.
    offset: u64,
    /// How many times it was opened.
    count: usize,
}

impl Memories {
    /// None. `config` is how UCX is set up for questions to hosts.
    pub(crate) fn new(config: Config) -> Memories {
        Memories { table: RefCell::default(), remote: Remote::new(config) }
    }

    /// Keeps the lease of a connection as long as memory of its host is used.
    pub(crate) fn lease(&self, dest_id: u64, lease: OwnedFd) {
        let mut table = self.table.borrow_mut();
        table.connections.entry(dest_id).or_default().lifeline.hold(lease);
    }

    /// Adds what a host shares on a connection.
    pub(crate) fn share(
        &self,
        dest_id: u64,
        link: LinkKey,
        shared: Shared,
        control: ControlHandle,
    ) -> Result<SharedBy, Failure> {
        let memory = shared.offer.memory;
        let table = self.table.borrow();
        if table.regions.contains_key(&(dest_id, memory)) {
            let text = format!("memory {memory:#x} is shared already");
            return Err(Failure::new(DocaError::ALREADY_EXIST, text));
        }
        if table.connections.get(&dest_id).is_some_and(|it| it.count >= MOST_OF_HOST) {
            let text = format!("a host can share {MOST_OF_HOST} memories with a worker at a time");
            return Err(Failure::new(DocaError::FULL, text));
        }
        drop(table);
        let host = || self.remote.host(dest_id, shared.ticket, &shared.offer.ucx_address);
        let host = match shared.offer.place {
            MemoryPlace::Handed { .. } => None,
            // Without it there are no atomic operations.
            MemoryPlace::Process => host().ok(),
            MemoryPlace::Network if shared.offer.ucx_address.is_empty() => None,
            MemoryPlace::Network => Some(host()?),
        };
        let ucx_address = host.as_ref().map_or(Ok(Vec::new()), |_| self.remote.address())?;
        let mut table = self.table.borrow_mut();
        let connection = table.connections.entry(dest_id).or_default();
        let region = Region::new(shared, host, link, control, Rc::clone(&connection.lifeline))?;
        connection.count += 1;
        let path = region.path().0;
        table.regions.insert((dest_id, memory), Rc::new(region));
        Ok(SharedBy { path, ucx_address })
    }

    pub(crate) fn is_shared(&self, dest_id: u64, memory: u64, share: u64) -> bool {
        let table = self.table.borrow();
        table.regions.get(&(dest_id, memory)).is_some_and(|region| region.share == share)
    }

    /// Ends a share: its region ends now, or with the last command that uses it. Whether there was
    /// one.
    pub(crate) fn unshare(&self, dest_id: u64, memory: u64, share: u64) -> bool {
        let mut table = self.table.borrow_mut();
        if table.regions.get(&(dest_id, memory)).is_none_or(|region| region.share != share) {
            return false;
        }
        let ended = table.regions.remove(&(dest_id, memory));
        if let Some(connection) = table.connections.get_mut(&dest_id) {
            connection.count -= 1;
        }
        ended.is_some()
    }

    /// Ends the shares of a connection that is over, or about to be. Memory that plugins have open
    /// is lost unless it is mapped: the host's program may use the addresses for something else by
    /// now.
    pub(crate) fn close(&self, dest_id: u64) {
        let mut table = self.table.borrow_mut();
        if let Some(connection) = table.connections.remove(&dest_id) {
            connection.lifeline.end();
            table.regions.retain(|(owner, _), _| *owner != dest_id);
            drop(table);
            self.remote.lose(dest_id);
        }
    }

    /// Whether operations wait for answers of hosts.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.remote.is_busy()
    }

    /// Looks for these answers. Whether there is more to do at once.
    #[cold]
    pub(crate) fn turn(&self) -> bool {
        self.remote.turn()
    }

    /// Ends what waits for answers: the plugins are about to be closed.
    pub(crate) fn shut(&self) {
        self.remote.shut();
    }

    pub(super) fn open(
        &self,
        dest_id: u64,
        memory: u64,
        offset: u64,
        len: u64,
    ) -> Result<HostMemory, DocaError> {
        let mut table = self.table.borrow_mut();
        let region = table.regions.get(&(dest_id, memory)).ok_or(DocaError::NOT_FOUND)?;
        let (region, memory) = (Rc::clone(region), region.whole().part(offset, len)?);
        let key = table.open.insert(Opened { region, memory, offset, count: 1 });
        Ok(HostMemory { handle: handle(key), ..memory })
    }

    pub(super) fn keep(&self, handle: *mut c_void) {
        if let Some(opened) = self.table.borrow_mut().open.get_mut(key(handle)) {
            opened.count += 1;
        }
    }

    pub(super) fn close_one(&self, handle: *mut c_void) {
        let mut table = self.table.borrow_mut();
        let Some(opened) = table.open.get_mut(key(handle)) else { return };
        opened.count -= 1;
        if opened.count == 0 {
            table.open.remove(key(handle));
        }
    }

    /// Runs an operation on open memory.
    ///
    /// # Safety
    /// The operation stays where it is until it has ended, and its `local` has as many bytes as it
    /// moves.
    pub(super) unsafe fn run(
        &self,
        handle: *mut c_void,
        mut operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        let table = self.table.borrow();
        let opened = table.open.get(key(handle)).ok_or(DocaError::NOT_FOUND)?;
        // SAFETY: the caller's promise, and nobody else has it now.
        let asked = unsafe { operation.as_mut() };
        let MemoryOperation { action, offset, len, local, .. } = *asked;
        opened.memory.check(action, offset, len)?;
        if local.is_null() && action.uses_local() && len > 0 {
            return Err(DocaError::INVALID_VALUE);
        }
        let at = opened.offset + asked.offset;
        if asked.len == 0 {
            return Ok(());
        }
        if opened.region.is_lost() {
            return Err(DocaError::CONNECTION_RESET);
        }
        // SAFETY: the caller's promise; the range is checked.
        if let Some(done) = unsafe { opened.region.run_here(at, asked) } {
            return done;
        }
        let host = opened.region.host.clone().ok_or(DocaError::NOT_SUPPORTED)?;
        let region = Rc::clone(&opened.region);
        // SAFETY: the caller's promise.
        unsafe { self.remote.start(region, host, at, operation) }?;
        Err(DocaError::IN_PROGRESS)
    }
}

/// What plugins know open memory by: a number with a generation, not an address.
fn handle(key: DefaultKey) -> *mut c_void {
    std::ptr::without_provenance_mut(key.data().as_ffi() as usize)
}

fn key(handle: *mut c_void) -> DefaultKey {
    KeyData::from_ffi(handle.addr() as u64).into()
}
