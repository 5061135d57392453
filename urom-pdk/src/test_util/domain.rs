//! A domain that a test plays: who its members are, and what their look-ups find.

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

use urom_abi::protocol::{Protocol, Serve};

use super::instance::World;
use super::members::Buffer;
use super::worker::Worker;
use crate::{Segment, Side};

/// A domain without a service: workers of this thread whose plugins find each other by the ids that
/// the test gives them.
///
/// A clone is the same domain.
#[derive(Clone)]
pub struct Domain {
    world: Rc<World>,
}

impl Domain {
    /// A domain without members.
    #[allow(clippy::new_without_default, reason = "a domain is made, not assumed")]
    pub fn new() -> Domain {
        Domain { world: Rc::default() }
    }

    /// Opens a plugin with handler `T` as member `id`: the protocol's name and this id are what
    /// others find its address by. Members of one protocol may have handlers of different types.
    /// Panics when the plugin does not open: see [`Worker::try_open_in`].
    #[track_caller]
    pub fn open<T: 'static, P: Protocol + Serve<Side, T>>(&self, id: u64) -> Worker<P> {
        Worker::try_open_in::<T>(self, id)
            .unwrap_or_else(|code| panic!("plugin {} did not open: {code}", P::NAME))
    }

    /// Adds a buffer to a member, as the host program of that member would; the look-ups of all
    /// members find it.
    pub fn add_buffer(&self, member: u64, buffer: Buffer) -> Segment {
        let mut members = self.world.shared.members.write().unwrap_or_else(PoisonError::into_inner);
        let buffers = members.buffers.entry(member).or_default();
        let index = u32::try_from(buffers.len()).expect("a domain has fewer buffers");
        buffers.push(Arc::new(buffer));
        Segment::new(index)
    }

    /// Makes the address that members of plugin `plugin` find for `member` these bytes: an address
    /// in its [frame](urom_abi::address), or without one as a plugin in C has it.
    ///
    /// # Panics
    /// When the frame is cut or damaged: a service refuses the domain of such an address.
    #[track_caller]
    pub fn set_address(&self, plugin: &'static str, member: u64, bytes: &[u8]) {
        self.world.shared.set_address(plugin, member, bytes);
    }

    /// Forgets a member: later look-ups find neither its addresses nor its buffers. A worker that
    /// is open goes on.
    pub fn remove(&self, member: u64) {
        let mut members = self.world.shared.members.write().unwrap_or_else(PoisonError::into_inner);
        members.addresses.retain(|(_, id), _| *id != member);
        if let Some(buffers) = members.buffers.remove(&member) {
            members.kept_buffers.extend(buffers);
        }
    }

    /// Calls `progress` of every open worker of the domain once; how many notifications came.
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
