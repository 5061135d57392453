//! Catches panics: they do not cross into C or end other commands. Only the panic hook gets a
//! panic's location, so it calls [`keep`] for [`contain`].

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind};

use urom_os::panics;

/// The file of [`contain`] in backtraces.
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

/// A caught panic; boxed to keep results small.
#[derive(Debug)]
pub(crate) struct Panic(Box<Kept>);

#[derive(Debug)]
struct Kept {
    said: String,
    /// File, line and column; `None` if the hook saw a different panic.
    place: Option<(String, u32, u32)>,
    backtrace: Backtrace,
}

impl Panic {
    pub(crate) fn place(&self) -> Option<CodeLocation<'_>> {
        self.0.place.as_ref().map(|(file, line, _)| CodeLocation { file, line: *line })
    }

    pub(crate) fn backtrace(&self) -> Option<String> {
        let is_there = self.0.backtrace.status() == BacktraceStatus::Captured;
        is_there.then(|| self.0.backtrace.to_string())
    }
}

/// `panicked at src/lib.rs:12:5: the message`.
impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("panicked")?;
        if let Some((file, line, column)) = &self.0.place {
            write!(f, " at {file}:{line}:{column}")?;
        }
        write!(f, ": {}", self.0.said)
    }
}

/// Runs `body`; a panic becomes an error. Callers discard the state that `body` borrows: a panicked
/// future is dropped, never polled. Without a panic this costs nothing.
#[inline]
pub(crate) fn contain<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(body)).map_err(caught)
}

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

pub(crate) enum Seen {
    /// Kept for the code that catches it.
    Waits,
    /// Kept instead of an earlier panic, which is still uncaught.
    Replaces(Panic),
    /// Not kept: the thread ends.
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

#[cold]
#[inline(never)]
fn caught(payload: Box<dyn Any + Send>) -> Panic {
    let said = text_of(&*payload);
    let kept = forget_kept();
    // A different panic, if one was caught and resumed later.
    let kept = kept.filter(|kept| kept.said == said).unwrap_or_else(|| Kept {
        said: said.to_owned(),
        place: None,
        backtrace: Backtrace::disabled(),
    });
    panics::discard(payload);
    // The drop may have panicked too.
    forget_kept();
    Panic(Box::new(kept))
}

fn forget_kept() -> Option<Kept> {
    KEPT.try_with(RefCell::take).ok().flatten()
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    panics::text(payload).unwrap_or("a value that is not text")
}
