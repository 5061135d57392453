//! The hosts of a recording: connections to one worker, with their memory.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use urom_abi::describe::Messages;
use urom_host::memory::{Access, MemoryShare, Mmap, Share};
use urom_host::{Plugin, RawCompletion, Service, Worker, block_on_for};
use urom_message::ranges;
use urom_recording::{RecordedMemory, RecordingExtent};

use super::report::RecordedCommand;

/// Limit of a host's tasks in flight.
const MOST_TASKS: usize = 1 << 16;

pub(super) struct RecordedHosts<'a> {
    service: &'a Service,
    plugin: Plugin,
    extent: &'a RecordingExtent,
    worker: u64,
    hosts: HashMap<u64, Worker>,
    memory: HashMap<RecordedMemory, (Mmap, MemoryShare)>,
    /// Keeps the worker between two hosts.
    first: Worker,
}

impl<'a> RecordedHosts<'a> {
    pub(super) fn start(
        service: &'a Service,
        plugin: &str,
        worker: u64,
        extent: &'a RecordingExtent,
    ) -> Result<RecordedHosts<'a>> {
        let plugin = service.plugin_named(plugin)?;
        let first = service.worker().plugin(plugin).id(worker).start().wait()?;
        let (hosts, memory) = (HashMap::new(), HashMap::new());
        Ok(RecordedHosts { service, plugin, extent, worker, hosts, memory, first })
    }

    fn host(&mut self, host: u64) -> Result<&Worker> {
        if !self.hosts.contains_key(&host) {
            let tasks = self.extent.most_in_flight.clamp(1, MOST_TASKS).next_power_of_two();
            let worker = self.service.worker().plugin(self.plugin).id(self.worker);
            let worker = worker.max_inflight(u32::try_from(tasks).unwrap_or(u32::MAX));
            let started =
                worker.start().wait().context("a host of the recording cannot connect")?;
            self.hosts.insert(host, started);
        }
        Ok(&self.hosts[&host])
    }

    pub(super) fn fill(&mut self, memory: RecordedMemory, offset: u64, bytes: &[u8]) -> Result<()> {
        // The extent leaves out memory above the limit, and that of a file that grows.
        let Some(&len) = self.extent.memory.get(&memory) else { return Ok(()) };
        if !self.memory.contains_key(&memory) {
            let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
            let map = Mmap::allocate(len as usize, access)?;
            let shared = map.share(self.host(memory.host)?).wait()?;
            self.memory.insert(memory, (map, shared));
        }
        let (map, _) = &self.memory[&memory];
        Ok(map.view().copy_from(offset, bytes)?)
    }

    /// Returns the bytes of a command with the memory of this replay; `None` if its memory was not
    /// recorded.
    pub(super) fn with_memory(
        &self,
        commands: Option<&Messages>,
        command: &RecordedCommand,
    ) -> Option<Vec<u8>> {
        let mut bytes = command.bytes.clone();
        for named in commands.map(|it| ranges(it, &bytes)).unwrap_or_default() {
            let memory = RecordedMemory { host: command.host, memory: named.range.memory };
            let id = self.memory.get(&memory)?.1.range().memory.to_ne_bytes();
            bytes[named.at..][..id.len()].copy_from_slice(&id);
        }
        Some(bytes)
    }

    pub(super) fn submit(
        &mut self,
        host: u64,
        bytes: &[u8],
        limit: Option<Duration>,
    ) -> Result<RawCompletion> {
        let plugin = self.plugin;
        let worker = self.host(host)?;
        let task = worker.task(plugin, bytes);
        let task = limit.into_iter().fold(task, |task, limit| task.timeout(limit));
        task.submit().map_err(|error| match worker.failure() {
            Some(failure) => anyhow::Error::msg(failure),
            None => error.into(),
        })
    }

    /// Returns why the worker was lost, if it was.
    pub(super) fn failure(&self, host: u64) -> Option<String> {
        self.hosts.get(&host)?.failure()
    }

    /// Returns why the worker ended, if it did.
    pub(super) fn lost(&self) -> Option<String> {
        self.first.failure()
    }

    pub(super) fn leave(&mut self, host: u64) {
        self.memory.retain(|memory, _| memory.host != host);
        drop(self.hosts.remove(&host));
    }

    /// Ends the worker. The service ends next, which also ends a worker that fails here.
    pub(super) fn stop(self, limit: Duration) {
        drop((self.memory, self.hosts));
        let _ = block_on_for(limit, self.first.stop());
    }
}
