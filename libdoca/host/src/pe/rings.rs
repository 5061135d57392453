//! The rings of an engine's workers: answers are taken from one after the other.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use urom_os::EventFd;
use urom_wire::control::Failure;

use super::Pe;
use crate::failure::failure;
use crate::pe::run::Run;
use crate::pe::run::answers::Unusual;
use crate::pe::run::task::CmdTaskRef;

/// After so many answers UCX, the mailbox and the deadlines have their turn, although more answers
/// may be there.
const IN_A_ROW: u32 = 64;

/// The most unusual frames that one look skips.
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

    /// Takes the next answer.
    #[inline]
    fn take(&self) -> Option<CmdTaskRef> {
        match self.look() {
            Ok(answer) => answer,
            Err(unusual) => self.take_behind(unusual),
        }
    }

    /// Handles unusual frames up to the next answer, but not without end.
    #[cold]
    fn take_behind(&self, (run, unusual): (Rc<Run>, Unusual)) -> Option<CmdTaskRef> {
        let mut answer = run.handle(unusual);
        for _ in 0..MOST_UNUSUAL {
            if answer.is_some() {
                break;
            }
            match self.look() {
                Ok(next) => return next,
                Err((run, unusual)) => answer = run.handle(unusual),
            }
        }
        answer
    }

    /// Looks at each run's ring once at most, for an answer or an unusual frame.
    #[inline]
    fn look(&self) -> Result<Option<CmdTaskRef>, (Rc<Run>, Unusual)> {
        let runs = self.runs.borrow();
        for _ in 0..runs.len() {
            let at = self.next.get();
            self.next.set(if at + 1 < runs.len() { at + 1 } else { 0 });
            let Some(run) = runs.get(at) else { continue };
            match run.take_answer() {
                Ok(None) => {}
                Ok(answer) => return Ok(answer),
                Err(unusual) => return Err((Rc::clone(run), unusual)),
            }
        }
        Ok(None)
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

    /// The next answer of any worker; looks for it so often. Without one, workers that went to
    /// sleep are woken.
    #[inline]
    pub(super) fn take_answer(&self, looks: u32) -> Option<CmdTaskRef> {
        for _ in 0..looks {
            let answer = self.rings.take();
            if answer.is_some() {
                self.rings.in_a_row.set(self.rings.in_a_row.get().wrapping_add(1));
                return answer;
            }
        }
        self.rings.announce();
        None
    }

    /// Takes all answers that are there, for later calls of progress.
    pub(super) fn receive_from_rings(&self) {
        while let Some(task) = self.take_answer(1) {
            self.push_command(task);
        }
    }
}
