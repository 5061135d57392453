//! Drives a plugin through its C functions, as a worker does: commands, progress, notifications; or
//! through `call`, as a worker of this kit does.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use urom_abi::DocaStatus;
use urom_abi::descriptor::CommandDesc;
use urom_abi::driver::{Methods, OpenPlugin};
use urom_abi::extension::Called;
use urom_abi::plugin::{DomainLookups, WorkerCtx};
use urom_service::plugins::Loaded;

pub(crate) const CAPACITY: usize = 4096;

/// Address of the domain's only member: this process.
static ADDRESS: OnceLock<Box<[u8]>> = OnceLock::new();

unsafe extern "C" fn find_address(
    _: *mut WorkerCtx,
    _: u64,
    found: *mut *mut c_void,
) -> DocaStatus {
    let Some(address) = ADDRESS.get() else { return DocaStatus::NOT_FOUND };
    // SAFETY: plugins pass a valid pointer for the address.
    unsafe { found.write(address.as_ptr().cast_mut().cast()) };
    DocaStatus::SUCCESS
}

#[derive(Debug)]
pub(crate) struct Plugin {
    // Dropped before its context.
    pub(crate) open: OpenPlugin,
    _ctx: Box<WorkerCtx>,
}

impl Plugin {
    pub(crate) fn open(file: &Path) -> Result<Plugin> {
        // SAFETY: the files are plugins of this workspace, which the benchmark built.
        let loaded = unsafe { Loaded::load(file) }
            .and_then(|loaded| Ok((loaded.iface()?, loaded.extension())));
        let (iface, extension) =
            loaded.with_context(|| format!("cannot load {}", file.display()))?;
        let domain_iface = DomainLookups {
            addr_lookup: Some(find_address),
            seg_lookup: None,
            memh_lookup: None,
            mkey_lookup: None,
        };
        let mut ctx = Box::new(WorkerCtx { iface, domain_iface, plugin_ctx: null_mut() });
        // SAFETY: methods and extension belong to one file, and the context stays in its box until
        // the plugin is dropped.
        let open =
            unsafe { OpenPlugin::open(Methods::of(&iface)?, extension, NonNull::from(&mut *ctx)) };
        Ok(Plugin { open: open.context("the plugin does not open")?, _ctx: ctx })
    }

    /// Makes the plugin's own address the address of every member.
    pub(crate) fn join_itself(&mut self) -> Result<()> {
        let mut bytes = vec![0u8; CAPACITY];
        let (status, length) = self.open.address(&mut bytes);
        status.check()?;
        bytes.truncate(length);
        ensure!(ADDRESS.set(bytes.into()).is_ok(), "a plugin was asked before");
        Ok(())
    }

    /// Runs a command with the plugin's `call`; returns the length of an immediate answer in
    /// `buffer`. A plugin without `call` gets the command in its list.
    #[inline]
    pub(crate) fn call(
        &mut self,
        token: u64,
        message: &[u8],
        buffer: &mut [u8],
    ) -> Result<Option<usize>> {
        let Some(end) = self.open.call((1, 1, token), message, buffer) else {
            self.give(token, message)?;
            return Ok(None);
        };
        match end.called {
            Called::ANSWERED => {
                end.status.check()?;
                Ok(Some(end.len))
            }
            Called::PENDING => Ok(None),
            other => bail!("the plugin's `call` gave {other:?}"),
        }
    }

    #[inline]
    pub(crate) fn give(&mut self, token: u64, message: &[u8]) -> Result<()> {
        self.open.push(CommandDesc::new(1, 1, token, message)?);
        Ok(())
    }
}
