//! Plays a recording to a plugin, step by step.

use std::collections::HashMap;
use std::io::Read;
use std::rc::Rc;
use std::time::{Duration, Instant};

use urom_abi::DocaStatus;
use urom_abi::describe::Protocol;
use urom_abi::extension::{CancelReason, PluginExtension};
use urom_abi::host_memory::MemoryPath;
use urom_abi::memory::Access;
use urom_abi::plugin::PluginIface;
use urom_message::{AnswerRef, answer_difference, ranges};
use urom_recording::{ReadError, RecordedMemory, RecordingExtent, Step, Steps};

use super::domain::Domain;
use super::instance::TestInstance;
use super::ledger::Notification;
use super::memory::PlayedMemory;
use super::recording::{Difference, Replay};
use super::worker::TIMEOUT;
use crate::time::clock;

pub(super) struct Player<'a> {
    protocol: &'static Protocol,
    instance: Rc<TestInstance>,
    ignored: &'a [String],
    /// The recorded time.
    at: u64,
    /// The connection of each host that has not left.
    connections: HashMap<u64, u64>,
    memories: HashMap<RecordedMemory, Rc<PlayedMemory>>,
    extent: RecordingExtent,
    /// Commands without a compared answer, by number.
    sent: HashMap<u64, SentCommand>,
    compared: u64,
    skipped: u64,
    /// Whether an answer did not come within the timeout.
    is_late: bool,
    differences: Vec<Difference>,
}

struct SentCommand {
    host: u64,
    name: &'static str,
    token: u64,
}

impl<'a> Player<'a> {
    #[track_caller]
    pub(super) fn open(
        protocol: &'static Protocol,
        functions: (PluginIface, PluginExtension),
        extent: RecordingExtent,
        ignored: &'a [String],
    ) -> Player<'a> {
        // SAFETY: the functions of a plugin of this kit in this program.
        let opened =
            unsafe { TestInstance::open(functions, protocol, true, Domain::new().world()) };
        let instance =
            opened.unwrap_or_else(|code| panic!("plugin {} did not open: {code}", protocol.name));
        Player {
            protocol,
            instance,
            ignored,
            at: 0,
            connections: HashMap::new(),
            memories: HashMap::new(),
            extent,
            sent: HashMap::new(),
            compared: 0,
            skipped: 0,
            is_late: false,
            differences: Vec::new(),
        }
    }

    pub(super) fn play<R: Read>(mut self, mut steps: Steps<R>) -> Result<Replay, ReadError> {
        while let Some(step) = steps.step()? {
            match step {
                Step::Memory { memory, offset, bytes } => self.fill(memory, offset, &bytes),
                Step::Command { at, number, host, bytes } => {
                    self.advance(at);
                    self.send(number, host, bytes);
                }
                Step::Answer { at, number, status, payload, text } => {
                    self.advance(at);
                    let status = DocaStatus(status);
                    let payload = payload.as_deref();
                    self.compare(number, AnswerRef { status, payload, text: &text });
                }
                Step::Cancel { at, number, is_late } => {
                    self.advance(at);
                    let reason =
                        if is_late { CancelReason::TIMED_OUT } else { CancelReason::CANCELLED };
                    if let Some(sent) = self.sent.get(&number) {
                        self.instance.cancel(sent.token, reason);
                    }
                }
                Step::HostLeft { at, host } => {
                    self.advance(at);
                    self.leave(host);
                }
                _ => {}
            }
        }
        Ok(self.end())
    }

    fn advance(&mut self, at: u64) {
        clock::advance(Duration::from_nanos(at.saturating_sub(self.at)));
        self.at = self.at.max(at);
        self.instance.world.progress();
    }

    /// Returns the connection of a recorded host: its number, unless a host with it has left.
    fn connection(&mut self, host: u64) -> u64 {
        let instance = &self.instance;
        *self.connections.entry(host).or_insert_with(|| {
            let mut free = std::iter::once(host).chain((1..).map(|more: u64| !more));
            free.find(|connection| !instance.has_left(*connection)).unwrap_or(host)
        })
    }

    fn fill(&mut self, memory: RecordedMemory, offset: u64, bytes: &[u8]) {
        // The extent leaves out memory above the limit, and that of a file that grows.
        let Some(&len) = self.extent.memory.get(&memory) else { return };
        let connection = self.connection(memory.host);
        let memories = &self.instance.services.memories;
        let shared = self.memories.entry(memory).or_insert_with(|| {
            let zeros = vec![0; len as usize];
            memories.share(connection, &zeros, Access::PCI_READ_WRITE, MemoryPath::MAPPED)
        });
        // Only the bytes of a file that grows are outside.
        let _ = shared.view().copy_from(offset, bytes);
    }

    fn send(&mut self, number: u64, host: u64, mut bytes: Vec<u8>) {
        let commands = &self.protocol.commands;
        let name = commands.find(&bytes).map_or("unknown command", |variant| variant.name);
        for named in ranges(commands, &bytes) {
            let memory = RecordedMemory { host, memory: named.range.memory };
            let Some(shared) = self.memories.get(&memory) else {
                self.skipped += 1;
                return;
            };
            let id = shared.range().memory.to_ne_bytes();
            bytes[named.at..][..id.len()].copy_from_slice(&id);
        }
        let connection = self.connection(host);
        let token = self.instance.queue(connection, &bytes);
        self.instance.flush();
        self.sent.insert(number, SentCommand { host, name, token });
    }

    fn compare(&mut self, number: u64, recorded: AnswerRef<'_>) {
        let Some(sent) = self.sent.remove(&number) else { return };
        self.compared += 1;
        let answer = self.wait(sent.token);
        let text = match &answer {
            None => Some(format!("no answer within {TIMEOUT:?}; recorded: one")),
            Some(Notification { status, bytes }) => {
                let failures = self.instance.services.failures.borrow();
                let text = failures.get(&sent.token).map_or("", |text| text);
                let replayed = AnswerRef { status: *status, payload: Some(bytes), text };
                let messages = Some(&self.protocol.notifications);
                answer_difference(messages, recorded, replayed, self.ignored)
            }
        };
        let SentCommand { host, name: command, .. } = sent;
        let (recorded, replayed) = (recorded.status, answer.map(|answer| answer.status));
        self.differences.extend(text.map(|text| Difference {
            number,
            command,
            host,
            recorded,
            replayed,
            text,
        }));
    }

    /// After a timeout, later commands are not waited for: the plugin has stopped answering.
    fn wait(&mut self, token: u64) -> Option<Notification> {
        let limit = if self.is_late { Duration::ZERO } else { TIMEOUT };
        let until = Instant::now() + limit;
        loop {
            if let Some(answer) = self.instance.ledger().take(token) {
                return Some(answer);
            }
            if self.instance.world.progress() == 0 {
                if Instant::now() >= until {
                    self.is_late = true;
                    return None;
                }
                std::thread::yield_now();
            }
        }
    }

    fn leave(&mut self, host: u64) {
        self.memories.retain(|memory, _| memory.host != host);
        self.sent.retain(|_, sent| sent.host != host);
        if let Some(connection) = self.connections.remove(&host) {
            self.instance.leave(connection);
        }
    }

    fn end(self) -> Replay {
        self.instance.world.progress();
        // The recording ends before their answers.
        self.instance.ledger().cut_off();
        self.instance.close();
        Replay {
            commands: self.extent.commands,
            compared: self.compared,
            skipped: self.skipped,
            lost: self.extent.lost,
            differences: self.differences,
            report: self.instance.report(),
        }
    }
}
