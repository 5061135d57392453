//! A simulated domain: its members, addresses and buffers.

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

use urom_abi::protocol::{Protocol, Serve};

use super::instance::World;
use super::members::Buffer;
use super::worker::Worker;
use crate::{Segment, Side};

/// Workers of this thread whose plugins find each other by the test's ids. A clone is the same.
#[derive(Clone)]
pub struct Domain {
    world: Rc<World>,
}

impl Domain {
    /// Creates a domain without members.
    #[allow(clippy::new_without_default, reason = "a domain is made, not assumed")]
    pub fn new() -> Domain {
        Domain { world: Rc::default() }
    }

    /// Opens a plugin with handler `T` as member `id`: others find its address by the protocol's
    /// name and this id. Members of one protocol may have different handler types. Panics when the
    /// plugin does not open: see [`Worker::try_open_in`].
    #[track_caller]
    pub fn open<T: 'static, P: Protocol + Serve<Side, T>>(&self, id: u64) -> Worker<P> {
        Worker::try_open_in::<T>(self, id)
            .unwrap_or_else(|code| panic!("plugin {} did not open: {code}", P::NAME))
    }

    /// Adds a buffer to a member, as its host program would.
    pub fn add_buffer(&self, member: u64, buffer: Buffer) -> Segment {
        let mut members = self.world.shared.members.write().unwrap_or_else(PoisonError::into_inner);
        let buffers = members.buffers.entry(member).or_default();
        let index = u32::try_from(buffers.len()).expect("a domain has fewer buffers");
        buffers.push(Arc::new(buffer));
        Segment::new(index)
    }

    /// Sets the address of `member` for members of plugin `plugin`: in a
    /// [frame](urom_abi::address), or without one like a plugin in C.
    ///
    /// # Panics
    /// When the frame is cut or damaged: a service rejects such an address.
    #[track_caller]
    pub fn set_address(&self, plugin: &'static str, member: u64, bytes: &[u8]) {
        self.world.shared.set_address(plugin, member, bytes);
    }

    /// Removes a member and its buffers from later look-ups. An open worker continues.
    pub fn remove(&self, member: u64) {
        let mut members = self.world.shared.members.write().unwrap_or_else(PoisonError::into_inner);
        members.addresses.retain(|(_, id), _| *id != member);
        if let Some(buffers) = members.buffers.remove(&member) {
            members.kept_buffers.extend(buffers);
        }
    }

    /// Calls `progress` of every open worker once. Returns the number of notifications.
    pub fn progress(&self) -> usize {
        self.world.progress()
    }

    pub(super) fn world(&self) -> &Rc<World> {
        &self.world
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Domain({} workers)", self.world.living().len())
    }
}
