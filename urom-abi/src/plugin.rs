//! The structures that a UROM worker and a plugin exchange, in the layout of `doca_urom_plugin.h`.
//! Bytes of C's flexible array members (`plugin_cmd`, `plugin_notif`) follow the structure.

use std::ffi::{c_char, c_int, c_void};
use std::fmt;

use crate::error::DocaStatus;
use crate::host::put_text;
use crate::list::ListLink;

/// Capacity for a plugin's name, including its NUL (`DOCA_UROM_PLUGIN_NAME_MAX_LEN`).
pub const PLUGIN_NAME_CAPACITY: usize = 48;

/// The service's information about a plugin (`struct doca_urom_service_plugin_info`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PluginInfo {
    /// The plugin's id on this service: a single bit, never 0.
    pub id: u64,
    /// The value of the plugin's `urom_plugin_get_version`.
    pub version: u64,
    /// The file name without `.so`, NUL-terminated.
    pub plugin_name: [c_char; PLUGIN_NAME_CAPACITY],
}

impl PluginInfo {
    /// Creates an entry; `None` for a name that is empty, longer than 47 bytes, or contains a NUL.
    pub fn new(id: u64, version: u64, name: &str) -> Option<PluginInfo> {
        if name.is_empty() || name.len() >= PLUGIN_NAME_CAPACITY || name.contains('\0') {
            return None;
        }
        let mut plugin_name = [0; PLUGIN_NAME_CAPACITY];
        put_text(&mut plugin_name, name);
        Some(PluginInfo { id, version, plugin_name })
    }

    /// Returns the name up to its NUL or the end of the array; `None` when it is not UTF-8.
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
    /// The id of the plugin. C calls it `type`, but it does not identify the kind of command.
    pub plugin_id: u64,
    /// The host library's token for the task. The plugin echoes it unchanged (`urom_context`).
    pub urom_context: u64,
    /// Length of the command after this header in bytes.
    pub len: u64,
}

/// A command in a plugin's command list (`struct urom_worker_cmd_desc`, 48 bytes and the command).
/// The worker allocates it on the C heap; the receiver that removes it from the list frees it.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerCmdDesc {
    /// The link, at offset 0: its address is the descriptor's address.
    pub entry: ListLink,
    /// The command's connection.
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
    /// Length of the notification after this header in bytes.
    pub len: u64,
    /// The task's status on the host.
    pub status: DocaStatus,
    /// This kit writes 0.
    pub reserved: u32,
}

/// A notification in a worker's notification list (`struct urom_worker_notif_desc`, 56 bytes and
/// the notification). The plugin allocates it on the C heap; the worker frees it after sending.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerNotifDesc {
    /// The link, at offset 0.
    pub entry: ListLink,
    /// The command's connection.
    pub dest_id: u64,
    /// The header; the notification's bytes follow it, 8-aligned.
    pub worker_notif: WorkerNotify,
}

/// `open`: allocates the plugin's state and stores it in [`WorkerCtx::plugin_ctx`].
pub type OpenFn = unsafe extern "C" fn(ctx: *mut WorkerCtx) -> DocaStatus;
/// `close`: releases all resources of `plugin_ctx`.
pub type CloseFn = unsafe extern "C" fn(ctx: *mut WorkerCtx);
/// `addr`: copies the plugin's network address. `addr_len` is the capacity on entry and the length
/// on return. If the capacity is too small, `addr` is unchanged and the code is `INVALID_VALUE`.
pub type AddrFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    addr: *mut c_void,
    addr_len: *mut usize,
) -> DocaStatus;
/// `worker_cmd`: removes commands from the list and starts them. The worker keeps the others.
pub type WorkerCmdFn =
    unsafe extern "C" fn(ctx: *mut WorkerCtx, cmd_list: *mut ListLink) -> DocaStatus;
/// `progress`: progresses commands and appends notifications. `EMPTY` without notifications.
pub type ProgressFn =
    unsafe extern "C" fn(ctx: *mut WorkerCtx, notif_list: *mut ListLink) -> DocaStatus;
/// `notif_pack`: writes the 32-byte header and the notification to `packed`. The length is the
/// capacity on entry, the bytes written on return.
pub type NotifPackFn = unsafe extern "C" fn(
    notif: *mut WorkerNotify,
    packed_len: *mut usize,
    packed: *mut c_void,
) -> DocaStatus;

/// A plugin's methods (`struct urom_plugin_iface`), optional because C may omit them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PluginIface {
    /// The DOCA version of the plugin's build (`__doca_api_version`); see [`crate::version`].
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
    /// An empty interface, for a plugin to fill in.
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

/// Looks up a domain member's plugin address: a self-contained UCX address in the worker's memory.
pub type AddrLookupFn =
    unsafe extern "C" fn(ctx: *mut WorkerCtx, domain_id: u64, addr: *mut *mut c_void) -> DocaStatus;
/// Looks up the domain member's segment (index of a registered buffer) with the address `va`.
pub type SegLookupFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    domain_id: u64,
    va: u64,
    seg: *mut c_int,
) -> DocaStatus;
/// Looks up a segment's packed, exported memory handle.
pub type MemhLookupFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    domain_id: u64,
    seg: c_int,
    len: *mut usize,
    memh: *mut *mut c_void,
) -> DocaStatus;
/// Looks up a segment's packed remote key.
pub type MkeyLookupFn = unsafe extern "C" fn(
    ctx: *mut WorkerCtx,
    domain_id: u64,
    seg: c_int,
    len: *mut usize,
    rkey: *mut *mut c_void,
) -> DocaStatus;

/// Look-ups in a worker's domains (`struct urom_domain_lookups_iface`). C calls these without a
/// NULL check and from any thread: a worker sets all four before `open`.
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

/// A plugin in a worker (`struct urom_worker_ctx`). Its address is fixed until after `close`.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerCtx {
    /// The interface that `urom_plugin_get_iface` returned.
    pub iface: PluginIface,
    /// The worker's lookups.
    pub domain_iface: DomainLookups,
    /// The plugin's state; NULL before `open`.
    pub plugin_ctx: *mut c_void,
}

/// `urom_plugin_get_iface`: fills `iface`; NULL returns `INVALID_VALUE`.
pub type GetIfaceFn = unsafe extern "C" fn(iface: *mut PluginIface) -> DocaStatus;
/// `urom_plugin_get_version`: stores the plugin's version; NULL returns `INVALID_VALUE`.
pub type GetVersionFn = unsafe extern "C" fn(version: *mut u64) -> DocaStatus;

/// Symbol name of a plugin's [`GetIfaceFn`].
pub const GET_IFACE_SYMBOL: &str = "urom_plugin_get_iface";
/// Symbol name of a plugin's [`GetVersionFn`].
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
