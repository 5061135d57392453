//! Values of hosts, by handles that other hosts cannot forge.

use std::cell::RefCell;
use std::fmt;
use std::rc::{Rc, Weak};

use slotmap::{DefaultKey, Key, KeyData, SlotMap};

use crate::{ConnectionId, DocaError, Error, OpenContext, Result, ensure};

/// The limits of a [`PerHost`].
#[derive(Clone, Copy, Debug)]
pub struct HostLimits {
    /// Most values of one host.
    pub values: usize,
    /// Most bytes of the values of all hosts.
    pub bytes: u64,
}

/// Values of hosts, made by one command and used by later ones through a handle.
///
/// A handle is a slot and its generation, never 0. A removed value's handle stays invalid when the
/// slot is reused. A leaving host's values are dropped after `host_left`. NVIDIA's worker does not
/// report that: values stay until the close. A clone is the same table, on the worker's thread.
///
/// ```
/// use urom_pdk::prelude::*;
/// use urom_pdk::{HostLimits, PerHost};
///
/// struct Notes {
///     notes: PerHost<String>,
/// }
///
/// impl Notes {
///     fn open(cx: &OpenContext) -> Notes {
///         let limits = HostLimits { values: 100, bytes: 1 << 20 };
///         Notes { notes: PerHost::new(cx, "note", limits) }
///     }
///
///     fn write(&self, cx: &Context, text: &str) -> Result<u64> {
///         self.notes.insert(cx.connection(), text.len() as u64, text.to_owned())
///     }
///
///     fn read(&self, cx: &Context, handle: u64) -> Result<String> {
///         Ok(self.notes.get(cx.connection(), handle)?.to_string())
///     }
/// }
/// ```
pub struct PerHost<T> {
    table: Rc<HandleTable<T>>,
}

struct HandleTable<T> {
    name: &'static str,
    limits: HostLimits,
    values: RefCell<SlotMap<DefaultKey, OwnedValue<T>>>,
}

struct OwnedValue<T> {
    owner: ConnectionId,
    bytes: u64,
    value: Rc<T>,
}

pub(crate) trait HostLeft {
    fn host_left(&self, owner: ConnectionId);
}

impl<T> HostLeft for HandleTable<T> {
    fn host_left(&self, owner: ConnectionId) {
        let mut values = self.values.borrow_mut();
        let left: Vec<DefaultKey> =
            values.iter().filter(|(_, it)| it.owner == owner).map(|(key, _)| key).collect();
        let left: Vec<_> = left.into_iter().filter_map(|key| values.remove(key)).collect();
        // A value's drop may use the table.
        drop(values);
        drop(left);
    }
}

impl<T: 'static> PerHost<T> {
    /// Creates an empty table. Errors call a value `name`.
    pub fn new(cx: &OpenContext, name: &'static str, limits: HostLimits) -> PerHost<T> {
        let table = Rc::new(HandleTable { name, limits, values: RefCell::default() });
        let leaves: Weak<dyn HostLeft> = Rc::<HandleTable<T>>::downgrade(&table);
        cx.worker().on_host_left(leaves);
        PerHost { table }
    }

    /// Adds a value of `bytes` bytes and returns its handle.
    ///
    /// # Errors
    /// `FULL` at the host's limit, `NO_MEMORY` at the limit of bytes. The value is dropped.
    pub fn insert(&self, owner: ConnectionId, bytes: u64, value: T) -> Result<u64> {
        self.insert_with(owner, bytes, |_| Ok(value))
    }

    /// As [`insert`](Self::insert), for a value that contains its handle. `make` runs after the
    /// limits are checked and must not use the table.
    ///
    /// # Errors
    /// As [`insert`](Self::insert), and the errors of `make`.
    pub fn insert_with(
        &self,
        owner: ConnectionId,
        bytes: u64,
        make: impl FnOnce(u64) -> Result<T>,
    ) -> Result<u64> {
        let HandleTable { name, limits, values } = &*self.table;
        let mut values = values.borrow_mut();
        let HostLimits { values: most, bytes: most_bytes } = *limits;
        let count = values.values().filter(|it| it.owner == owner).count();
        ensure!(count < most, DocaError::FULL, "a host has at most {most} of: {name}");
        let used: u64 = values.values().map(|it| it.bytes).sum();
        ensure!(
            used.saturating_add(bytes) <= most_bytes,
            DocaError::NO_MEMORY,
            "{name}: {bytes} bytes exceed the {most_bytes} of this worker, {used} used"
        );
        let made = values.try_insert_with_key(|key| {
            let value = Rc::new(make(key.data().as_ffi())?);
            Ok(OwnedValue { owner, bytes, value })
        });
        made.map(|key| key.data().as_ffi())
    }

    /// Returns the value with this handle.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the handle is stale, forged or another host's.
    pub fn get(&self, owner: ConnectionId, handle: u64) -> Result<Rc<T>> {
        let text = || format!("unknown {} {handle:#x} of this host", self.table.name);
        let unknown = || Error::new(DocaError::INVALID_VALUE, text());
        self.find(owner, handle).ok_or_else(unknown)
    }

    /// As [`get`](Self::get), as an `Option`.
    pub fn find(&self, owner: ConnectionId, handle: u64) -> Option<Rc<T>> {
        self.look_up(handle, |it| it.owner == owner)
    }

    /// Returns the value of any host with this handle: for messages of peers.
    pub fn find_any(&self, handle: u64) -> Option<Rc<T>> {
        self.look_up(handle, |_| true)
    }

    /// Returns all values of a host.
    pub fn all(&self, owner: ConnectionId) -> Vec<Rc<T>> {
        let values = self.table.values.borrow();
        values.values().filter(|it| it.owner == owner).map(|it| Rc::clone(&it.value)).collect()
    }

    /// Returns all values of all hosts.
    pub fn values(&self) -> Vec<Rc<T>> {
        self.table.values.borrow().values().map(|it| Rc::clone(&it.value)).collect()
    }

    /// Removes the value with this handle and returns it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn remove(&self, owner: ConnectionId, handle: u64) -> Result<Rc<T>> {
        let value = self.get(owner, handle)?;
        self.table.values.borrow_mut().remove(KeyData::from_ffi(handle).into());
        Ok(value)
    }

    /// Removes all values of all hosts and returns them.
    pub fn take_all(&self) -> Vec<Rc<T>> {
        self.table.values.take().into_iter().map(|(_, it)| it.value).collect()
    }

    fn look_up(&self, handle: u64, is_meant: impl FnOnce(&OwnedValue<T>) -> bool) -> Option<Rc<T>> {
        let (values, key) = (self.table.values.borrow(), KeyData::from_ffi(handle));
        // Two numbers decode to each key. Only the number that the key encodes to is valid.
        let found = values.get(key.into()).filter(|it| key.as_ffi() == handle && is_meant(it));
        found.map(|it| Rc::clone(&it.value))
    }
}

impl<T> Clone for PerHost<T> {
    fn clone(&self) -> PerHost<T> {
        PerHost { table: Rc::clone(&self.table) }
    }
}

impl<T> fmt::Debug for PerHost<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.table.values.try_borrow().map_or(0, |values| values.len());
        write!(f, "PerHost({values} of: {})", self.table.name)
    }
}
