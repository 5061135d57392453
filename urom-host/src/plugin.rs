//! A service's plugin.

use urom_abi::plugin::PluginInfo;

/// A plugin that a service found (`struct doca_urom_service_plugin_info`). Another service refuses
/// it with `INVALID_VALUE`. It can be copied and sent to other threads.
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

    /// The plugin's version.
    pub fn version(&self) -> u64 {
        self.info.version
    }

    /// The [fingerprint](urom_abi::describe::Protocol::fingerprint) of the plugin's description;
    /// `None` for plugins in C, and with NVIDIA's library.
    pub fn fingerprint(&self) -> Option<u64> {
        self.fingerprint
    }

    /// The plugin's name: its file name without `.so`. Empty if not UTF-8.
    pub fn name(&self) -> &str {
        self.info.name().unwrap_or_default()
    }

    pub(crate) fn service(&self) -> u64 {
        self.service
    }
}

impl AsRef<Plugin> for Plugin {
    fn as_ref(&self) -> &Plugin {
        self
    }
}

debug_fields!(Plugin, |it| {
    name: it.name(), id: format_args!("{:#x}", it.id()), version: it.version()
});
