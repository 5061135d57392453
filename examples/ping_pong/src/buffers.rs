//! Where messages lie in this process: in commands and their answers, or in memory that the plugin
//! reaches through UCX.

use std::num::NonZeroU64;
use std::task::Waker;
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use sandbox_protocol::{Client, MapParams};
use ucx::{Context, Features, Memory};
use urom_host::{Data, Host, Received, Registered, Worker};

/// The message that goes out, and where messages come in.
pub(crate) struct Buffers {
    /// The message that goes out, or one that came in while it is looked at.
    bytes: Vec<u8>,
    shared: Option<Shared>,
}

/// Memory that the plugin reaches: the message that goes out, and two that come in by turns, so
/// that there is room for the next one while the last is looked at.
struct Shared {
    worker: ucx::Worker,
    memory: Memory,
    /// The plugin's name for it.
    handle: NonZeroU64,
}

impl Buffers {
    /// Messages of `len` bytes travel in commands and answers.
    pub(crate) fn inline(len: usize) -> Buffers {
        Buffers { bytes: vec![0; len], shared: None }
    }

    /// They lie in memory that is registered here and with the plugin of `worker`.
    pub(crate) fn registered(
        len: usize,
        sandbox: &Client<Host>,
        worker: &Worker,
    ) -> Result<Buffers> {
        check_windows(sandbox, worker)?;
        let context = Context::new(Features::RMA)?;
        let ours = context.worker()?;
        let memory = Memory::allocate(&context, 3 * len)?;
        let exported = memory.window(&ours)?;
        let params = MapParams::exported(memory.address());
        let mapped =
            sandbox.task_mem_map(worker, params).exported_memh(&exported).submit()?.wait()?;
        let handle =
            NonZeroU64::new(mapped.memh_id).context("the plugin gave no handle for the memory")?;
        Ok(Buffers { bytes: vec![0; len], shared: Some(Shared { worker: ours, memory, handle }) })
    }

    /// Has `fill` write the next message. The last one must be out.
    pub(crate) fn prepare(&mut self, fill: impl FnOnce(&mut [u8])) {
        fill(&mut self.bytes);
        if let Some(shared) = &self.shared {
            shared.memory.write(0, &self.bytes);
        }
    }

    /// The message that goes out, as a command takes it.
    pub(crate) fn outgoing(&self) -> Data<'_> {
        match &self.shared {
            None => Data::Inline(&self.bytes),
            Some(shared) => Data::Registered(shared.part(0, self.bytes.len())),
        }
    }

    /// Where the message of a round comes in, unless that is the answer itself.
    pub(crate) fn incoming(&self, round: u32) -> Option<Registered> {
        let shared = self.shared.as_ref()?;
        Some(shared.part(self.start(round), self.bytes.len()))
    }

    /// Has `check` look at the message that came in.
    pub(crate) fn read(
        &mut self,
        round: u32,
        received: &Received,
        check: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let start = self.start(round);
        match (received, &self.shared) {
            (Received::Inline(bytes), None) => check(bytes),
            (Received::Registered { len }, Some(shared)) => {
                let expected = self.bytes.len();
                ensure!(*len == expected as u64, "{len} bytes came, {expected} were expected");
                shared.memory.read(start, &mut self.bytes);
                check(&self.bytes)
            }
            _ => bail!("the plugin put the message elsewhere than it was told to"),
        }
    }

    /// To be called again and again while waiting: the plugin reaches the memory only while UCX is
    /// at work here.
    pub(crate) fn progress(&self, waker: &Waker) {
        if let Some(shared) = &self.shared {
            if !shared.worker.progress() {
                thread::yield_now();
            }
            waker.wake_by_ref();
        }
    }

    fn start(&self, round: u32) -> usize {
        self.bytes.len() * (1 + round as usize % 2)
    }
}

/// Asks the plugin whether it opens windows: another plugin would take one for a handle of UCX's,
/// and its worker would crash.
fn check_windows(sandbox: &Client<Host>, worker: &Worker) -> Result<()> {
    const REFUSAL: &str = "the service's plugin `worker_sandbox` is not the one of this kit: registered memory of this process \
                           is out of its reach. Leave --registered out, or have the service find the kit's plugin";
    match sandbox.task_mem_map(worker, MapParams::asking_for_windows()).submit()?.wait() {
        Ok(answer) if answer.memh_id == MapParams::TAKES_WINDOWS => Ok(()),
        Ok(_) => bail!(REFUSAL),
        // The plugin answered. That a worker is gone, or that there is no answer in time, is
        // another matter.
        Err(error) if error.reply().is_some() => Err(error).context(REFUSAL),
        Err(error) => Err(error.into()),
    }
}

impl Shared {
    fn part(&self, start: usize, len: usize) -> Registered {
        Registered {
            memory: self.handle,
            address: self.memory.address() + start as u64,
            len: len as u64,
        }
    }
}
