//! The progress engines of this thread, which every wait drives together.
//!
//! The list has no destructor, so it is still there when thread-locals of the program that own
//! workers are destroyed. Its memory is freed with the last engine.

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

/// Frees the list once no engine is left. To be called when one is dropped.
pub(super) fn tidy() {
    ENGINES.with(|engines| {
        let mut engines = engines.borrow_mut();
        if engines.iter().all(|known| known.strong_count() == 0) {
            *engines = Vec::new();
        }
    });
}

/// Those of this process: not what it was forked with.
#[inline]
pub(crate) fn each() -> impl Iterator<Item = Rc<EngineCore>> {
    let at = |index| ENGINES.with(|engines| engines.borrow().get(index).map(Weak::upgrade));
    (0..).map_while(at).flatten().filter(|engine| engine.maker.is_here())
}

/// Progresses every engine once; whether anything moved. The caller looks at the deadlines, and
/// resumes the panics of callbacks.
pub(crate) fn pump() -> bool {
    each().fold(false, |moved, engine| engine.pump_many() | moved)
}

/// Ends the tasks of all engines whose deadline has passed; whether there was one. Keeps panics as
/// [`pump`] does.
pub(crate) fn expire(now: Instant) -> bool {
    each().fold(false, |ended, engine| engine.deadlines().expire(now) | ended)
}

/// The next deadline of any task, or an earlier time.
pub(crate) fn next_deadline() -> Option<Instant> {
    each().filter_map(|engine| engine.deadlines().next()).min()
}
