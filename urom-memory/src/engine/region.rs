//! [`Region`]: one memory that a host shares.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host_memory::HostMemory;
use urom_abi::memory::Access;

use super::Path;
use crate::error::{Error, Result};

/// Memory as its host describes it.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// The number of the share. A memory that is shared again has another one.
    pub share: u64,
    /// The number by which commands name the memory.
    pub memory: u64,
    /// Where it begins in the host.
    pub address: u64,
    /// How long it is, in bytes.
    pub len: u64,
    /// What the host allows.
    pub access: Access,
}

impl Offered {
    /// The error of memory that cannot be shared.
    #[must_use]
    pub fn refuse(&self, code: DocaError, why: &str) -> Error {
        Error::new(code, format!("memory {:#x} cannot be shared: {why}", self.memory))
    }

    pub(super) fn check(&self) -> Result<()> {
        let &Offered { address, len, access, .. } = self;
        if len == 0 || address.checked_add(len).is_none() || isize::try_from(len).is_err() {
            return Err(self.refuse(DocaError::INVALID_VALUE, "there is no such range"));
        }
        if !access.others_read() {
            let why = "its permissions are its owner's alone";
            return Err(self.refuse(DocaError::NOT_PERMITTED, why));
        }
        Ok(())
    }
}

/// A connection of a host, which all its regions have.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) is_over: Cell<bool>,
    /// How many memories it shares.
    pub(super) count: Cell<usize>,
}

/// One memory. It stays reachable as long as this, or until its host leaves.
pub struct Region {
    offered: Offered,
    connection: Rc<Connection>,
    path: Box<dyn Path>,
    /// Dropped when nothing uses the memory any more: behind the path.
    _keep: Box<dyn Any>,
}

impl Region {
    /// A region in no table: for a test of a path.
    #[must_use]
    pub fn alone(offered: Offered, path: Box<dyn Path>) -> Rc<Region> {
        Region::new(offered, Rc::default(), path, Box::new(()))
    }

    pub(super) fn new(
        offered: Offered,
        connection: Rc<Connection>,
        path: Box<dyn Path>,
        keep: Box<dyn Any>,
    ) -> Rc<Region> {
        Rc::new(Region { offered, connection, path, _keep: keep })
    }

    /// What its host said of it.
    #[must_use]
    pub fn offered(&self) -> &Offered {
        &self.offered
    }

    /// The way of its bytes.
    #[must_use]
    pub fn path(&self) -> &dyn Path {
        &*self.path
    }

    /// All of it, as plugins get a part of it.
    pub(super) fn whole(&self) -> HostMemory {
        HostMemory {
            mapping: self.path.mapping(),
            address: self.offered.address,
            len: self.offered.len,
            access: self.offered.access.bits(),
            path: self.path.kind(),
            ..HostMemory::NONE
        }
    }

    /// Whether nothing leads to the memory any more: the host may use its addresses for something
    /// else by now.
    pub(super) fn is_lost(&self) -> bool {
        self.connection.is_over.get() && self.path.mapping().is_null()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.offered).field(&self.path).finish()
    }
}
