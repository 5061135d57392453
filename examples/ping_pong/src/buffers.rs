//! Buffers for messages: in commands and answers, or in memory that the plugin accesses.

use std::num::NonZeroU64;

use anyhow::{Context, Result, bail, ensure};
use sandbox_protocol::{Client, MapParams};
use ucx::Features;
use urom_host::memory::{Access, MemoryShare, Mmap, Share};
use urom_host::{Data, DocaError, Host, Received, Registered, Service, Worker};

pub(crate) struct Buffers {
    /// The outgoing message, or a copy of an incoming message.
    bytes: Vec<u8>,
    registered: Option<Memory>,
}

/// Memory for the plugin: the outgoing message, and two incoming messages in turn.
struct Memory {
    backing: Backing,
    /// Address of the first byte for the plugin.
    address: u64,
    handle: NonZeroU64,
}

enum Backing {
    /// Shared with this kit's worker.
    Shared { memory: Mmap, _shared: MemoryShare },
    /// Exported by UCX, for a device of any worker.
    Exported(ucx::Memory),
}

impl Buffers {
    /// Messages of `len` bytes travel in commands and answers.
    pub(crate) fn inline(len: usize) -> Buffers {
        Buffers { bytes: vec![0; len], registered: None }
    }

    /// Messages are in memory that is registered with the plugin of `worker`.
    pub(crate) fn registered(
        len: usize,
        service: &Service,
        sandbox: &Client<Host>,
        worker: &Worker,
    ) -> Result<Buffers> {
        let named = |plugin: &&urom_host::Plugin| plugin.name() == sandbox_protocol::Protocol::NAME;
        // Only the kit's plugin distinguishes `Mmap::export` from a handle of UCX.
        let plugin = service.plugins().iter().find(named);
        let is_of_kit = plugin.is_some_and(|plugin| plugin.fingerprint().is_some());
        let mut registered = None;
        if is_of_kit {
            registered = Memory::shared(3 * len, sandbox, worker)?;
        }
        if registered.is_none() {
            registered = Some(Memory::exported(3 * len, sandbox, worker)?);
        }
        Ok(Buffers { bytes: vec![0; len], registered })
    }

    /// Lets `fill` write the next message. The last message must be sent.
    pub(crate) fn prepare(&mut self, fill: impl FnOnce(&mut [u8])) -> Result<()> {
        fill(&mut self.bytes);
        match &self.registered {
            Some(memory) => memory.write(&self.bytes),
            None => Ok(()),
        }
    }

    pub(crate) fn outgoing(&self) -> Data<'_> {
        match &self.registered {
            None => Data::Inline(&self.bytes),
            Some(memory) => Data::Registered(memory.part(0, self.bytes.len())),
        }
    }

    /// The memory for a round's incoming message, unless the answer contains it.
    pub(crate) fn incoming(&self, round: u32) -> Option<Registered> {
        let memory = self.registered.as_ref()?;
        Some(memory.part(self.start(round), self.bytes.len()))
    }

    /// Calls `check` with the incoming message.
    pub(crate) fn read(
        &mut self,
        round: u32,
        received: &Received,
        check: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let start = self.start(round);
        match (received, &self.registered) {
            (Received::Inline(bytes), None) => check(bytes),
            (Received::Registered { len }, Some(memory)) => {
                let expected = self.bytes.len();
                ensure!(*len == expected as u64, "{len} bytes came, {expected} were expected");
                memory.read(start, &mut self.bytes)?;
                check(&self.bytes)
            }
            _ => bail!("the plugin put the message elsewhere than it was told to"),
        }
    }

    fn start(&self, round: u32) -> usize {
        self.bytes.len() * (1 + round as usize % 2)
    }
}

impl Memory {
    /// Shares memory with the worker; `None` if service or worker do not support that.
    fn shared(len: usize, sandbox: &Client<Host>, worker: &Worker) -> Result<Option<Memory>> {
        let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
        let memory = Mmap::allocate(len, access)?;
        let exported = memory.export()?;
        let mapped = memory
            .share(worker)
            .wait()
            .and_then(|shared| Ok((map(sandbox, worker, memory.address(), &exported)?, shared)));
        match mapped {
            Ok((handle, shared)) => {
                let address = memory.address();
                let handle = NonZeroU64::new(handle).context(NO_HANDLE)?;
                Ok(Some(Memory {
                    backing: Backing::Shared { memory, _shared: shared },
                    address,
                    handle,
                }))
            }
            Err(error) if error.code() == DocaError::NOT_SUPPORTED => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn exported(len: usize, sandbox: &Client<Host>, worker: &Worker) -> Result<Memory> {
        const REFUSAL: &str = "the worker, or its plugin, is not this kit's, so it reaches memory of \
                               this process by an exported handle of UCX alone, and UCX made none: \
                               leave --registered out, have the service find the kit's plugin, or \
                               see the guide's page about exported memory";
        let context = ucx::Context::new(Features::EXPORTED_MEMH).context(REFUSAL)?;
        // The emulation of exported handles needs at least a page.
        let memory = ucx::Memory::map(&context, vec![0; len.max(4096)])?;
        let exported = memory.export().context(REFUSAL)?;
        let address = memory.address();
        let handle = map(sandbox, worker, address, &exported)?;
        let handle = NonZeroU64::new(handle).context(NO_HANDLE)?;
        Ok(Memory { backing: Backing::Exported(memory), address, handle })
    }

    fn part(&self, start: usize, len: usize) -> Registered {
        Registered { memory: self.handle, address: self.address + start as u64, len: len as u64 }
    }

    fn write(&self, from: &[u8]) -> Result<()> {
        match &self.backing {
            Backing::Shared { memory, .. } => memory.view().copy_from(0, from)?,
            Backing::Exported(memory) => memory.write(0, from),
        }
        Ok(())
    }

    fn read(&self, start: usize, to: &mut [u8]) -> Result<()> {
        match &self.backing {
            Backing::Shared { memory, .. } => memory.view().copy_to(start as u64, to)?,
            Backing::Exported(memory) => memory.read(start, to),
        }
        Ok(())
    }
}

const NO_HANDLE: &str = "the plugin gave no handle for the memory";

fn map(
    sandbox: &Client<Host>,
    worker: &Worker,
    address: u64,
    exported: &[u8],
) -> urom_host::Result<u64> {
    let task = sandbox.task_mem_map(worker, MapParams::exported(address)).exported_memh(exported);
    Ok(task.submit()?.wait()?.memh_id)
}
