//! The progress engines of this thread, which every wait drives. The list lacks a destructor, so it
//! is valid while thread-locals are destroyed. The last engine frees it.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::{Rc, Weak};
use std::time::Instant;

use super::EngineCore;

thread_local! {
    static ENGINES: ManuallyDrop<RefCell<Vec<Weak<EngineCore>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

pub(super) fn register(engine: &Rc<EngineCore>) {
    ENGINES.with(|engines| {
        let mut engines = engines.borrow_mut();
        engines.retain(|known| known.strong_count() > 0);
        engines.push(Rc::downgrade(engine));
    });
}

pub(super) fn tidy() {
    ENGINES.with(|engines| {
        let mut engines = engines.borrow_mut();
        if engines.iter().all(|known| known.strong_count() == 0) {
            *engines = Vec::new();
        }
    });
}

/// The engines made in this process, without engines made before a fork.
#[inline]
pub(crate) fn each() -> impl Iterator<Item = Rc<EngineCore>> {
    let at = |index| ENGINES.with(|engines| engines.borrow().get(index).map(Weak::upgrade));
    (0..).map_while(at).flatten().filter(|engine| engine.maker.is_here())
}

/// Progresses every engine once. The caller checks the deadlines and resumes panics.
pub(crate) fn pump() -> bool {
    each().fold(false, |moved, engine| engine.pump_many() | moved)
}

/// Ends the tasks past their deadline; returns whether there were any. Keeps panics.
pub(crate) fn expire(now: Instant) -> bool {
    each().fold(false, |ended, engine| engine.deadlines.expire(now) | ended)
}

/// The next deadline of any task, or an earlier time.
pub(crate) fn next_deadline() -> Option<Instant> {
    each().filter_map(|engine| engine.deadlines.next()).min()
}
