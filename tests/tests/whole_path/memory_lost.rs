//! Hosts that die, stop, or unmap their memory during a command, on each path and with each
//! operation: only their own commands fail.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use urom_host::Worker;
use urom_host::memory::{MemoryPath, Mmap, Share};

use crate::host_process::HostProcess;
use crate::memory::Reached;
use crate::paths::{self, BOTH, PATHS};
use crate::provider::{Given, Provider};

/// Operations of `Churn`: read, read and write, add.
const KINDS: std::ops::Range<u64> = 0..3;

const LIMIT: Duration = Duration::from_secs(20);

/// A process with a running command on its memory, in worker `id` or a new worker.
fn churning(
    provider: &Provider,
    worker: &Worker,
    path: MemoryPath,
    kind: u64,
) -> Result<HostProcess> {
    let arguments = [worker.id(), path.0.into(), kind].map(|number: u64| number.to_string());
    let arguments = arguments.each_ref().map(String::as_str);
    let mut other = HostProcess::start(provider, "churned_host", &arguments)?;
    assert_eq!(other.line()?, path.name());
    Ok(other)
}

fn order(other: &mut HostProcess, order: &str) -> Result<String> {
    other.tell(order)?;
    other.line()
}

/// A host of the same worker, which must not be affected.
impl Reached {
    fn churning(&self) -> Result<u64> {
        Ok(self.plugin.task_churning(&self.worker).submit()?.wait()?.value)
    }

    fn until_none(&self, what: &str) -> Result<()> {
        let start = Instant::now();
        while self.churning()? > 0 {
            ensure!(start.elapsed() < LIMIT, "the command did not end: {what}");
        }
        Ok(())
    }

    fn is_served(&self) -> Result<()> {
        for path in PATHS {
            let memory = Mmap::allocate(4096, BOTH)?;
            let shared = memory.share_from(&self.worker, path).wait()?;
            let write = self.plugin.task_write(&self.worker, shared.range(), 8, b"bystands");
            write.submit()?.wait()?;
            assert_eq!(memory.view().get::<[u8; 8]>(1)?, *b"bystands");
            shared.unshare().wait()?;
        }
        Ok(())
    }
}

pub(crate) fn a_host_that_is_killed_takes_nothing_from_another(provider: &Provider) -> Result<()> {
    let bystander = Reached::given(provider)?;
    for path in PATHS {
        for kind in [1, 2] {
            let other = churning(provider, &bystander.worker, path, kind)?;
            assert_eq!(bystander.churning()?, 1);
            other.signal(Signal::KILL)?;
            bystander.until_none(&format!("{} {kind}", path.name()))?;
            bystander.is_served()?;
        }
    }
    Ok(())
}

pub(crate) fn a_host_that_is_stopped_for_a_moment_loses_nothing(provider: &Provider) -> Result<()> {
    let bystander = Reached::given(provider)?;
    for path in PATHS {
        let mut other = churning(provider, &bystander.worker, path, 1)?;
        for _ in 0..3 {
            other.signal(Signal::STOP)?;
            bystander.is_served()?;
            assert_eq!(bystander.churning()?, 1, "{}", path.name());
            other.signal(Signal::CONT)?;
        }
        assert_eq!(order(&mut other, "finish")?, "well", "{}", path.name());
    }
    Ok(())
}

pub(crate) fn a_host_that_is_killed_while_it_is_stopped_is_lost(provider: &Provider) -> Result<()> {
    let bystander = Reached::given(provider)?;
    let other = churning(provider, &bystander.worker, MemoryPath::NETWORK, 1)?;
    other.signal(Signal::STOP)?;
    assert_eq!(bystander.churning()?, 1);
    drop(other);
    bystander.until_none("network")?;
    bystander.is_served()
}

pub(crate) fn memory_that_its_host_unmaps_costs_its_commands_alone(
    provider: &Provider,
) -> Result<()> {
    let bystander = Reached::given(provider)?;
    for kind in KINDS {
        let mut other = churning(provider, &bystander.worker, MemoryPath::MAPPED, kind)?;
        // The worker still maps it.
        assert_eq!(order(&mut other, "unmap")?, "it reads [0, 0, 0, 0, 0, 0, 0, 0]");
        assert_eq!(bystander.churning()?, 1);
        drop(other);
        bystander.until_none("mapped")?;
        if kind < 2 {
            let mut other = churning(provider, &bystander.worker, MemoryPath::PROCESS, kind)?;
            assert_eq!(order(&mut other, "unmap")?, "it failed with DOCA_ERROR_IO_FAILED");
        }
        // Its own library accesses the bytes: it crashes, or the worker connection is lost.
        let mut other = churning(provider, &bystander.worker, MemoryPath::NETWORK, kind)?;
        let said = order(&mut other, "unmap")?;
        assert!(["", "it failed with DOCA_ERROR_CONNECTION_RESET"].contains(&&*said), "{said}");
        bystander.until_none("network")?;
        bystander.is_served()?;
    }
    Ok(())
}

pub(crate) fn memory_that_is_mapped_cannot_be_truncated(provider: &Provider) -> Result<()> {
    let bystander = Reached::given(provider)?;
    let mut other = churning(provider, &bystander.worker, MemoryPath::MAPPED, 1)?;
    let refused = order(&mut other, "truncate")?;
    assert!(refused.contains("Operation not permitted"), "{refused}");
    assert_eq!(order(&mut other, "finish")?, "well");
    Ok(())
}

/// The worker writes to the memory, is stopped, dropped by this host, and continues.
pub(crate) fn memory_is_kept_while_a_worker_that_was_dropped_is_stopped(
    provider: &Provider,
) -> Result<()> {
    const LEN: usize = 64 << 10;
    let bystander = Reached::given(provider)?;
    for path in PATHS {
        let Reached { service, plugin, worker } = bystander.joined(provider)?;
        let mut memory = paths::allocate(LEN, BOTH, path)?;
        let shared = paths::share(&memory, &worker, path)?;
        let churn = plugin.task_churn(&worker, shared.range(), 1).submit()?;
        while plugin.task_churning(&worker).submit()?.wait()?.value == 0 {}
        let process = plugin.task_process(&worker).submit()?.wait()?.value;
        let process = Pid::from_raw(i32::try_from(process)?).context("its number")?;
        kill_process(process, Signal::STOP)?;
        drop((worker, shared, churn));
        // Over the network, this program's own library writes.
        if path != MemoryPath::NETWORK {
            assert!(
                memory.try_exclusive_bytes().is_err(),
                "the worker may be in the middle of a write"
            );
        }
        kill_process(process, Signal::CONT)?;
        let start = Instant::now();
        while memory.try_exclusive_bytes().is_err() {
            service.progress();
            ensure!(start.elapsed() < LIMIT, "the memory is kept");
        }
        let bytes = memory.try_exclusive_bytes()?;
        bytes.fill(7);
        // Over the network, this program's library releases the memory; the worker may notice
        // later.
        while path == MemoryPath::NETWORK && bystander.churning()? != 0 {
            ensure!(start.elapsed() < LIMIT, "the worker goes on");
        }
        for _ in 0..3 {
            // Time for the worker to run several rounds.
            assert_eq!(bystander.churning()?, 0);
            assert!(bytes.iter().all(|byte| *byte == 7), "it was written to");
        }
    }
    Ok(())
}

/// A separate process, because other tests would change the counts.
pub(crate) fn a_thousand_shares_leave_no_descriptors_and_mappings(
    provider: &Provider,
) -> Result<()> {
    provider.participants("memory_counts", 1)?.finish()
}
