//! Hand-written programs for whole plugins, as input of the fuzz target `worker_cmd`.

use robustness::plugin::{Step, run};

use crate::samples;

pub(crate) struct Program(pub(crate) Vec<u8>);

impl Program {
    /// A program for a plugin: 0 sandbox, 1 RDMO, 2 UCC.
    pub(crate) fn new(plugin: u8) -> Program {
        Program(vec![plugin])
    }

    pub(crate) fn queue(mut self, behaviour: u8, bytes: &[u8]) -> Program {
        let len = u16::try_from(bytes.len()).expect("commands of programs are short");
        self.0.extend([0, behaviour]);
        self.0.extend(len.to_le_bytes());
        self.0.extend(bytes);
        self
    }

    pub(crate) fn repeat(mut self, behaviour: u8, times: u8) -> Program {
        self.0.extend([2 | (times - 1) << 3, behaviour]);
        self
    }

    pub(crate) fn flush(mut self) -> Program {
        self.0.push(3);
        self
    }

    pub(crate) fn progress(mut self, capacity: u8) -> Program {
        self.0.push(4 | capacity << 3);
        self
    }

    pub(crate) fn wake(mut self, choice: u8, release: bool) -> Program {
        self.0.extend([5 | u8::from(release) << 3, choice]);
        self
    }

    pub(crate) fn ask(mut self, capacity: u8) -> Program {
        self.0.push(6 | capacity << 3);
        self
    }

    pub(crate) fn let_go(mut self, count: u8) -> Program {
        self.0.push(7 | count << 3);
        self
    }

    pub(crate) fn reopen(self) -> Program {
        self.let_go(31)
    }
}

pub(crate) const FAIL: u8 = 5;
pub(crate) const WAIT: u8 = 6;
pub(crate) const WAIT_AND_FAIL: u8 = 7;
pub(crate) const HOLD: u8 = 8;
pub(crate) const HOLD_AND_WAIT: u8 = 9;
pub(crate) const THREE_TURNS: u8 = 10 | 3 << 4;
pub(crate) const PANIC: u8 = 11 | 1 << 4;
pub(crate) const WAIT_AND_PANIC: u8 = 11 | 2 << 4;
pub(crate) const WAIT_AND_PANIC_IN_DROP: u8 = 11 | 3 << 4;
pub(crate) const ANSWER: u8 = 0;

const ALL: [u8; 10] = [
    ANSWER,
    FAIL,
    WAIT,
    WAIT_AND_FAIL,
    HOLD,
    HOLD_AND_WAIT,
    THREE_TURNS,
    PANIC,
    WAIT_AND_PANIC,
    WAIT_AND_PANIC_IN_DROP,
];

fn plugin_of(protocol: u8) -> Option<u8> {
    protocol.checked_sub(1)
}

/// Named programs: one for each command among the samples, and some that close in the middle.
pub(crate) fn programs() -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for (at, sample) in samples::all().into_iter().filter(|sample| sample.is_command).enumerate() {
        let Some(plugin) = plugin_of(sample.protocol) else { continue };
        // Long commands are for the other targets.
        if sample.bytes.len() > 600 {
            continue;
        }
        let behaviour = ALL[at % ALL.len()];
        let program = Program::new(plugin)
            .queue(behaviour, &sample.bytes)
            .repeat(ANSWER, 2)
            .flush()
            .progress((at % 5) as u8)
            .wake(0, false)
            .progress(0)
            .wake(0, true)
            .progress(1)
            .let_go(1)
            .ask((at % 31) as u8);
        all.push((sample.name, program));
    }
    all.extend(endings());
    all
}

fn send() -> Vec<u8> {
    samples::all()
        .into_iter()
        .find(|sample| sample.name.ends_with("TagSend"))
        .expect("a sample")
        .bytes
}

fn endings() -> Vec<(String, Program)> {
    let send = send();
    let start = || Program::new(0).queue(ANSWER, &send);
    let every = ALL.iter().fold(start(), |program, behaviour| program.repeat(*behaviour, 2));
    let every_way =
        ALL.iter().fold(start().flush(), |program, behaviour| program.repeat(*behaviour, 3));
    // More than a chunk of the executor's slots.
    let (lists, wakes) = if cfg!(miri) { (2, 9) } else { (5, 255) };
    let many = (0..lists).fold(start().repeat(WAIT, 1), |program, _| program.repeat(WAIT, 32));
    let woken = (0..=wakes)
        .fold(many.flush().progress(0), |program, choice| program.wake(choice, choice % 3 > 0));
    let named = |name: &str, program: Program| (name.to_owned(), program);
    vec![
        named("closed-before-flush", start().repeat(WAIT, 5)),
        named("closed-before-progress", every.flush()),
        named("closed-while-waiting", every_way.flush().progress(0).wake(3, true).reopen().ask(31)),
        named("many-wait", woken.progress(0).progress(2).let_go(3)),
        named(
            "reopened",
            start().repeat(HOLD, 3).flush().reopen().queue(HOLD_AND_WAIT, &send).flush().let_go(30),
        ),
        named(
            "rubbish",
            Program::new(1).queue(ANSWER, &[]).queue(WAIT, &[1, 0, 0]).flush().progress(3),
        ),
        named(
            "turns",
            start().repeat(THREE_TURNS, 3).flush().progress(0).progress(0).progress(0).progress(0),
        ),
    ]
}

#[test]
fn steps_are_read_as_they_are_written() {
    let program = Program::new(0)
        .queue(7, b"bytes")
        .repeat(8, 32)
        .flush()
        .progress(3)
        .wake(9, true)
        .wake(9, false)
        .ask(31)
        .let_go(30)
        .reopen();
    let mut steps = &program.0[1..];
    let read: Vec<_> = std::iter::from_fn(|| Step::next(&mut steps)).collect();
    let want = [
        Step::Queue { behaviour: 7, bytes: b"bytes" },
        Step::Repeat { behaviour: 8, times: 32 },
        Step::Flush,
        Step::Progress { capacity: 3 },
        Step::Wake { choice: 9, release: true },
        Step::Wake { choice: 9, release: false },
        Step::Ask { capacity: 62 },
        Step::LetGo { count: 30 },
        Step::Reopen,
    ];
    assert_eq!(read, want);
}

#[test]
fn every_program_holds() {
    crate::quiet();
    for (_, program) in programs() {
        run(&program.0);
    }
}

#[test]
fn every_program_holds_wherever_it_is_cut_off() {
    crate::quiet();
    for (_, program) in programs() {
        let step = if cfg!(miri) { program.0.len() * 2 / 3 } else { 7 };
        for len in (step..program.0.len()).step_by(step) {
            run(&program.0[..len]);
        }
    }
}
