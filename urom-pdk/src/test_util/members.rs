//! Addresses and buffers of a simulated domain's members.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use urom_abi::address;

/// Memory of a member's host program: see [`Domain::add_buffer`](super::Domain::add_buffer).
#[derive(Clone, Debug)]
pub struct Buffer {
    range: Range<u64>,
    key: Vec<u8>,
    memory_handle: Vec<u8>,
}

impl Buffer {
    /// Creates a buffer at these addresses. Look-ups of unset keys and handles: `NOT_FOUND`.
    pub fn new(range: Range<u64>) -> Buffer {
        Buffer { range, key: Vec::new(), memory_handle: Vec::new() }
    }

    /// Sets its packed remote key.
    #[must_use]
    pub fn key(mut self, bytes: &[u8]) -> Buffer {
        self.key = bytes.to_vec();
        self
    }

    /// Sets its packed, exported memory handle.
    #[must_use]
    pub fn memory_handle(mut self, bytes: &[u8]) -> Buffer {
        self.memory_handle = bytes.to_vec();
        self
    }
}

/// The data of look-ups on any thread. It only grows.
#[derive(Default)]
pub(super) struct SharedDomain {
    pub(super) members: RwLock<Members>,
}

#[derive(Default)]
pub(super) struct Members {
    pub(super) addresses: BTreeMap<(&'static str, u64), Arc<[u8]>>,
    pub(super) buffers: BTreeMap<u64, Vec<Arc<Buffer>>>,
    kept: Vec<Arc<[u8]>>,
    pub(super) kept_buffers: Vec<Arc<Buffer>>,
}

impl SharedDomain {
    /// As [`Domain::set_address`](super::Domain::set_address), with its panics.
    #[track_caller]
    pub(super) fn set_address(&self, plugin: &'static str, member: u64, bytes: &[u8]) {
        assert!(
            bytes.is_empty() || address::is_sound(bytes),
            "the address of plugin `{plugin}` at worker {member} begins as a frame of this kit and is not a whole one: \
             no service passes it on"
        );
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let bytes: Arc<[u8]> = bytes.into();
        members.kept.push(Arc::clone(&bytes));
        members.addresses.insert((plugin, member), bytes);
    }

    pub(super) fn address(&self, member: u64, plugin: &str) -> Option<*const u8> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let found =
            members.addresses.iter().find(|((name, id), _)| *name == plugin && *id == member);
        found.map(|(_, bytes)| bytes).filter(|bytes| !bytes.is_empty()).map(|bytes| bytes.as_ptr())
    }

    pub(super) fn segment(&self, member: u64, va: u64) -> Option<usize> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        members.buffers.get(&member)?.iter().position(|buffer| buffer.range.contains(&va))
    }

    pub(super) fn packed(&self, member: u64, segment: usize, key: bool) -> Option<*const [u8]> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let buffer = members.buffers.get(&member)?.get(segment)?;
        let bytes = if key { &buffer.key } else { &buffer.memory_handle };
        (!bytes.is_empty()).then_some(&raw const **bytes)
    }
}
