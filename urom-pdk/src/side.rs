//! The plugin side as generated code sees it, and the contexts it passes to handlers.

use urom_abi::descriptor::CommandDesc;
use urom_abi::protocol::{PluginSide, Protocol};

use crate::Error;

/// The plugin side of a protocol: the one implementation of [`PluginSide`].
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
}

impl OpenContext {
    pub(crate) fn of<P: Protocol>() -> OpenContext {
        OpenContext { plugin: P::NAME, version: P::VERSION }
    }

    /// The plugin's name, as its protocol states it.
    pub fn plugin_name(&self) -> &'static str {
        self.plugin
    }

    /// The protocol's version, which a host compares with its own.
    pub fn version(&self) -> u64 {
        self.version
    }
}

/// What a handler sees beside each command: where it came from.
#[derive(Debug)]
pub struct Context {
    dest_id: u64,
    plugin_id: u64,
}

impl Context {
    pub(crate) fn of(command: &CommandDesc) -> Context {
        Context { dest_id: command.dest_id(), plugin_id: command.header().plugin_id }
    }

    /// The connection the command came in on (`urom_worker_cmd_desc::dest_id`). Commands of one host share it; the
    /// notification goes back to it.
    pub fn dest_id(&self) -> u64 {
        self.dest_id
    }

    /// The id the service gave to this plugin (`urom_worker_cmd::type`): one bit of a mask.
    pub fn plugin_id(&self) -> u64 {
        self.plugin_id
    }
}
