//! The rings of an engine's workers: answers are taken from one after the other.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use urom_os::EventFd;
use urom_wire::control::Failure;

use super::Pe;
use crate::failure::failure;
use crate::pe::run::Run;
use crate::pe::run::task::CmdTaskRef;

/// After so many answers UCX, the mailbox and the deadlines have their turn, although more answers
/// may be there. Looks without an answer do not count: a call that takes many answers ends with one,
/// and gives the others no turn.
const IN_A_ROW: u32 = 64;

/// The most frames without an answer that are taken together.
const MOST_UNUSUAL: usize = 64;

pub(super) struct Rings {
    /// Workers end the host's sleep by this descriptor.
    pub(super) bell: EventFd,
    runs: RefCell<Vec<Rc<Run>>>,
    /// The run that is looked at next.
    next: Cell<usize>,
    /// Whether commands were written since the last announcement.
    is_written: Cell<bool>,
    /// How many answers were taken since the last turn of everything else.
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

    /// The next answer of any worker; looks for it so often. Without one, workers that went to
    /// sleep are woken.
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

    /// Looks at each run's ring once at most. `None` when all are empty. An unusual frame is
    /// handled, and answers a command or not.
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

    /// Takes all answers that are there.
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

    /// Whether everything else has its turn.
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

    /// Whether the workers wake this host from now on.
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
    /// A descriptor of the bell, for a worker.
    pub(crate) fn rings_bell(&self) -> Result<EventFd, Failure> {
        let bell = self.rings.bell.try_clone();
        bell.map_err(|error| failure!(OPERATING_SYSTEM, "there is no descriptor left: {error}"))
    }

    pub(crate) fn add_ring(&self, run: Rc<Run>) {
        self.rings.runs.borrow_mut().push(run);
    }

    pub(crate) fn remove_ring(&self, run: &Run) {
        self.rings.runs.borrow_mut().retain(|known| known.channel != run.channel);
        self.rings.next.set(0);
    }

    /// Notes that a command was written, whose worker may be asleep.
    #[inline]
    pub(crate) fn wrote(&self) {
        self.rings.is_written.set(true);
    }
}
