//! The structures that a UROM worker and a plugin exchange, byte for byte those of
//! `doca_urom_plugin.h`.
//!
//! Every size and offset is asserted here at compile time and compared with a C compiler's in
//! `tests/c_layout.rs`. Structures that end in a flexible array in C (`plugin_cmd`, `plugin_notif`)
//! stop before it here; the bytes follow directly behind.

use std::ffi::{c_char, c_int, c_void};
use std::fmt;

use crate::error::DocaError;
use crate::list::ListLink;

/// Room for a plugin's name, the terminating NUL included (`DOCA_UROM_PLUGIN_NAME_MAX_LEN`).
pub const PLUGIN_NAME_CAPACITY: usize = 48;

/// What the service tells a host about one plugin (`struct doca_urom_service_plugin_info`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PluginInfo {
    /// The plugin's id on this service: a single bit of a mask, never 0.
    pub id: u64,
    /// What the plugin's `urom_plugin_get_version` returned.
    pub version: u64,
    /// The file's name without `.so`, NUL-terminated.
    pub plugin_name: [c_char; PLUGIN_NAME_CAPACITY],
}

impl PluginInfo {
    /// Puts an entry together, or gives `None` for a name that is empty, longer than 47 bytes, or
    /// holds a NUL.
    pub fn new(id: u64, version: u64, name: &str) -> Option<PluginInfo> {
        if name.is_empty() || name.len() >= PLUGIN_NAME_CAPACITY || name.contains('\0') {
            return None;
        }
        let mut plugin_name = [0; PLUGIN_NAME_CAPACITY];
        for (slot, byte) in plugin_name.iter_mut().zip(name.bytes()) {
            *slot = byte as c_char;
        }
        Some(PluginInfo { id, version, plugin_name })
    }

    /// The name, up to its NUL; `None` when it is not UTF-8. A name without NUL ends with the
    /// array.
    pub fn name(&self) -> Option<&str> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.plugin_name);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..end]).ok()
    }
}

impl fmt::Debug for PluginInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginInfo")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("plugin_name", &self.name().unwrap_or("(not UTF-8)"))
            .finish()
    }
}

/// The header before a plugin's command bytes (`struct urom_worker_cmd`, 24 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C)]
pub struct WorkerCmd {
    /// The id of the plugin the command belongs to. C calls it `type`; it says nothing about which
    /// command it is.
    pub plugin_id: u64,
    /// The host library's token for the task; a plugin echoes it unchanged (`urom_context`).
    pub urom_context: u64,
    /// How many bytes of command follow this header (`len`).
    pub len: u64,
}

/// A command as it hangs in a plugin's command list (`struct urom_worker_cmd_desc`, 48 bytes and
/// the command).
///
/// Allocated by the worker on the C heap; whoever takes it off the list frees it.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerCmdDesc {
    /// The link, at offset 0: a link's address is the descriptor's.
    pub entry: ListLink,
    /// The connection the command came in on.
    pub dest_id: u64,
    /// The header; the command's bytes follow it.
    pub worker_cmd: WorkerCmd,
}

/// The header before a plugin's notification bytes (`struct urom_worker_notify`, 32 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C)]
pub struct WorkerNotify {
    /// The plugin's id, as in the command. C calls it `type`.
    pub plugin_id: u64,
    /// The command's token, unchanged.
    pub urom_context: u64,
    /// How many bytes of notification follow this header.
    pub len: u64,
    /// What becomes the task's status on the host.
    pub status: DocaError,
    /// Always 0 when this kit writes it.
    pub reserved: u32,
}

/// A notification as it hangs in a worker's notification list (`struct urom_worker_notif_desc`, 56
/// bytes and the notification).
///
/// Allocated by the plugin on the C heap; the worker frees it once it is sent.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerNotifDesc {
    /// The link, at offset 0.
    pub entry: ListLink,
    /// The connection the command came in on.
    pub dest_id: u64,
    /// The header; the notification's bytes follow it, 8-aligned and no more.
    pub worker_notif: WorkerNotify,
}

/// `open`: allocate the plugin's state and store it in [`WorkerCtx::plugin_ctx`].
pub type OpenFn = unsafe extern "C" fn(ctx: *mut WorkerCtx) -> DocaError;
/// `close`: release everything that belongs to `plugin_ctx`.
pub type CloseFn = unsafe extern "C" fn(ctx: *mut WorkerCtx);
/// `addr`: copy the plugin's own network address. `addr_len` holds the capacity on entry and the
/// length on return; too small a capacity gives `INVALID_VALUE` and the length, and leaves `addr`
/// alone.
pub type AddrFn =
    unsafe extern "C" fn(ctx: *mut WorkerCtx, addr: *mut c_void, addr_len: *mut usize) -> DocaError;
/// `worker_cmd`: take commands off the list and begin them. What is left on the list stays the
/// worker's.
pub type WorkerCmdFn =
    unsafe extern "C" fn(ctx: *mut WorkerCtx, cmd_list: *mut ListLink) -> DocaError;
/// `progress`: advance what was begun and append finished notifications. `EMPTY` when there is
/// none.
pub type ProgressFn =
    unsafe extern "C" fn(ctx: *mut WorkerCtx, notif_list: *mut ListLink) -> DocaError;
/// `notif_pack`: write the 32-byte header and the notification into `packed`. The length is
/// capacity on entry, bytes written on return.
pub type NotifPackFn = unsafe extern "C" fn(
    notif: *mut WorkerNotify,
    packed_len: *mut usize,
    packed: *mut c_void,
) -> DocaError;

/// A plugin's methods (`struct urom_plugin_iface`).
///
/// Fields are `Option`s because the structure comes from foreign code, which may leave a method
/// out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PluginIface {
    /// The DOCA version the plugin was built against (`__doca_api_version`); see
    /// [`crate::version`].
    pub api_version: usize,
    /// See [`OpenFn`].
    pub open: Option<OpenFn>,
    /// See [`CloseFn`].
    pub close: Option<CloseFn>,
    /// See [`AddrFn`].
    pub addr: Option<AddrFn>,
    /// See [`WorkerCmdFn`].
    pub worker_cmd: Option<WorkerCmdFn>,
    /// See [`ProgressFn`].
    pub progress: Option<ProgressFn>,
    /// See [`NotifPackFn`].
    pub notif_pack: Option<NotifPackFn>,
}

impl PluginIface {
    /// Without version and methods: what a plugin is given to fill in.
    pub const EMPTY: PluginIface = PluginIface {
        api_version: 0,
        open: None,
        close: None,
        addr: None,
        worker_cmd: None,
        progress: None,
        notif_pack: None,
    };
}

/// Finds a domain member's plugin address: a self-contained UCX address, the worker's own memory.
pub type AddrLookupFn =
    unsafe extern "C" fn(ctx: *mut WorkerCtx, domain_id: u64, addr: *mut *mut c_void) -> DocaError;
/// Finds the segment (the index of a registered buffer) of a domain member that holds the address
/// `va`.
pub type SegLookupFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    domain_id: u64,
    va: u64,
    seg: *mut c_int,
) -> DocaError;
/// Finds a segment's packed, exported memory handle.
pub type MemhLookupFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    domain_id: u64,
    seg: c_int,
    len: *mut usize,
    memh: *mut *mut c_void,
) -> DocaError;
/// Finds a segment's packed remote key.
pub type MkeyLookupFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    domain_id: u64,
    seg: c_int,
    len: *mut usize,
    rkey: *mut *mut c_void,
) -> DocaError;

/// What a worker knows of its domains (`struct urom_domain_lookups_iface`). C calls these without a
/// NULL check and from any thread: a worker fills all four, before `open`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DomainLookups {
    /// See [`AddrLookupFn`].
    pub addr_lookup: Option<AddrLookupFn>,
    /// See [`SegLookupFn`].
    pub seg_lookup: Option<SegLookupFn>,
    /// See [`MemhLookupFn`].
    pub memh_lookup: Option<MemhLookupFn>,
    /// See [`MkeyLookupFn`].
    pub mkey_lookup: Option<MkeyLookupFn>,
}

/// One plugin in one worker (`struct urom_worker_ctx`): address-stable from before `open` until
/// after `close`.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerCtx {
    /// A copy of what `urom_plugin_get_iface` filled in.
    pub iface: PluginIface,
    /// The worker's lookups.
    pub domain_iface: DomainLookups,
    /// The plugin's own state; NULL before `open`.
    pub plugin_ctx: *mut c_void,
}

/// `urom_plugin_get_iface`: fills `iface`; NULL gives `INVALID_VALUE`.
pub type GetIfaceFn = unsafe extern "C" fn(iface: *mut PluginIface) -> DocaError;
/// `urom_plugin_get_version`: stores the plugin's version; NULL gives `INVALID_VALUE`.
pub type GetVersionFn = unsafe extern "C" fn(version: *mut u64) -> DocaError;

/// The name under which a plugin exports its [`GetIfaceFn`].
pub const GET_IFACE_SYMBOL: &str = "urom_plugin_get_iface";
/// The name under which a plugin exports its [`GetVersionFn`].
pub const GET_VERSION_SYMBOL: &str = "urom_plugin_get_version";

assert_layout!(PluginInfo, 64, align 8, { id @ 0, version @ 8, plugin_name @ 16 });
assert_layout!(WorkerCmd, 24, align 8, { plugin_id @ 0, urom_context @ 8, len @ 16 });
assert_layout!(WorkerCmdDesc, 48, align 8, { entry @ 0, dest_id @ 16, worker_cmd @ 24 });
assert_layout!(WorkerNotify, 32, align 8, { plugin_id @ 0, urom_context @ 8, len @ 16, status @ 24, reserved @ 28 });
assert_layout!(WorkerNotifDesc, 56, align 8, { entry @ 0, dest_id @ 16, worker_notif @ 24 });
assert_layout!(PluginIface, 56, align 8, {
    api_version @ 0, open @ 8, close @ 16, addr @ 24, worker_cmd @ 32, progress @ 40, notif_pack @ 48,
});
assert_layout!(DomainLookups, 32, align 8, {
    addr_lookup @ 0, seg_lookup @ 8, memh_lookup @ 16, mkey_lookup @ 24,
});
assert_layout!(WorkerCtx, 96, align 8, { iface @ 0, domain_iface @ 56, plugin_ctx @ 88 });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_47_bytes_fits_and_one_of_48_does_not() {
        let longest = "n".repeat(47);
        assert_eq!(PluginInfo::new(1, 1, &longest).unwrap().name(), Some(longest.as_str()));
        assert!(PluginInfo::new(1, 1, &"n".repeat(48)).is_none());
        assert!(PluginInfo::new(1, 1, "").is_none());
        assert!(PluginInfo::new(1, 1, "a\0b").is_none());
    }

    #[test]
    fn a_foreign_name_without_nul_or_utf8_does_not_run_on() {
        let mut info = PluginInfo::new(1, 1, "x").unwrap();
        info.plugin_name = [b'a' as c_char; PLUGIN_NAME_CAPACITY];
        assert_eq!(info.name().map(str::len), Some(PLUGIN_NAME_CAPACITY));
        info.plugin_name[0] = 0xffu8 as c_char;
        assert_eq!(info.name(), None);
    }
}
