//! Backends: outputs of lines with level limits. A backend stays until the process ends.
//!
//! Global limits narrow a program backend's limits, unless these are strict. For an SDK backend,
//! the last level set counts, its own or the global one. Without a backend of a kind, its warnings
//! go to standard error. A second `doca_log_backend_create_standard` changes nothing.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use urom_abi::DocaError;
use urom_abi::log::{DISABLE, Level};

use crate::sink::Sink;

/// The kind of lines that a backend takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// Lines of the program and of plugins in its process.
    Program,
    /// Lines of the library.
    Sdk,
}

/// One end of a range of levels. DOCA's "lower" limit is the least severe level, the larger number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelBound {
    /// The least severe level, or the limit of SDK messages.
    Lower,
    /// The most severe level.
    Upper,
}

/// An output of lines (`struct doca_log_backend`).
#[derive(Debug)]
pub struct Backend {
    kind: BackendKind,
    sink: Sink,
    from: u32,
    to: u32,
    /// Its own limits; 0 if unset, with [`STRICT`] if the global limits do not apply.
    limits: [AtomicU32; 2],
    next: OnceLock<&'static Backend>,
}

const STRICT: u32 = 1 << 31;

impl Backend {
    const fn new(kind: BackendKind, sink: Sink, from: Level, to: Level) -> Backend {
        let (from, to) = (from.number(), to.number());
        let limits = [AtomicU32::new(0), AtomicU32::new(0)];
        Backend { kind, sink, from, to, limits, next: OnceLock::new() }
    }

    pub(super) fn write(&self, line: &str) {
        self.sink.write(line);
    }
}

/// All backends of a process, and the global limits. A setter fails with `INVALID_VALUE` for a
/// level outside 10 to 70, or a backend that is unknown or of the other kind.
#[derive(Debug)]
pub struct Backends {
    first: OnceLock<&'static Backend>,
    standard: OnceLock<()>,
    /// Indexed by [`LevelBound`].
    limits: [AtomicU32; 2],
    sdk: AtomicU32,
    otherwise: [Backend; 2],
}

/// The backends of this process.
pub static BACKENDS: Backends = Backends::new();

impl Backends {
    const fn new() -> Backends {
        let otherwise = [
            Backend::new(BackendKind::Program, Sink::STANDARD_ERROR, Level::Crit, Level::Warning),
            Backend::new(BackendKind::Sdk, Sink::STANDARD_ERROR, Level::Crit, Level::Warning),
        ];
        Backends {
            first: OnceLock::new(),
            standard: OnceLock::new(),
            limits: [AtomicU32::new(Level::Info.number()), AtomicU32::new(Level::Crit.number())],
            sdk: AtomicU32::new(Level::Info.number()),
            otherwise,
        }
    }

    /// `doca_log_backend_create_with_*`. The global limits apply until the backend has its own.
    pub fn create(&'static self, kind: BackendKind, sink: Sink) -> *const Backend {
        let backend = self.add(Backend::new(kind, sink, Level::Crit, Level::Trace));
        crate::changes::limits_changed();
        backend
    }

    /// `doca_log_backend_create_standard`: INFO and below to stdout, the rest to stderr.
    ///
    /// # Errors
    /// `IO_FAILED` in a process without these streams.
    pub fn create_standard(&'static self) -> Result<(), DocaError> {
        let (Some(out), Some(err)) = (Sink::stdout(), Sink::stderr()) else {
            return Err(DocaError::IO_FAILED);
        };
        self.standard.get_or_init(|| {
            self.add(Backend::new(BackendKind::Program, out, Level::Info, Level::Trace));
            self.add(Backend::new(BackendKind::Program, err, Level::Crit, Level::Warning));
        });
        Ok(())
    }

    /// Appends a backend. It is never freed: C code keeps its address.
    fn add(&'static self, backend: Backend) -> &'static Backend {
        let backend: &'static Backend = Box::leak(Box::new(backend));
        let mut slot = &self.first;
        loop {
            let there = *slot.get_or_init(|| backend);
            if ptr::eq(there, backend) {
                return backend;
            }
            slot = &there.next;
        }
    }

    fn all(&'static self) -> impl Iterator<Item = &'static Backend> {
        std::iter::successors(self.first.get().copied(), |backend| backend.next.get().copied())
    }

    pub(super) fn takers(
        &'static self,
        kind: BackendKind,
        level: Level,
    ) -> impl Iterator<Item = &'static Backend> {
        let mut made = self.all().filter(move |backend| backend.kind == kind).peekable();
        let otherwise = if made.peek().is_none() { &self.otherwise[..] } else { &[] };
        let otherwise = otherwise.iter().filter(move |backend| backend.kind == kind);
        made.chain(otherwise).filter(move |backend| self.takes(backend, level))
    }

    fn takes(&self, backend: &Backend, level: Level) -> bool {
        let [lower, upper] = match backend.kind {
            BackendKind::Program => self.limits.each_ref().map(|limit| limit.load(Relaxed)),
            BackendKind::Sdk => [self.sdk.load(Relaxed), DISABLE],
        };
        let [own_lower, own_upper] = backend.limits.each_ref().map(|limit| limit.load(Relaxed));
        let lower = match own_lower {
            0 => lower,
            own if own & STRICT != 0 => own & !STRICT,
            own => own.min(lower),
        };
        let upper = match own_upper {
            own if own & STRICT != 0 => own & !STRICT,
            own => own.max(upper),
        };
        let level = level.number();
        (backend.from..=backend.to).contains(&level) && (upper..=lower).contains(&level)
    }

    /// `doca_log_backend_set_level_{lower,upper}_limit[_strict]`, for a program backend.
    pub fn set_limit(
        &'static self,
        backend: *const Backend,
        end: LevelBound,
        level: u32,
        strict: bool,
    ) -> Result<(), DocaError> {
        let level = checked(level)? | if strict { STRICT } else { 0 };
        self.find(backend, BackendKind::Program)?.limits[end as usize].store(level, Relaxed);
        Ok(())
    }

    /// `doca_log_backend_set_sdk_level`, for an SDK backend.
    pub fn set_sdk_level(
        &'static self,
        backend: *const Backend,
        level: u32,
    ) -> Result<(), DocaError> {
        let level = checked(level)?;
        self.find(backend, BackendKind::Sdk)?.limits[LevelBound::Lower as usize]
            .store(level | STRICT, Relaxed);
        crate::changes::limits_changed();
        Ok(())
    }

    /// `doca_log_level_set_global_{lower,upper}_limit`.
    pub fn set_global_limit(&self, end: LevelBound, level: u32) -> Result<(), DocaError> {
        self.limits[end as usize].store(checked(level)?, Relaxed);
        Ok(())
    }

    /// `doca_log_level_get_global_{lower,upper}_limit`.
    pub fn global_limit(&self, end: LevelBound) -> u32 {
        self.limits[end as usize].load(Relaxed)
    }

    /// `doca_log_level_set_global_sdk_limit`: for present and future SDK backends.
    pub fn set_global_sdk_limit(&'static self, level: u32) -> Result<(), DocaError> {
        self.sdk.store(checked(level)?, Relaxed);
        self.all()
            .filter(|backend| backend.kind == BackendKind::Sdk)
            .for_each(|backend| backend.limits[LevelBound::Lower as usize].store(0, Relaxed));
        crate::changes::limits_changed();
        Ok(())
    }

    /// `doca_log_level_get_global_sdk_limit`.
    pub fn global_sdk_limit(&self) -> u32 {
        self.sdk.load(Relaxed)
    }

    fn find(
        &'static self,
        backend: *const Backend,
        kind: BackendKind,
    ) -> Result<&'static Backend, DocaError> {
        let mut of_kind = self.all().filter(|known| known.kind == kind);
        of_kind.find(|known| ptr::eq(*known, backend)).ok_or(DocaError::INVALID_VALUE)
    }
}

fn checked(level: u32) -> Result<u32, DocaError> {
    let known = DISABLE..=Level::Trace.number();
    if known.contains(&level) { Ok(level) } else { Err(DocaError::INVALID_VALUE) }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
