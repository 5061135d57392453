//! A counted run of loopbacks, each with its own value that must come back.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use graph_protocol::{Client, LoopbackDone};
use urom_host::{Host, Result, Worker};

use super::words::{Said, Tally, Trouble, Word};
use crate::measure::now;

/// Number of progress reports in a run.
pub(crate) const MARKS: u64 = 100;

/// A run on a worker. A task's callback is called at most once, so as many calls as commands mean
/// that each was called.
pub(super) struct Loopbacks {
    worker: Rc<Worker>,
    plugin: Client<Host>,
    commands: u64,
    left: Cell<u64>,
    open: Cell<u64>,
    good: Cell<u64>,
    until_mark: Cell<u64>,
    seed: u64,
    errors: RefCell<BTreeMap<Trouble, u64>>,
    tally: RefCell<Tally>,
}

impl Loopbacks {
    pub(super) fn begin(
        worker: Rc<Worker>,
        plugin: Client<Host>,
        commands: u64,
        in_flight: u32,
        seed: u64,
    ) {
        let until_mark = Cell::new(mark_length(commands));
        let (left, open) = (Cell::new(commands), Cell::new(0));
        let (errors, tally) = (RefCell::default(), RefCell::default());
        let run = Rc::new(Loopbacks {
            worker,
            plugin,
            commands,
            left,
            open,
            good: Cell::new(0),
            until_mark,
            seed,
            errors,
            tally,
        });
        (0..in_flight).for_each(|_| run.submit());
    }

    fn submit(self: &Rc<Self>) {
        let Some(left) = self.left.get().checked_sub(1) else { return };
        self.left.set(left);
        self.open.set(self.open.get() + 1);
        let value = mix(self.seed.wrapping_add(left));
        let me = Rc::clone(self);
        let loopback = self.plugin.task_loopback(&self.worker, value);
        if let Err(error) = loopback.submit_with(move |end| me.end(value, end)) {
            self.end(value, Err(error));
        }
    }

    fn end(self: &Rc<Self>, value: u64, end: Result<LoopbackDone>) {
        match end {
            Ok(done) if done.data == value => self.good.set(self.good.get() + 1),
            Ok(done) => {
                let violation = format!("{} came back instead of {value}", done.data);
                self.tally.borrow_mut().violations.push(violation);
                self.give_up();
            }
            Err(error) => {
                self.fail(error.into());
                self.give_up();
            }
        }
        self.open.set(self.open.get() - 1);
        self.until_mark.set(self.until_mark.get() - 1);
        if self.until_mark.get() == 0 {
            self.until_mark.set(mark_length(self.commands));
            Word::Of(self.worker.id(), Said::Marked).say();
        }
        self.submit();
        if self.open.get() == 0 {
            self.over();
        }
    }

    #[cold]
    fn fail(&self, trouble: Trouble) {
        *self.errors.borrow_mut().entry(trouble).or_default() += 1;
    }

    #[cold]
    fn give_up(&self) {
        self.left.set(0);
    }

    #[cold]
    fn over(&self) {
        let mut tally = std::mem::take(&mut *self.tally.borrow_mut());
        tally.errors = self.errors.take().into_iter().collect();
        tally.values = self.good.get();
        tally.last_end = now();
        Word::Of(self.worker.id(), Said::Over(tally)).say();
    }
}

fn mark_length(commands: u64) -> u64 {
    commands.div_ceil(MARKS).max(1)
}

/// Maps numbers one to one, and neighbours far apart (the last steps of SplitMix64).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_commands_have_the_same_value() {
        assert_eq!((0..10_000).map(mix).collect::<HashSet<_>>().len(), 10_000);
    }
}
