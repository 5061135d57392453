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
pub(crate) struct Panic(Box<KeptPanic>);

#[derive(Debug)]
struct KeptPanic {
    text: String,
    /// File, line and column; `None` if the hook saw a different panic.
    location: Option<(String, u32, u32)>,
    backtrace: Backtrace,
}

impl Panic {
    pub(crate) fn location(&self) -> Option<CodeLocation<'_>> {
        self.0.location.as_ref().map(|(file, line, _)| CodeLocation { file, line: *line })
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
        if let Some((file, line, column)) = &self.0.location {
            write!(f, " at {file}:{line}:{column}")?;
        }
        write!(f, ": {}", self.0.text)
    }
}

/// Runs `body`; a panic becomes an error. Callers discard the state that `body` borrows: a panicked
/// future is dropped, never polled. Without a panic this costs nothing.
#[inline]
pub(crate) fn contain<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(body)).map_err(caught)
}

thread_local! {
    static KEPT: RefCell<Option<KeptPanic>> = const { RefCell::new(None) };
}

pub(crate) enum KeepOutcome {
    /// Kept for the code that catches it.
    Kept,
    /// Kept instead of an earlier panic, which is still uncaught.
    Replaced(Panic),
    /// Not kept: the thread ends.
    NotKept,
}

pub(crate) fn keep(info: &PanicHookInfo<'_>) -> KeepOutcome {
    let location = info.location().map(|at| (at.file().to_owned(), at.line(), at.column()));
    let text = text_of(info.payload()).to_owned();
    let kept = KeptPanic { text, location, backtrace: Backtrace::capture() };
    match KEPT.try_with(|slot| slot.replace(Some(kept))) {
        Ok(None) => KeepOutcome::Kept,
        Ok(Some(earlier)) => KeepOutcome::Replaced(Panic(Box::new(earlier))),
        Err(_) => KeepOutcome::NotKept,
    }
}

#[cold]
#[inline(never)]
fn caught(payload: Box<dyn Any + Send>) -> Panic {
    let text = text_of(&*payload);
    let kept = forget_kept();
    // A different panic, if one was caught and resumed later.
    let kept = kept.filter(|kept| kept.text == text).unwrap_or_else(|| KeptPanic {
        text: text.to_owned(),
        location: None,
        backtrace: Backtrace::disabled(),
    });
    panics::discard(payload);
    // The drop may have panicked too.
    forget_kept();
    Panic(Box::new(kept))
}

fn forget_kept() -> Option<KeptPanic> {
    KEPT.try_with(RefCell::take).ok().flatten()
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    panics::text(payload).unwrap_or("a value that is not text")
}
