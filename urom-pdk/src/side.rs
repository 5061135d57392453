//! The plugin side as generated code sees it, and the contexts it passes to handlers.

use urom_abi::protocol::{PluginSide, Protocol};
use urom_abi::shared::SharedCommand;

use crate::{DomainHandle, Domains, Error, Held, Result};

/// The plugin side of a protocol: the one implementation of [`PluginSide`].
///
/// A protocol's trait `Handler` is generic over its side, and [`urom_plugin`](crate::urom_plugin)
/// fills this one in. Code that takes handlers of any type names it, as in
/// `H: sandbox::Handler<Side>`.
#[derive(Clone, Copy, Debug)]
pub struct Side;

impl PluginSide for Side {
    type OpenContext = OpenContext;
    type Context = Context;
    type Error = Error;
}

/// What a handler sees while it opens.
#[derive(Debug)]
pub struct OpenContext {
    plugin: &'static str,
    version: u64,
    domains: DomainHandle,
}

impl OpenContext {
    pub(crate) fn of<P: Protocol>(domains: DomainHandle) -> OpenContext {
        OpenContext { plugin: P::NAME, version: P::VERSION, domains }
    }

    /// The plugin's name, as its protocol states it.
    pub fn plugin_name(&self) -> &'static str {
        self.plugin
    }

    /// The protocol's version, which a host compares with its own.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The worker's domain look-ups, to be kept and used later and on any thread; commands have
    /// [`Context::domains`].
    pub fn domains(&self) -> DomainHandle {
        self.domains.clone()
    }
}

/// What a handler sees beside each command: where it came from, and what the worker knows of its
/// domains.
///
/// It stays on the worker's thread.
///
/// ```
/// use std::cell::RefCell;
/// use std::collections::HashMap;
/// use urom_pdk::prelude::*;
///
/// /// Counts commands by the connection they came in on.
/// struct Counting {
///     seen: RefCell<HashMap<u64, u64>>,
/// }
///
/// impl Counting {
///     async fn count(&self, cx: &Context) -> Result<u64> {
///         let mut seen = self.seen.borrow_mut();
///         let count = seen.entry(cx.dest_id()).or_default();
///         *count += 1;
///         log::debug!("plugin {:#x}: command {count}", cx.plugin_id());
///         Ok(*count)
///     }
///
///     async fn is_there(&self, cx: &Context, member: u64) -> Result<bool> {
///         cx.domains().contains(member)
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Context {
    command: SharedCommand,
    /// The executor's, which outlives every context: so that a command counts nothing.
    domains: &'static DomainHandle,
}

impl Context {
    #[inline]
    pub(crate) fn new(command: SharedCommand, domains: &'static DomainHandle) -> Context {
        Context { command, domains }
    }

    /// The connection the command came in on (`urom_worker_cmd_desc::dest_id`). Commands of one
    /// connection share it; a host may have several. The notification goes back to it.
    #[inline]
    pub fn dest_id(&self) -> u64 {
        self.command.dest_id()
    }

    /// The id the service gave to this plugin (`urom_worker_cmd::type`): one bit of a mask.
    #[inline]
    pub fn plugin_id(&self) -> u64 {
        self.command.header().plugin_id
    }

    /// The worker's domain look-ups. Their answers are borrowed, for as long as this is.
    #[inline]
    pub fn domains(&self) -> Domains<'_> {
        self.domains.borrowed()
    }

    /// A handle on `bytes` of this command, such as a payload, that keeps the command's memory for
    /// as long as it lives: for what goes on when the command's future is dropped, such as a send
    /// by UCX. Nothing is copied or allocated.
    ///
    /// # Errors
    /// `INVALID_VALUE` when `bytes` are not this command's own. No bytes at all are always fine.
    #[inline]
    pub fn hold(&self, bytes: &[u8]) -> Result<Held> {
        Held::new(&self.command, bytes)
    }

    #[inline]
    pub(crate) fn command(&self) -> &SharedCommand {
        &self.command
    }

    #[inline]
    pub(crate) fn into_command(self) -> SharedCommand {
        self.command
    }
}

#[cfg(test)]
impl Context {
    /// The context of a command in a worker without domains.
    pub(crate) fn for_test(command: urom_abi::descriptor::CommandDesc) -> Context {
        static NONE: std::sync::LazyLock<DomainHandle> =
            std::sync::LazyLock::new(DomainHandle::for_test);
        Context::new(command.into(), &NONE)
    }
}
