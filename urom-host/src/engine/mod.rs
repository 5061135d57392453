//! Progress engines.

pub(crate) mod all;
mod deadlines;

use std::cell::Cell;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::task::{Context as TaskContext, Waker};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use urom_abi::DocaError;
use urom_abi::host::{Ctx, Pe};
use urom_os::fork::Maker;

use crate::callback;
use crate::error::{Error, Result, check, made_here};
use crate::library::{Library, get, non_null};
pub(crate) use deadlines::Timed;
use deadlines::{Deadlines, MOVES};

/// A progress engine (`struct doca_pe`): workers connected to it move only while it is progressed.
///
/// It belongs to the thread that made it, like its workers and their tasks. Clones refer to the
/// same engine. It is destroyed with its last clone and the last worker on it.
///
/// A dropped worker that does not stop within 0.1 s is left to its engine, which destroys it once
/// it has stopped. The last clone waits up to 10 s for such workers; then a running worker is
/// leaked and logged. With a library other than this kit's, the worker's drop waits that long.
///
/// Every future of this crate progresses its own engine when polled. [`block_on`](crate::block_on)
/// and the `wait` methods progress all engines of their thread.
///
/// # Sleeping
///
/// The engine is also a file descriptor, readable after a request once there is an answer or a
/// passed [deadline](crate::Completion) (if the library has them). In a program's own event loop:
///
/// 1. [`progress`](Self::progress) until it returns `false`;
/// 2. [`request_notification`](Self::request_notification);
/// 3. wait until the descriptor is readable (what happened since 1 makes it readable at once);
/// 4. [`clear_notification`](Self::clear_notification), and back to 1.
///
/// With the feature `tokio`, the function `drive` in the module `tokio` does this.
///
/// # Threads
///
/// ```compile_fail,E0277
/// fn assert_send<T: Send>() {}
/// assert_send::<urom_host::ProgressEngine>();
/// ```
#[derive(Clone)]
pub struct ProgressEngine(Rc<EngineCore>);

impl ProgressEngine {
    /// Creates an engine for this thread (`doca_pe_create`), of the library that [`Library::find`]
    /// finds. A service connected [with it](crate::ServiceBuilder::engine) uses the same library.
    ///
    /// # Errors
    /// As [`Library::find`]; `NO_MEMORY` and similar codes.
    pub fn new() -> Result<ProgressEngine> {
        ProgressEngine::with_library(Library::find()?)
    }

    /// Creates an engine of `library` for this thread (`doca_pe_create`).
    ///
    /// # Errors
    /// `NO_MEMORY` and similar codes.
    pub fn with_library(library: Library) -> Result<ProgressEngine> {
        let core = Rc::new(EngineCore::new(library)?);
        all::register(&core);
        Ok(ProgressEngine::of(core))
    }

    /// Runs at most one completion and returns whether anything moved (`doca_pe_progress`). When
    /// nothing moved, and occasionally while answers arrive, it checks the deadlines of tasks.
    ///
    /// Inside a completion callback, where DOCA forbids progress, it does nothing and returns
    /// `false`. A forked child of the engine's process also gets `false`.
    ///
    /// # Panics
    /// With the panic of the callback it ran.
    pub fn progress(&self) -> bool {
        self.0.progress()
    }

    /// The number of tasks in flight in all its contexts (`doca_pe_get_num_inflight_tasks`).
    ///
    /// # Errors
    /// The library's errors.
    pub fn in_flight(&self) -> Result<usize> {
        self.0.check()?;
        // SAFETY: the engine is live, and the pointer is to a local variable.
        get(
            0,
            || "counting tasks in flight",
            |count| unsafe {
                (self.0.api().doca_pe_get_num_inflight_tasks)(self.0.pe.as_ptr(), count)
            },
        )
    }

    /// Requests a notification (`doca_pe_request_notification`). Waits of this crate keep it.
    ///
    /// The descriptor becomes readable at the next event or deadline, including deadlines of tasks
    /// submitted later; at once if something is ready.
    ///
    /// # Errors
    /// The library's errors.
    pub fn request_notification(&self) -> Result<()> {
        self.0.check()?;
        self.0.asked.set(true);
        self.0.request_notification()
    }

    /// Clears a notification (`doca_pe_clear_notification`). Then progress until nothing moves.
    ///
    /// # Errors
    /// The library's errors.
    pub fn clear_notification(&self) -> Result<()> {
        self.0.check()?;
        self.0.asked.set(false);
        self.0.clear_notification()
    }

    /// The engine's library.
    pub fn library(&self) -> Library {
        self.0.library
    }

    pub(crate) fn checked(self, library: Library, what: &'static str) -> Result<ProgressEngine> {
        if self.library() == library {
            return Ok(self);
        }
        Err(Error::new(DocaError::INVALID_VALUE, what)
            .why("its progress engine is of another library than its service")
            .hint("make the engine with ProgressEngine::with_library"))
    }

    pub(crate) fn of(core: Rc<EngineCore>) -> ProgressEngine {
        ProgressEngine(core)
    }

    /// Progresses until `done` holds, nothing moves, or after [`MOVES`]; returns whether it holds.
    #[inline]
    pub(crate) fn poll(&self, cx: &TaskContext<'_>, done: impl Fn() -> bool) -> bool {
        for _ in 0..MOVES {
            if done() {
                return true;
            }
            if !self.0.progress() {
                // A change of state may not count as a move.
                return done();
            }
        }
        cx.waker().wake_by_ref();
        false
    }

    /// Polls a pending future again if nothing else progresses the engine.
    pub(crate) fn look_again(&self, cx: &TaskContext<'_>) {
        if !self.0.asked.get() {
            crate::tokio::look_again(cx);
        }
    }

    #[inline]
    pub(crate) fn core(&self) -> &EngineCore {
        &self.0
    }
}

impl AsFd for ProgressEngine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the engine's own and stays open while the engine is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl AsRawFd for ProgressEngine {
    /// Always the same (`doca_pe_get_notification_handle`).
    fn as_raw_fd(&self) -> RawFd {
        self.0.handle
    }
}

debug_fields!(ProgressEngine, |it| { fd: it.0.handle });

pub(crate) struct EngineCore {
    maker: Maker,
    library: Library,
    pe: NonNull<Pe>,
    handle: RawFd,
    pub(crate) deadlines: Deadlines,
    asked: Cell<bool>,
}

/// A hint if the process has too many open files: the library only returns a code.
fn too_many_files() -> Option<String> {
    const NEEDED: usize = 8;
    let mut held = Vec::with_capacity(NEEDED);
    while held.len() < NEEDED {
        match File::open("/dev/null") {
            Ok(file) => held.push(file),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::MFILE) => break,
            Err(_) => return None,
        }
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (held.len() < NEEDED).then(|| {
        format!(
            "there are too many open files: this process may have {limit} open, and an engine \
             needs {NEEDED} more: raise the limit (`ulimit -n`, LimitNOFILE=)"
        )
    })
}

impl EngineCore {
    pub(crate) fn new(library: Library) -> Result<EngineCore> {
        let what = || "creating a progress engine";
        // SAFETY: the library writes one pointer to the variable that `get` passes.
        let new = |pe: &mut _| unsafe { (library.api().doca_pe_create)(pe) };
        let pe = get(ptr::null_mut(), what, new).map_err(|error| match error.code() {
            DocaError::OPERATING_SYSTEM => match too_many_files() {
                Some(hint) => error.hint(hint),
                None => error,
            },
            _ => error,
        })?;
        let pe = non_null(pe, what)?;
        let deadlines = Deadlines::default();
        let (maker, asked) = (Maker::here(), Cell::new(false));
        let mut core = EngineCore { maker, library, pe, handle: -1, deadlines, asked };
        // SAFETY: the engine is live, and the pointer is to a local variable.
        let code = unsafe {
            (library.api().doca_pe_get_notification_handle)(pe.as_ptr(), &mut core.handle)
        };
        check(code, || "asking a progress engine for its notification handle")?;
        Ok(core)
    }

    fn api(&self) -> &'static urom_abi::host::Api {
        self.library.api()
    }

    fn check(&self) -> Result<()> {
        made_here(self.maker, || "using a progress engine")
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the engine's own and stays open while the engine is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.handle) }
    }

    pub(crate) fn wake_at(&self, at: Instant, waker: &Waker) {
        self.deadlines.wake_at(at, waker);
        self.wake_within(at);
    }

    /// Makes the engine's descriptor readable at `at`. The library keeps only the earliest time.
    fn wake_within(&self, at: Instant) {
        if let (Some(wake), true) =
            (self.library.extensions().urom_pe_wake_within, self.maker.is_here())
        {
            let rest = at.saturating_duration_since(Instant::now()).as_nanos();
            // SAFETY: the engine is live and belongs to this thread.
            unsafe { wake(self.pe.as_ptr(), u64::try_from(rest).unwrap_or(u64::MAX)) };
        }
    }

    /// Whether a deadline exists that the library does not wake a sleeper for.
    #[cfg(feature = "tokio")]
    pub(crate) fn has_blind_deadline(&self) -> bool {
        self.deadlines.next().is_some() && self.library.extensions().urom_pe_wake_within.is_none()
    }

    #[inline]
    pub(crate) fn progress(&self) -> bool {
        if !self.maker.is_here() {
            return false;
        }
        let mut moved = self.pump();
        if self.deadlines.is_check_due(moved) {
            moved |= self.deadlines.expire(Instant::now());
        }
        callback::resume();
        moved
    }

    /// As `progress`, without deadlines and panics. May complete several commands.
    #[inline]
    pub(crate) fn pump_many(&self) -> bool {
        if !self.maker.is_here() {
            return false;
        }
        let progress = self.library.extensions().urom_pe_progress_many;
        let Some(progress) = progress else { return self.pump() };
        // SAFETY: the engine is live and belongs to this thread, and no callback of it is running.
        let many = || unsafe { progress(self.pe.as_ptr()) != 0 };
        callback::run_unless_running(many)
    }

    #[inline]
    fn pump(&self) -> bool {
        callback::run_unless_running(|| {
            // SAFETY: the engine is live, on its thread, and no callback of it is running.
            let moved = unsafe { (self.api().doca_pe_progress)(self.pe.as_ptr()) };
            moved != 0
        })
    }

    pub(crate) fn request_notification(&self) -> Result<()> {
        if let Some(at) = self.deadlines.next() {
            self.wake_within(at);
        }
        // SAFETY: the engine is live and belongs to this thread.
        let code = unsafe { (self.api().doca_pe_request_notification)(self.pe.as_ptr()) };
        check(code, || "arming a progress engine's notification handle")
    }

    /// # Safety
    /// `ctx` is an idle, live context of this engine's library, used by this thread only.
    pub(crate) unsafe fn connect(&self, ctx: NonNull<Ctx>) -> Result<()> {
        self.check()?;
        // SAFETY: the engine is live, and the caller vouches for the context.
        let code = unsafe { (self.api().doca_pe_connect_ctx)(self.pe.as_ptr(), ctx.as_ptr()) };
        check(code, || "connecting a context to its progress engine")
    }

    /// Ends a sleep of this crate, but keeps a notification that the program requested.
    pub(crate) fn end_sleep(&self) -> Result<()> {
        self.clear_notification()?;
        if self.asked.get() { self.request_notification() } else { Ok(()) }
    }

    pub(crate) fn clear_notification(&self) -> Result<()> {
        // SAFETY: the engine is live and belongs to this thread; the handle is the engine's own.
        let code =
            unsafe { (self.api().doca_pe_clear_notification)(self.pe.as_ptr(), self.handle) };
        check(code, || "clearing a progress engine's notification handle")
    }
}

impl Drop for EngineCore {
    fn drop(&mut self) {
        if self.maker.is_here() {
            // SAFETY: this is the last user: every context on the engine keeps an `Rc` of it.
            let destroy = || unsafe { (self.api().doca_pe_destroy)(self.pe.as_ptr()) };
            // This may wait for workers left to the engine.
            let code = callback::calling(destroy);
            if let Err(code) = code.check() {
                tracing::warn!("a progress engine could not be destroyed: {code}");
            }
        }
        all::tidy();
    }
}
