//! A plugin as a service offers it.

use std::fmt;

use urom_abi::plugin::PluginInfo;

/// A plugin that a service found (`struct doca_urom_service_plugin_info`).
///
/// It belongs to the service that reported it: ids of one service mean nothing to another, and
/// passing one is refused with `INVALID_VALUE`. It can be copied and sent to other threads freely.
#[derive(Clone, Copy)]
pub struct Plugin {
    info: PluginInfo,
    fingerprint: Option<u64>,
    service: u64,
}

impl Plugin {
    pub(crate) fn new(info: PluginInfo, fingerprint: Option<u64>, service: u64) -> Plugin {
        Plugin { info, fingerprint, service }
    }

    /// The plugin's id on its service: a single bit.
    pub fn id(&self) -> u64 {
        self.info.id
    }

    /// The version the plugin reports.
    pub fn version(&self) -> u64 {
        self.info.version
    }

    /// The [fingerprint](urom_abi::describe::Protocol::fingerprint) of the plugin's description.
    /// `None` for a plugin without one, in C, and with a library that cannot tell: NVIDIA's.
    pub fn fingerprint(&self) -> Option<u64> {
        self.fingerprint
    }

    /// The plugin's name: its file's name without `.so`. Empty when it is not UTF-8.
    pub fn name(&self) -> &str {
        self.info.name().unwrap_or_default()
    }

    /// Which service, of all this process ever connected to, it came from.
    pub(crate) fn service(&self) -> u64 {
        self.service
    }
}

impl AsRef<Plugin> for Plugin {
    fn as_ref(&self) -> &Plugin {
        self
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name())
            .field("id", &format_args!("{:#x}", self.id()))
            .field("version", &self.version())
            .finish()
    }
}
