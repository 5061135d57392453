//! The rings of an engine's workers, polled in turn.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use urom_os::EventFd;
use urom_wire::control::Failure;

use super::Pe;
use crate::failure::failure;
use crate::pe::run::WorkerRun;
use crate::pe::run::task::CmdTaskRef;

/// Maximum consecutive answers before other work (UCX, mailbox, deadlines) gets a turn. A poll
/// without an answer does not reset the count, because each batch ends with one.
const IN_A_ROW: u32 = 64;

/// Maximum unusual frames handled together.
const MOST_UNUSUAL: usize = 64;

pub(super) struct Rings {
    /// Workers wake the host by this descriptor.
    pub(super) bell: EventFd,
    runs: RefCell<Vec<Rc<WorkerRun>>>,
    next: Cell<usize>,
    is_written: Cell<bool>,
    /// Answers since the last turn of other work.
    in_a_row: Cell<u32>,
}

impl Rings {
    pub(super) fn new() -> io::Result<Rings> {
        Ok(Rings {
            bell: EventFd::new()?,
            runs: RefCell::default(),
            next: Cell::new(0),
            is_written: Cell::new(false),
            in_a_row: Cell::new(0),
        })
    }

    /// Polls for the next answer. Without one, wakes sleeping workers.
    #[inline]
    pub(super) fn take(&self, looks: u32) -> Option<CmdTaskRef> {
        for _ in 0..looks {
            if let Some(Some(answer)) = self.look() {
                self.in_a_row.set(self.in_a_row.get().wrapping_add(1));
                return Some(answer);
            }
        }
        self.announce();
        None
    }

    /// Polls each ring once at most. `None` if all are empty, `Some(None)` for an unrelated frame.
    #[inline]
    fn look(&self) -> Option<Option<CmdTaskRef>> {
        let runs = self.runs.borrow();
        for _ in 0..runs.len() {
            let at = self.next.get();
            self.next.set(if at + 1 < runs.len() { at + 1 } else { 0 });
            let Some(run) = runs.get(at) else { continue };
            match run.take_answer() {
                Ok(None) => {}
                Ok(answer) => return Some(answer),
                Err(unusual) => {
                    let run = Rc::clone(run);
                    drop(runs);
                    return Some(run.handle(unusual));
                }
            }
        }
        None
    }

    pub(super) fn drain(&self, mut take: impl FnMut(CmdTaskRef)) {
        let mut unusual = 0;
        while unusual < MOST_UNUSUAL
            && let Some(answer) = self.look()
        {
            match answer {
                Some(task) => take(task),
                None => unusual += 1,
            }
        }
        self.announce();
    }

    /// Returns whether other work gets a turn.
    #[inline]
    pub(super) fn is_turn_of_others(&self) -> bool {
        let is_turn = self.in_a_row.get() >= IN_A_ROW;
        if is_turn {
            self.in_a_row.set(0);
        }
        is_turn
    }

    #[inline]
    fn announce(&self) {
        if self.is_written.replace(false) {
            self.runs.borrow().iter().for_each(|run| run.announce());
        }
    }

    /// Returns whether the workers will wake this host.
    pub(super) fn sleep(&self) -> bool {
        self.announce();
        self.runs.borrow().iter().all(|run| run.sleep())
    }

    pub(super) fn wake(&self) {
        self.bell.lower();
        self.runs.borrow().iter().for_each(|run| run.wake());
    }
}

impl Pe {
    pub(crate) fn rings_bell(&self) -> Result<EventFd, Failure> {
        let bell = self.rings.bell.try_clone();
        bell.map_err(|error| failure!(OPERATING_SYSTEM, "the descriptors are exhausted: {error}"))
    }

    pub(crate) fn add_ring(&self, run: Rc<WorkerRun>) {
        self.rings.runs.borrow_mut().push(run);
    }

    pub(crate) fn remove_ring(&self, run: &WorkerRun) {
        self.rings.runs.borrow_mut().retain(|known| known.channel != run.channel);
        self.rings.next.set(0);
    }

    /// Records a written command, whose worker may be asleep.
    #[inline]
    pub(crate) fn wrote(&self) {
        self.rings.is_written.set(true);
    }
}
