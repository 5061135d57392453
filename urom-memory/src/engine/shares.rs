//! [`Shares`]: the memory of all hosts of a worker, and the parts that plugins have open.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::fmt;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use rustc_hash::FxHashMap;
use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation, MemoryPath};
use urom_abi::memory::MemoryRange;

use super::Path;
use super::region::{ConnectionState, Offered, Region};
use crate::error::{Error, Result};

/// Limit of one host's memories. Each may need a mapping, and a process has about 65,000.
pub const MOST_OF_HOST: usize = 4096;

/// Hosts' memory for the plugins of one worker. It stays on the worker's thread.
pub struct Shares {
    table: RefCell<ShareTable>,
    /// Called for each invalid call of a plugin.
    wrong: Box<dyn Fn(&'static str)>,
}

#[derive(Debug, Default)]
struct ShareTable {
    regions: FxHashMap<(u64, u64), Rc<Region>>,
    connections: FxHashMap<u64, Rc<ConnectionState>>,
    /// By handle. Handles are numbers that are never reused, not addresses.
    open: FxHashMap<usize, Open>,
    last_handle: usize,
}

/// An open part of a memory.
#[derive(Debug)]
pub struct Open {
    pub connection: u64,
    pub range: MemoryRange,
    pub count: usize,
    memory: HostMemory,
    region: Rc<Region>,
}

impl Shares {
    /// Makes an empty table. `wrong` is called for each invalid call of a plugin.
    #[must_use]
    pub fn new(wrong: impl Fn(&'static str) + 'static) -> Shares {
        Shares { table: RefCell::default(), wrong: Box::new(wrong) }
    }

    /// Adds a memory that the host of a connection shares, with the path from `open`. The second
    /// value of `open` is dropped when the last use of the memory has ended.
    ///
    /// # Errors
    /// `ALREADY_EXIST`, `FULL`, `INVALID_VALUE`, `NOT_PERMITTED`, and the errors of `open`.
    pub fn share(
        &self,
        connection: u64,
        offered: Offered,
        open: impl FnOnce() -> Result<(Box<dyn Path>, Box<dyn Any>)>,
    ) -> Result<Rc<Region>> {
        let key = (connection, offered.memory);
        let host = Rc::clone(self.table.borrow_mut().connections.entry(connection).or_default());
        if self.table.borrow().regions.contains_key(&key) {
            let text = format!("memory {:#x} is shared already", offered.memory);
            return Err(Error::new(DocaError::ALREADY_EXIST, text));
        }
        if host.count.get() >= MOST_OF_HOST {
            let text = format!("a host can share {MOST_OF_HOST} memories with a worker at a time");
            return Err(Error::new(DocaError::FULL, text));
        }
        offered.check()?;
        let (path, keep) = open()?;
        host.count.set(host.count.get() + 1);
        let region = Region::new(offered, host, path, keep);
        self.table.borrow_mut().regions.insert(key, Rc::clone(&region));
        Ok(region)
    }

    #[must_use]
    pub fn is_shared(&self, connection: u64, memory: u64, share: u64) -> bool {
        let table = self.table.borrow();
        table.regions.get(&(connection, memory)).is_some_and(|it| it.offered().share == share)
    }

    /// Calls `look` for each shared memory.
    pub fn each(&self, mut look: impl FnMut(&Region)) {
        self.table.borrow().regions.values().for_each(|region| look(region));
    }

    /// Ends a share, after the last command that uses it. Returns whether it existed.
    pub fn unshare(&self, connection: u64, memory: u64, share: u64) -> bool {
        if !self.is_shared(connection, memory, share) {
            return false;
        }
        let mut table = self.table.borrow_mut();
        if let Some(host) = table.connections.get(&connection) {
            host.count.set(host.count.get() - 1);
        }
        let ended = table.regions.remove(&(connection, memory));
        // Not under the borrow: it may be the last use of the region.
        drop(table);
        ended.is_some()
    }

    /// Ends the shares of a closed or closing connection. Open memory is lost unless it is mapped.
    pub fn leave(&self, connection: u64) {
        let mut table = self.table.borrow_mut();
        let Some(host) = table.connections.remove(&connection) else { return };
        host.is_over.set(true);
        table.regions.retain(|(owner, _), _| *owner != connection);
    }

    /// Opens a part of a memory.
    ///
    /// # Errors
    /// `NOT_FOUND` when the connection does not share it, `INVALID_VALUE` for a part outside of it.
    #[inline]
    pub fn open(&self, connection: u64, range: MemoryRange) -> Result<HostMemory, DocaError> {
        let mut table = self.table.borrow_mut();
        let region = table.regions.get(&(connection, range.memory)).ok_or(DocaError::NOT_FOUND)?;
        let (region, memory) = (Rc::clone(region), region.whole().part(range.offset, range.len)?);
        table.last_handle += 1;
        let handle = table.last_handle;
        table.open.insert(handle, Open { connection, range, count: 1, memory, region });
        Ok(HostMemory { handle: ptr::without_provenance_mut(handle), ..memory })
    }

    /// Copies a part of a memory now, without opening it.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if only the network leads to it, `CONNECTION_RESET` if its host has left, the
    /// errors of [`open`](Self::open) and of the path.
    pub fn peek(&self, connection: u64, range: MemoryRange) -> Result<Vec<u8>, DocaError> {
        let MemoryRange { memory, offset, len } = range;
        let table = self.table.borrow();
        let region = table.regions.get(&(connection, memory)).ok_or(DocaError::NOT_FOUND)?;
        region.whole().part(offset, len)?.check(MemoryAction::READ, 0, len)?;
        if region.path().kind() == MemoryPath::NETWORK {
            return Err(DocaError::NOT_SUPPORTED);
        }
        if region.is_lost() {
            return Err(DocaError::CONNECTION_RESET);
        }
        let mut bytes = vec![0; len as usize];
        let mut operation = MemoryOperation::new(MemoryAction::READ, offset, len);
        operation.local = bytes.as_mut_ptr();
        // SAFETY: a read of a mapping or by the kernel ends in the call. Until then, the operation
        // and `bytes`, which has `len` bytes, stay in place without other accesses.
        unsafe { region.path().run(region, offset, NonNull::from(&mut operation)) }?;
        Ok(bytes)
    }

    /// Opens the part of a handle once more.
    ///
    /// # Errors
    /// `NOT_FOUND` for a handle that is not open.
    pub fn keep(&self, handle: *mut c_void) -> Result<(), DocaError> {
        match self.table.borrow_mut().open.get_mut(&handle.addr()) {
            Some(open) => open.count += 1,
            None => return Err(self.not_open("kept memory that it has not open")),
        }
        Ok(())
    }

    /// Closes the part of a handle once.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    pub fn close(&self, handle: *mut c_void) -> Result<(), DocaError> {
        let mut table = self.table.borrow_mut();
        let Some(open) = table.open.get_mut(&handle.addr()) else {
            return Err(self.not_open("closed memory that it has not open"));
        };
        open.count -= 1;
        if open.count == 0 {
            let ended = table.open.remove(&handle.addr());
            // Not under the borrow: it may be the last use of the region.
            drop(table);
            drop(ended);
        }
        Ok(())
    }

    /// Runs an operation on open memory: `IN_PROGRESS` if it ends later.
    ///
    /// # Errors
    /// Those of [`RunMemoryFn`](urom_abi::extension::RunMemoryFn).
    ///
    /// # Safety
    /// As [`Path::run`].
    #[inline]
    pub unsafe fn run(
        &self,
        handle: *mut c_void,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        let table = self.table.borrow();
        let Some(open) = table.open.get(&handle.addr()) else {
            return Err(self.not_open("ran an operation on memory that it has not open"));
        };
        // SAFETY: the caller's operation, which is copied.
        let MemoryOperation { action, offset, len, local, .. } = unsafe { operation.read() };
        open.memory.check(action, offset, len)?;
        if local.is_null() && action.uses_local() && len > 0 {
            return Err(DocaError::INVALID_VALUE);
        }
        if len == 0 {
            return Ok(());
        }
        if open.region.is_lost() {
            return Err(DocaError::CONNECTION_RESET);
        }
        // SAFETY: the caller's promise; `open` checked the part, and `check` the operation.
        unsafe { open.region.path().run(&open.region, open.range.offset + offset, operation) }
    }

    pub fn look<T>(&self, look: impl FnOnce(&mut dyn Iterator<Item = &Open>) -> T) -> T {
        look(&mut self.table.borrow().open.values())
    }

    #[cold]
    fn not_open(&self, what: &'static str) -> DocaError {
        (self.wrong)(what);
        DocaError::NOT_FOUND
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.borrow().fmt(f)
    }
}
