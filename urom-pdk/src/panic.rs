//! Panics stop here: none crosses into C, and none takes another command with it.
//!
//! Rust tells the place of a panic to its hook only. So [`keep`], which the hook calls, leaves the
//! place for [`contain`], which catches the panic.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind};

use urom_os::panics;

/// The file of [`contain`], as it is in backtraces.
pub(crate) const FILE: &str = file!();

#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeLocation<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: u32,
}

impl<'a> CodeLocation<'a> {
    pub(crate) fn of(location: &'a Location<'_>) -> CodeLocation<'a> {
        CodeLocation { file: location.file(), line: location.line() }
    }
}

/// A panic that was caught; boxed, so that a result with it is small.
#[derive(Debug)]
pub(crate) struct Panic(Box<Kept>);

#[derive(Debug)]
struct Kept {
    said: String,
    /// The file, the line and the column; nothing where the hook saw another one.
    place: Option<(String, u32, u32)>,
    /// Disabled unless the environment asks for one (`RUST_BACKTRACE`).
    backtrace: Backtrace,
}

impl Panic {
    pub(crate) fn place(&self) -> Option<CodeLocation<'_>> {
        self.0.place.as_ref().map(|(file, line, _)| CodeLocation { file, line: *line })
    }

    /// Its backtrace as Rust prints it, where the environment asks for one.
    pub(crate) fn backtrace(&self) -> Option<String> {
        let is_there = self.0.backtrace.status() == BacktraceStatus::Captured;
        is_there.then(|| self.0.backtrace.to_string())
    }
}

/// `panicked at src/lib.rs:12:5: what it said`.
impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("panicked")?;
        if let Some((file, line, column)) = &self.0.place {
            write!(f, " at {file}:{line}:{column}")?;
        }
        write!(f, ": {}", self.0.said)
    }
}

/// Runs `body`; a panic becomes an error, to be logged by the caller.
///
/// What `body` borrows may be left half-changed: callers discard it (a future that panicked is
/// dropped, never polled). Without a panic this costs nothing, so commands may pass through it.
#[inline]
pub(crate) fn contain<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(body)).map_err(caught)
}

thread_local! {
    /// The last panic that the hook kept for whoever catches it.
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// What became of a panic that the hook saw.
pub(crate) enum Seen {
    /// It waits for whoever catches it.
    Waits,
    /// It waits in place of one that nobody has caught.
    Replaces(Panic),
    /// The thread ends, and has no place for it.
    Nowhere,
}

pub(crate) fn keep(info: &PanicHookInfo<'_>) -> Seen {
    let place = info.location().map(|at| (at.file().to_owned(), at.line(), at.column()));
    let kept =
        Kept { said: text_of(info.payload()).to_owned(), place, backtrace: Backtrace::capture() };
    match KEPT.try_with(|place| place.replace(Some(kept))) {
        Ok(None) => Seen::Waits,
        Ok(Some(earlier)) => Seen::Replaces(Panic(Box::new(earlier))),
        Err(_) => Seen::Nowhere,
    }
}

/// Everything about a panic that does not depend on where it was caught.
#[cold]
#[inline(never)]
fn caught(payload: Box<dyn Any + Send>) -> Panic {
    let said = text_of(&*payload);
    let kept = forget_kept();
    // Another one, when a panic was caught and went on later.
    let kept = kept.filter(|kept| kept.said == said).unwrap_or_else(|| Kept {
        said: said.to_owned(),
        place: None,
        backtrace: Backtrace::disabled(),
    });
    panics::discard(payload);
    // The drop may have panicked, too.
    forget_kept();
    Panic(Box::new(kept))
}

fn forget_kept() -> Option<Kept> {
    KEPT.try_with(RefCell::take).ok().flatten()
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    panics::text(payload).unwrap_or("a value that is no text")
}
