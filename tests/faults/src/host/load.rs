//! Keeps a worker busy, with a ledger that opens and closes each task once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use faulty_protocol::Client;
use urom_host::{Host, Result, Worker};

use super::pace::Meter;
use super::words::{Kind, Said, Tally, Trouble, Word};
use crate::measure::now;

/// One in this number of commands is slow in the worker.
const SLOW: u8 = 24;

pub(super) struct Load {
    worker: Rc<Worker>,
    plugin: Client<Host>,
    kind: Kind,
    random: RefCell<fastrand::Rng>,
    ledger: RefCell<Ledger>,
    meter: RefCell<Meter>,
    mark: Cell<u64>,
    halted: Cell<bool>,
    over: Cell<bool>,
}

struct Open {
    value: Option<u64>,
    since: u64,
}

#[derive(Default)]
struct Ledger {
    last: u64,
    open: HashMap<u64, Open>,
    errors: BTreeMap<Trouble, u64>,
    tally: Tally,
}

impl Ledger {
    fn open(&mut self, value: Option<u64>) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Open { value, since: now() });
        self.last
    }

    /// Submission time of the oldest task in flight that should be answered at once.
    fn oldest(&self) -> Option<u64> {
        self.open.values().filter(|open| open.value.is_some()).map(|open| open.since).min()
    }

    /// Records how a task ended; returns whether it ended with its value.
    fn close(&mut self, task: u64, end: Result<u64>, meter: &mut Meter) -> bool {
        self.tally.last_end = now();
        let Some(Open { value: expected, since }) = self.open.remove(&task) else {
            self.tally.violations.push(format!("task {task} ended again, with {end:?}"));
            return false;
        };
        match end {
            Ok(value) if expected.is_none_or(|expected| expected == value) => {
                self.tally.values += 1;
                // The other commands take a requested time.
                if expected.is_some() {
                    meter.add(self.tally.last_end.saturating_sub(since));
                }
                true
            }
            Ok(value) => {
                self.tally
                    .violations
                    .push(format!("task {task} ended with {value}, not {expected:?}"));
                false
            }
            Err(error) => {
                *self.errors.entry(error.into()).or_default() += 1;
                false
            }
        }
    }
}

impl Load {
    pub(super) fn begin(
        worker: Rc<Worker>,
        plugin: Client<Host>,
        kind: Kind,
        in_flight: u32,
        seed: u64,
    ) -> Rc<Load> {
        let load = Rc::new(Load {
            worker,
            plugin,
            kind,
            random: RefCell::new(fastrand::Rng::with_seed(seed)),
            ledger: RefCell::default(),
            meter: RefCell::new(Meter::new()),
            mark: Cell::new(0),
            halted: Cell::new(false),
            over: Cell::new(false),
        });
        (0..in_flight).for_each(|_| load.submit());
        load
    }

    fn submit(self: &Rc<Load>) {
        let (value, times, slow) = {
            let mut random = self.random.borrow_mut();
            (random.u64(..), random.u32(1..8), random.u8(0..SLOW))
        };
        let (plugin, worker) = (&self.plugin, &*self.worker);
        let open = |value| self.ledger.borrow_mut().open(value);
        let me = Rc::clone(self);
        let (task, submitted) = match (self.kind, slow) {
            (Kind::Idle, _) => {
                let task = open(None);
                (
                    task,
                    plugin.task_hang(worker).submit_with(move |end| me.ended(task, end.map(|_| 0))),
                )
            }
            (Kind::Busy, 0) => {
                // The answer is the time that the command took.
                let task = open(None);
                let sleep = plugin.task_sleep(worker, times * 100);
                (task, sleep.submit_with(move |end| me.ended(task, end.map(|answer| answer.data))))
            }
            (Kind::Busy, 1) => {
                let task = open(Some(value));
                let through = plugin.task_yield(worker, times, value);
                (
                    task,
                    through.submit_with(move |end| me.ended(task, end.map(|answer| answer.data))),
                )
            }
            (Kind::Busy, _) => {
                let task = open(Some(value));
                let echo = plugin.task_echo(worker, value);
                (task, echo.submit_with(move |end| me.ended(task, end.map(|answer| answer.data))))
            }
        };
        if let Err(error) = submitted {
            self.ended(task, Err(error));
        }
    }

    fn ended(self: &Rc<Load>, task: u64, end: Result<u64>) {
        let good = self.ledger.borrow_mut().close(task, end, &mut self.meter.borrow_mut());
        if !good {
            self.halted.set(true);
        } else if self.mark.get() > 0 {
            self.mark.set(self.mark.get() - 1);
            if self.mark.get() == 0 {
                Word::Of(self.worker.id(), Said::Marked).say();
            }
        }
        if self.halted.get() {
            self.check_over();
        } else {
            self.submit();
        }
    }

    pub(super) fn mark(&self, commands: u64) {
        self.mark.set(commands);
    }

    pub(super) fn pace(&self) {
        let pace = self.meter.borrow_mut().take(self.ledger.borrow().oldest());
        Word::Of(self.worker.id(), Said::Paced(pace)).say();
    }

    pub(super) fn halt(&self) {
        self.halted.set(true);
        self.check_over();
    }

    fn check_over(&self) {
        let mut ledger = self.ledger.borrow_mut();
        if ledger.open.is_empty() && !self.over.replace(true) {
            ledger.tally.errors = std::mem::take(&mut ledger.errors).into_iter().collect();
            Word::Of(self.worker.id(), Said::Over(ledger.tally.clone())).say();
        } else if let (true, Some(violation)) = (self.over.get(), ledger.tally.violations.last()) {
            // Too late for the tally. An unexpected word fails the round.
            let tally = Tally { violations: vec![violation.clone()], ..Tally::default() };
            Word::Of(self.worker.id(), Said::Over(tally)).say();
        }
    }
}
