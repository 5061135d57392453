//! A domain that a test plays: who its members are, and what their look-ups find.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::sync::{Arc, PoisonError, RwLock};

use urom_abi::address;
use urom_abi::protocol::{Protocol, Serve};

use super::instance::Instance;
use super::worker::Worker;
use crate::{Segment, Side};

/// A domain without a service: workers of this thread whose plugins find each other by the ids that the test gives
/// them.
///
/// ```standalone_crate
/// # mod greeting {
/// #     use urom_abi::{urom_command, urom_notification};
/// #     #[urom_command(plugin = "worker_greeting", version = 1)]
/// #     #[derive(Debug)]
/// #     pub enum Command { #[urom(reply = Greeted)] Greet { member: u64 } }
/// #     #[urom_notification]
/// #     #[derive(Debug)]
/// #     pub enum Notification { Greeted { length: u64 } }
/// # }
/// # use greeting::{Greet, Greeted, Handler};
/// # use urom_pdk::prelude::*;
/// use urom_pdk::test_util::Domain;
///
/// struct Greeter;
///
/// #[urom_plugin]
/// impl Handler for Greeter {
///     fn open(_: &OpenContext) -> Result<Self> {
///         Ok(Greeter)
///     }
///
///     fn address(&self) -> Result<Vec<u8>> {
///         Ok(b"here".to_vec())
///     }
///
///     /// Answers with the length of the member's address.
///     async fn greet(&self, cx: &Context, cmd: Greet) -> Result<Greeted> {
///         Ok(Greeted { length: cx.domains().address(cmd.member)?.len() as u64 })
///     }
/// }
///
/// # fn main() {
/// let domain = Domain::new();
/// let first = domain.open::<Greeter, greeting::Protocol>(10);
/// let second = domain.open::<Greeter, greeting::Protocol>(11);
/// assert_eq!(first.call(Greet { member: 11 }).unwrap().length, 4);
/// assert_eq!(second.call(Greet { member: 12 }).unwrap_err(), DocaError::NOT_FOUND);
/// # }
/// ```
///
/// A clone is the same domain.
#[derive(Clone)]
pub struct Domain {
    world: Rc<World>,
}

/// What a domain is made of.
pub(super) struct World {
    pub(super) shared: Arc<Shared>,
    members: RefCell<Vec<Weak<Instance>>>,
}

impl Domain {
    /// A domain without members.
    #[allow(clippy::new_without_default, reason = "a domain is made, not assumed")]
    pub fn new() -> Domain {
        let members = RefCell::default();
        Domain { world: Rc::new(World { shared: Arc::default(), members }) }
    }

    /// Opens a plugin with handler `T` as member `id`: the protocol's name and this id are what others find its address
    /// by. Members of one protocol may have handlers of different types.
    ///
    /// # Panics
    /// When the plugin does not open, or its address cannot be had; see [`Worker::try_open_in`].
    #[track_caller]
    pub fn open<T: 'static, P: Protocol + Serve<Side, T>>(&self, id: u64) -> Worker<P> {
        Worker::try_open_in::<T>(self, id)
            .unwrap_or_else(|code| panic!("plugin {} did not open: {code}", P::NAME))
    }

    /// Adds a buffer to a member, as the host program of that member would; the look-ups of all members find it.
    ///
    /// ```
    /// use urom_pdk::Segment;
    /// use urom_pdk::test_util::{Buffer, Domain};
    ///
    /// let domain = Domain::new();
    /// assert_eq!(domain.add_buffer(7, Buffer::new(0x1000..0x2000).key(b"packed key")), Segment::FIRST);
    /// // The plugin that others find for member 7 is one in C, so its address has no frame.
    /// domain.set_address("worker_sum", 7, b"an address in C");
    /// assert_eq!(domain.progress(), 0, "it has no worker of this test");
    /// domain.remove(7);
    /// ```
    pub fn add_buffer(&self, member: u64, buffer: Buffer) -> Segment {
        let mut members = self.world.shared.members.write().unwrap_or_else(PoisonError::into_inner);
        let buffers = members.buffers.entry(member).or_default();
        let index = u32::try_from(buffers.len()).expect("a domain has fewer buffers");
        buffers.push(Arc::new(buffer));
        Segment::new(index)
    }

    /// Makes the address that members of plugin `plugin` find for `member` these bytes, whatever plugin answers for
    /// them: an address in its [frame](urom_abi::address), or without one as a plugin in C has it. A plugin of this kit
    /// reads as far as the frame says.
    ///
    /// The bytes stay until the last worker of the domain is gone, also when others take their place.
    ///
    /// # Panics
    /// When the frame is cut or damaged: a service refuses the domain of such an address, so no plugin ever finds it.
    #[track_caller]
    pub fn set_address(&self, plugin: &'static str, member: u64, bytes: &[u8]) {
        self.world.shared.set_address(plugin, member, bytes);
    }

    /// Forgets a member: later look-ups find neither its addresses nor its buffers. A worker that is open goes on.
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

impl World {
    pub(super) fn join(&self, instance: &Rc<Instance>) {
        let mut members = self.members.borrow_mut();
        members.retain(|member| member.strong_count() > 0);
        members.push(Rc::downgrade(instance));
    }

    fn living(&self) -> Vec<Rc<Instance>> {
        self.members.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn progress(&self) -> usize {
        self.living().iter().map(|instance| instance.progress()).sum()
    }
}

/// Memory of a member's host program: what [`Domain::add_buffer`] adds.
///
/// ```
/// use urom_pdk::test_util::Buffer;
/// let buffer = Buffer::new(0x1000..0x2000).key(b"packed key").memory_handle(b"exported handle");
/// ```
#[derive(Clone, Debug)]
pub struct Buffer {
    range: Range<u64>,
    key: Vec<u8>,
    memory_handle: Vec<u8>,
}

impl Buffer {
    /// A buffer at these addresses of its process, without a key and without a handle: look-ups of them are `NOT_FOUND`.
    pub fn new(range: Range<u64>) -> Buffer {
        Buffer { range, key: Vec::new(), memory_handle: Vec::new() }
    }

    /// Its packed remote key.
    #[must_use]
    pub fn key(mut self, bytes: &[u8]) -> Buffer {
        self.key = bytes.to_vec();
        self
    }

    /// Its packed, exported memory handle.
    #[must_use]
    pub fn memory_handle(mut self, bytes: &[u8]) -> Buffer {
        self.memory_handle = bytes.to_vec();
        self
    }
}

/// What look-ups read, on any thread. What they were given stays until all of it goes.
#[derive(Default)]
pub(super) struct Shared {
    members: RwLock<Members>,
}

#[derive(Default)]
struct Members {
    addresses: BTreeMap<(&'static str, u64), Arc<[u8]>>,
    buffers: BTreeMap<u64, Vec<Arc<Buffer>>>,
    /// All that a look-up may ever have given.
    kept: Vec<Arc<[u8]>>,
    kept_buffers: Vec<Arc<Buffer>>,
}

impl Shared {
    /// See [`Domain::set_address`].
    ///
    /// # Panics
    /// As there: look-ups give no length, so nobody behind them could tell.
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

    /// Where the address of a member's plugin is.
    pub(super) fn address(&self, member: u64, plugin: &str) -> Option<*const u8> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let found =
            members.addresses.iter().find(|((name, id), _)| *name == plugin && *id == member);
        found.map(|(_, bytes)| bytes).filter(|bytes| !bytes.is_empty()).map(|bytes| bytes.as_ptr())
    }

    /// The first of a member's buffers that holds an address.
    pub(super) fn segment(&self, member: u64, va: u64) -> Option<usize> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        members.buffers.get(&member)?.iter().position(|buffer| buffer.range.contains(&va))
    }

    /// The key of a buffer, or its handle.
    pub(super) fn packed(&self, member: u64, segment: usize, key: bool) -> Option<*const [u8]> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let buffer = members.buffers.get(&member)?.get(segment)?;
        let bytes = if key { &buffer.key } else { &buffer.memory_handle };
        (!bytes.is_empty()).then_some(&raw const **bytes)
    }
}
