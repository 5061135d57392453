//! Whole plugins under arbitrary programs: [`run`] drives a plugin through its C functions, as the
//! input requires, and checks the notifications, their order and their bytes at every step.
//!
//! The input's first byte chooses one of three plugins. The rest is a list of steps: one byte,
//! whose low three bits select the [`Step`], and its operands. An incomplete last step is skipped.

mod handlers;
mod script;
mod worker;

use urom_abi::descriptor::NotificationDesc;
use urom_abi::{DocaError, DocaStatus};

use crate::check;
use crate::exact;
use crate::subject::{RDMO, SANDBOX, Subject, UCC};
use handlers::{ADDRESS, Rdmo, Sandbox, Ucc};
use script::{Script, script};
use worker::{PLUGIN_ID, Worker, iface};

/// Limit of a program's waiting commands: more than two chunks of the executor's slots.
const MOST: usize = 150;
const MOST_COMMANDS: usize = 300;

#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Low bits 0 and 1; a behaviour, two bytes of length, and a command: queues the command.
    Queue {
        behaviour: u8,
        bytes: &'a [u8],
    },
    /// Low bits 2; a behaviour: queues the last command again, as often as the high bits require.
    Repeat {
        behaviour: u8,
        times: usize,
    },
    /// Low bits 3: hands the queue to the plugin.
    Flush,
    /// Low bits 4: lets the plugin progress, and packs every notification, by the high bits.
    Progress {
        /// 0: a fitting buffer; 1 and 2: a smaller buffer; 3: NULL; otherwise a larger buffer.
        capacity: u8,
    },
    /// Low bits 5; a choice: wakes a waiting command, and releases it if the high bits are not 0.
    Wake {
        choice: usize,
        release: bool,
    },
    /// Low bits 6: makes queries and wrong calls; the high bits are the size of the address buffer.
    Ask {
        capacity: usize,
    },
    /// Low bits 7: drops held bytes; with high bits 31 closes and reopens the plugin.
    LetGo {
        count: usize,
    },
    Reopen,
}

impl<'a> Step<'a> {
    pub fn next(input: &mut &'a [u8]) -> Option<Step<'a>> {
        let mut byte = || {
            let (first, rest) = input.split_first()?;
            *input = rest;
            Some(*first)
        };
        let first = byte()?;
        let high = first >> 3;
        Some(match first & 7 {
            0 | 1 => {
                let (behaviour, len) = (byte()?, u16::from_le_bytes([byte()?, byte()?]));
                let (bytes, rest) = input.split_at(usize::from(len).min(input.len()));
                *input = rest;
                Step::Queue { behaviour, bytes }
            }
            2 => Step::Repeat { behaviour: byte()?, times: usize::from(high) + 1 },
            3 => Step::Flush,
            4 => Step::Progress { capacity: high },
            5 => Step::Wake { choice: byte()?.into(), release: high != 0 },
            6 => Step::Ask { capacity: usize::from(high) * 2 },
            _ if high == 31 => Step::Reopen,
            _ => Step::LetGo { count: high.into() },
        })
    }
}

pub fn run(input: &[u8]) {
    let Some((choice, mut steps)) = input.split_first() else { return };
    let (subject, iface) = match choice % 3 {
        0 => (&SANDBOX, iface::<Sandbox, sandbox_protocol::Protocol>()),
        1 => (&RDMO, iface::<Rdmo, rdmo_protocol::Protocol>()),
        _ => (&UCC, iface::<Ucc, test_protocols::ucc::Protocol>()),
    };
    let mut run = Run {
        subject,
        worker: Worker::new(iface),
        script: script(),
        last: exact(&[]),
        queued: Vec::new(),
        commands: Vec::new(),
        expected: Vec::new(),
        unanswered: 0,
    };
    run.worker.open();
    while let Some(step) = Step::next(&mut steps) {
        run.step(step);
    }
    run.close();
    run.worker.nonsense();
}

struct Command {
    bytes: Box<[u8]>,
    is_well_formed: bool,
    is_answered: bool,
}

struct Run {
    subject: &'static Subject,
    worker: Worker,
    script: std::rc::Rc<Script>,
    last: Box<[u8]>,
    queued: Vec<u64>,
    commands: Vec<Command>,
    /// Commands that have ended but were not collected, in order.
    expected: Vec<(u64, DocaStatus)>,
    unanswered: usize,
}

impl Run {
    fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Queue { behaviour, bytes } => {
                self.last = exact(bytes);
                self.queue(behaviour);
            }
            Step::Repeat { behaviour, times } => (0..times).for_each(|_| self.queue(behaviour)),
            Step::Flush => self.flush(),
            Step::Progress { capacity } => self.progress(capacity),
            Step::Wake { choice, release } => self.script.wake(choice, release),
            Step::Ask { capacity } => {
                self.worker.nonsense();
                self.worker.addr(capacity, ADDRESS);
            }
            Step::LetGo { count } => self.script.let_go(count),
            Step::Reopen => {
                self.close();
                self.worker.open();
            }
        }
    }

    fn queue(&mut self, behaviour: u8) {
        if self.unanswered + self.queued.len() >= MOST || self.commands.len() >= MOST_COMMANDS {
            return;
        }
        let index = self.commands.len() as u64;
        self.worker.queue(index << 8 | u64::from(behaviour), token(index), &self.last);
        let is_well_formed = (self.subject.command)(&self.last).is_ok();
        self.commands.push(Command {
            bytes: self.last.clone(),
            is_well_formed,
            is_answered: false,
        });
        self.queued.push(index);
    }

    fn flush(&mut self) {
        assert_eq!(self.worker.flush(), DocaStatus::SUCCESS);
        assert_eq!(self.worker.forget_queued(), 0, "the whole list was taken");
        let refused =
            self.queued.iter().filter(|index| !self.commands[**index as usize].is_well_formed);
        let mut ended: Vec<_> = refused.map(|index| (*index, DocaStatus::INVALID_VALUE)).collect();
        ended.extend(self.script.take_ended());
        // Commands that end during the flush end in the list's order.
        ended.sort_unstable_by_key(|(index, _)| *index);
        self.expected.append(&mut ended);
        self.unanswered += self.queued.len();
        self.queued.clear();
    }

    fn progress(&mut self, capacity: u8) {
        let (code, notifications) = self.worker.progress();
        self.expected.extend(self.script.take_ended());
        let want = if self.expected.is_empty() { DocaStatus::EMPTY } else { DocaStatus::SUCCESS };
        assert_eq!((code, notifications.len()), (want, self.expected.len()));
        for ((index, status), notification) in
            std::mem::take(&mut self.expected).into_iter().zip(notifications)
        {
            self.collect(index, status, &notification);
            let whole = 32 + notification.payload().len();
            let capacity = match capacity {
                0 => Some(whole),
                1 => Some(whole - 1),
                2 => Some(whole / 2),
                3 => None,
                more => Some(whole + usize::from(more)),
            };
            self.worker.pack(notification, capacity);
        }
    }

    fn collect(&mut self, index: u64, status: DocaStatus, notification: &NotificationDesc) {
        let header = notification.header();
        assert_eq!((header.plugin_id, header.urom_context), (PLUGIN_ID, token(index)));
        assert_eq!((header.status, notification.dest_id() >> 8), (status, index));
        let command = &mut self.commands[index as usize];
        assert!(!std::mem::replace(&mut command.is_answered, true), "a command has one answer");
        self.unanswered -= 1;
        if status == DocaStatus::SUCCESS {
            check::answers(self.subject, &command.bytes, notification.payload());
        } else {
            assert_eq!(notification.payload(), check::refusal(self.subject, &command.bytes));
        }
    }

    /// Closes the plugin: waiting commands get no answer, and only held bytes remain.
    fn close(&mut self) {
        let waiting = self.unanswered - self.expected.len();
        assert_eq!(self.script.running.get(), waiting, "what has not ended waits");
        self.worker.close();
        assert_eq!((self.script.running.get(), self.script.handlers.get()), (0, 0));
        assert!(self.script.take_ended().is_empty(), "what is dropped did not end");
        // A closed plugin rejects the list, which stays with the worker.
        assert_eq!(self.worker.flush(), DocaError::INVALID_VALUE);
        assert_eq!(self.worker.forget_queued(), self.queued.len());
        assert_eq!(self.worker.progress().0, DocaError::INVALID_VALUE);
        // Wakers and held bytes outlive the close.
        self.script.wake(0, true);
        self.worker.close();
        self.script.reset();
        self.queued.clear();
        self.expected.clear();
        self.unanswered = 0;
    }
}

/// Returns the host's token of a command, unlike any other value.
fn token(index: u64) -> u64 {
    !index.rotate_left(17)
}
