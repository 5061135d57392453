//! Driving a plugin through its six C functions, as a worker does: commands in, progress, notifications out.

use std::ffi::{OsStr, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use libloading::{Library, Symbol};
use sandbox_protocol::{TagRecv, TagSend};
use urom_abi::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use urom_abi::plugin::{
    DomainLookups, GetIfaceFn, PluginIface, WorkerCmdDesc, WorkerCtx, WorkerNotifDesc, WorkerNotify,
};
use urom_abi::protocol::Request;
use urom_abi::{Data, DocaError};

use crate::callgrind;

/// What a plugin is given to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Work {
    /// Commands of the graph plugin.
    Loopback,
    /// Commands of the sandbox plugin: receives, and as many sends to the same worker.
    Exchange,
}

/// The largest message.
const ROOM: usize = 4096;

/// The address of the only member of the domain: this worker's own.
static ADDRESS: OnceLock<Box<[u8]>> = OnceLock::new();

/// Finds a member's address, which is always the worker's own.
unsafe extern "C" fn find_address(_: *mut WorkerCtx, _: u64, found: *mut *mut c_void) -> DocaError {
    let Some(address) = ADDRESS.get() else { return DocaError::NOT_FOUND };
    // SAFETY: plugins pass a place for the address.
    unsafe { found.write(address.as_ptr().cast_mut().cast()) };
    DocaError::SUCCESS
}

/// An open plugin.
struct Plugin {
    iface: PluginIface,
    ctx: Box<WorkerCtx>,
    /// Last: the code of all of the above.
    _library: Library,
}

/// A method that every plugin has.
fn method<T>(method: Option<T>, name: &str) -> Result<T> {
    method.with_context(|| format!("the plugin has no {name}"))
}

impl Plugin {
    fn open(file: &Path) -> Result<Plugin> {
        let load = || format!("cannot load {}", file.display());
        // SAFETY: a plugin's initialisation asks for nothing.
        let library = unsafe { Library::new(AsRef::<OsStr>::as_ref(file)) }.with_context(load)?;
        // SAFETY: the function of this name is of this type in every plugin.
        let get_iface: Symbol<'_, GetIfaceFn> =
            unsafe { library.get("urom_plugin_get_iface") }.with_context(load)?;
        let mut iface = PluginIface::EMPTY;
        // SAFETY: it is writable.
        unsafe { get_iface(&mut iface) }.check()?;
        let domain_iface = DomainLookups {
            addr_lookup: Some(find_address),
            seg_lookup: None,
            memh_lookup: None,
            mkey_lookup: None,
        };
        let mut ctx = Box::new(WorkerCtx { iface, domain_iface, plugin_ctx: null_mut() });
        let open = method(iface.open, "open")?;
        // SAFETY: the context is filled in, and stays where it is until after `close`.
        unsafe { open(&mut *ctx) }.check().context("the plugin does not open")?;
        Ok(Plugin { iface, ctx, _library: library })
    }

    fn address(&mut self) -> Result<Box<[u8]>> {
        let addr = method(self.iface.addr, "addr")?;
        let (mut bytes, mut length) = (vec![0u8; ROOM], ROOM);
        // SAFETY: there is as much room as is said.
        unsafe { addr(&mut *self.ctx, bytes.as_mut_ptr().cast(), &mut length) }.check()?;
        bytes.truncate(length);
        Ok(bytes.into())
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        if let Some(close) = self.iface.close {
            // SAFETY: it is open, and not called again.
            unsafe { close(&mut *self.ctx) };
        }
    }
}

/// Lets the plugin in `file` do `turns` turns of `commands` commands each.
///
/// # Errors
/// When it cannot be loaded, or does not answer every command with success.
pub(crate) fn run(file: &Path, work: Work, commands: usize, turns: usize) -> Result<()> {
    let mut plugin = Plugin::open(file)?;
    let messages = match work {
        Work::Loopback => vec![encoded(&graph_protocol::Loopback { data: 7 })?],
        Work::Exchange => {
            let address = plugin.address()?;
            ensure!(ADDRESS.set(address).is_ok(), "a plugin was opened before");
            let receive = TagRecv {
                context: 1,
                buffer: 0,
                count: 64,
                tag: 7,
                tag_mask: u64::MAX,
                memh_id: 0,
            };
            let send = TagSend { context: 2, dest: 0, data: Data::Inline(&[7; 64]), tag: 7 };
            vec![encoded(&receive)?, encoded(&send)?]
        }
    };
    let worker_cmd = method(plugin.iface.worker_cmd, "worker_cmd")?;
    let progress = method(plugin.iface.progress, "progress")?;
    let notif_pack = method(plugin.iface.notif_pack, "notif_pack")?;
    let mut given = DescriptorList::<WorkerCmdDesc>::new();
    let mut answers = DescriptorList::<WorkerNotifDesc>::new();
    let mut packed = vec![0u8; ROOM];
    callgrind::rounds(turns, || {
        for message in &messages {
            for token in 0..commands / messages.len() {
                given.push_back(CommandDesc::new(1, 1, token as u64, message)?);
            }
        }
        // SAFETY: the plugin is open, and the list holds commands.
        unsafe { worker_cmd(&mut *plugin.ctx, given.as_raw()) }.check()?;
        let mut left = commands;
        while left > 0 {
            // SAFETY: the plugin is open, and the list is well formed.
            match unsafe { progress(&mut *plugin.ctx, answers.as_raw()) } {
                DocaError::SUCCESS | DocaError::EMPTY => {}
                code => bail!("progress gave {}", code.name()),
            }
            while let Some(answer) = answers.pop_front() {
                pack(notif_pack, answer, &mut packed)?;
                left = left.checked_sub(1).context("the plugin answered too often")?;
            }
        }
        Ok(())
    })
}

/// Packs a notification, which must be one of success, and frees it.
fn pack(
    notif_pack: urom_abi::plugin::NotifPackFn,
    answer: NotificationDesc,
    packed: &mut [u8],
) -> Result<()> {
    let mut length = packed.len();
    let block = answer.into_raw();
    // SAFETY: the header is behind the link and the connection.
    let header: *mut WorkerNotify = unsafe { &raw mut (*block).worker_notif };
    // SAFETY: it is the plugin's own, and there is as much room as is said.
    let code = unsafe { notif_pack(header, &mut length, packed.as_mut_ptr().cast()) };
    let block = std::ptr::NonNull::new(block).context("a notification is a block")?;
    // SAFETY: it came from `into_raw`.
    drop(unsafe { NotificationDesc::from_raw(block) });
    code.check()?;
    let (_, status) = (
        packed[..length].len(),
        u32::from_ne_bytes([packed[24], packed[25], packed[26], packed[27]]),
    );
    ensure!(status == 0, "a command failed with status {status}");
    Ok(())
}

fn encoded(command: &impl Request) -> Result<Vec<u8>> {
    let mut bytes = vec![0; ROOM];
    let length = command.encode(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}
