//! The parser's state between calls: one parser per process, as in DOCA.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::argp::command::ArgpCommand;
use crate::argp::logger::Logger;
use crate::argp::model::{ArgpError, Callback, ConfigCallback, DpdkCallback, Flag, refusal};

/// `struct doca_argp_param` and `_cmd`. The pointers are numbers, so stale ones are detected.
pub(crate) enum Param {}
pub(crate) enum Cmd {}

/// A flag or command before its registration.
pub(crate) trait ArgpDraft: Default {
    type Handle;
    /// Name and creating function, for messages.
    const WHAT: &str;

    fn all(parser: &mut Parser) -> &mut BTreeMap<usize, Self>;
}

impl ArgpDraft for Flag {
    type Handle = Param;
    const WHAT: &str = "parameter from doca_argp_param_create";

    fn all(parser: &mut Parser) -> &mut BTreeMap<usize, Flag> {
        &mut parser.params
    }
}

impl ArgpDraft for ArgpCommand {
    type Handle = Cmd;
    const WHAT: &str = "command from doca_argp_cmd_create";

    fn all(parser: &mut Parser) -> &mut BTreeMap<usize, ArgpCommand> {
        &mut parser.commands
    }
}

#[derive(Clone, Copy)]
pub(crate) struct ConfigPointer(pub(crate) *mut c_void);

// SAFETY: this library never dereferences the pointer.
unsafe impl Send for ConfigPointer {}

/// The state from `doca_argp_init` to `doca_argp_destroy`.
#[derive(Clone)]
pub(crate) struct Parser {
    /// The program's own name, or after the start the command line's.
    pub(crate) name: Option<String>,
    pub(crate) config: ConfigPointer,
    pub(crate) program: ArgpCommand,
    pub(crate) dpdk: Option<DpdkCallback>,
    pub(crate) version: Option<Callback>,
    pub(crate) validation: Option<ConfigCallback>,
    pub(crate) logger: Logger,
    params: BTreeMap<usize, Flag>,
    commands: BTreeMap<usize, ArgpCommand>,
    is_started: bool,
}

fn state() -> MutexGuard<'static, Option<Parser>> {
    static STATE: Mutex<Option<Parser>> = Mutex::new(None);
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `f` with the parser, or returns an error if it does not exist.
pub(crate) fn with<R>(f: impl FnOnce(&mut Parser) -> Result<R, ArgpError>) -> Result<R, ArgpError> {
    let missing = || refusal!(BAD_STATE, "the parser does not exist: call doca_argp_init first");
    f(state().as_mut().ok_or_else(missing)?)
}

pub(crate) fn init(name: Option<String>, config: *mut c_void) -> Result<(), ArgpError> {
    let mut state = state();
    if state.is_some() {
        return Err(refusal!(
            BAD_STATE,
            "doca_argp_init was called already: call doca_argp_destroy in between"
        ));
    }
    *state = Some(Parser {
        name,
        config: ConfigPointer(config),
        program: ArgpCommand::program(),
        dpdk: None,
        version: None,
        validation: None,
        logger: Logger::Standard,
        params: BTreeMap::new(),
        commands: BTreeMap::new(),
        is_started: false,
    });
    Ok(())
}

pub(crate) fn destroy() -> Result<(), ArgpError> {
    with(|_| Ok(()))?;
    *state() = None;
    Ok(())
}

pub(crate) fn create<D: ArgpDraft>() -> Result<*mut D::Handle, ArgpError> {
    /// Numbers are never reused, so stale pointers stay invalid after `doca_argp_destroy`.
    static LAST: AtomicUsize = AtomicUsize::new(0);
    with(|parser| {
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        D::all(parser).insert(number, D::default());
        Ok(std::ptr::without_provenance_mut(number))
    })
}

pub(crate) fn change<D: ArgpDraft>(
    handle: *mut D::Handle,
    call: &str,
    change: impl FnOnce(&mut D),
) -> Result<(), ArgpError> {
    with(|parser| parser.draft(handle, call).map(change))
}

pub(crate) fn drop_draft<D: ArgpDraft>(
    handle: *mut D::Handle,
    call: &str,
) -> Result<(), ArgpError> {
    with(|parser| parser.take::<D>(handle, call).map(drop))
}

/// Registers a draft by `add`. The draft is consumed even on error.
pub(crate) fn register<D: ArgpDraft>(
    handle: *mut D::Handle,
    call: &str,
    add: impl FnOnce(&mut Parser, D) -> Result<(), ArgpError>,
) -> Result<(), ArgpError> {
    with(|parser| {
        let draft = parser.take(handle, call)?;
        parser.require_not_started(call)?;
        add(parser, draft)
    })
}

pub(crate) fn set<C>(
    callback: Option<C>,
    call: &str,
    set: impl FnOnce(&mut Parser, C),
) -> Result<(), ArgpError> {
    with(|parser| {
        parser.require_not_started(call)?;
        let callback =
            callback.ok_or_else(|| refusal!(INVALID_VALUE, "{call}: the callback is NULL"))?;
        set(parser, callback);
        Ok(())
    })
}

impl Parser {
    pub(crate) fn draft<D: ArgpDraft>(
        &mut self,
        handle: *mut D::Handle,
        call: &str,
    ) -> Result<&mut D, ArgpError> {
        D::all(self).get_mut(&handle.addr()).ok_or_else(|| not_there::<D>(call, handle))
    }

    fn take<D: ArgpDraft>(&mut self, handle: *mut D::Handle, call: &str) -> Result<D, ArgpError> {
        D::all(self).remove(&handle.addr()).ok_or_else(|| not_there::<D>(call, handle))
    }

    fn require_not_started(&self, what: &str) -> Result<(), ArgpError> {
        if !self.is_started {
            return Ok(());
        }
        Err(refusal!(
            BAD_STATE,
            "{what} after doca_argp_start: call doca_argp_destroy and doca_argp_init before"
        ))
    }

    pub(crate) fn require_started(&self, what: &str) -> Result<(), ArgpError> {
        if self.is_started {
            return Ok(());
        }
        Err(refusal!(BAD_STATE, "{what} before doca_argp_start: call that first"))
    }
}

fn not_there<D: ArgpDraft>(call: &str, handle: *mut D::Handle) -> ArgpError {
    if handle.is_null() {
        return refusal!(INVALID_VALUE, "{call}: NULL is not a {}", D::WHAT);
    }
    refusal!(
        INVALID_VALUE,
        "{call}: {handle:p} is not a {}, or it is registered or destroyed already",
        D::WHAT
    )
}

/// Marks the parser as started and returns a copy. `name` comes from the command line.
pub(crate) fn start(name: &str) -> Result<Parser, ArgpError> {
    with(|parser| {
        parser.require_not_started("doca_argp_start")?;
        parser.is_started = true;
        parser.name.get_or_insert_with(|| name.to_owned());
        Ok(parser.clone())
    })
}

pub(crate) fn logger() -> (Logger, Option<String>) {
    let state = state();
    let parser = state.as_ref();
    (parser.map_or(Logger::Standard, |parser| parser.logger), parser.and_then(|p| p.name.clone()))
}
