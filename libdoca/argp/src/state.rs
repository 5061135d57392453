//! What the parser knows between its calls: one for the process, as DOCA has it.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::{Flag, Refusal, built_in, refusal};

/// `struct doca_argp_param`. There is none behind the pointers: they are numbers, so that one which
/// is not valid any more is told as such.
pub(crate) enum Param {}

/// The pointer that the program gave for its callbacks.
#[derive(Clone, Copy)]
pub(crate) struct Config(pub(crate) *mut c_void);

// SAFETY: it is passed on and never followed.
unsafe impl Send for Config {}

/// From `doca_argp_init` to `doca_argp_destroy`.
#[derive(Clone)]
pub(crate) struct Parser {
    /// What the program calls itself, if it does.
    pub(crate) name: Option<String>,
    pub(crate) config: Config,
    /// Built-in flags, then registered ones.
    pub(crate) flags: Vec<Flag>,
    /// Parameters that are not registered, by their numbers.
    drafts: BTreeMap<usize, Flag>,
    is_started: bool,
}

fn state() -> MutexGuard<'static, Option<Parser>> {
    static STATE: Mutex<Option<Parser>> = Mutex::new(None);
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `f` with the parser that there is.
fn with<R>(f: impl FnOnce(&mut Parser) -> Result<R, Refusal>) -> Result<R, Refusal> {
    let missing = || refusal!(BAD_STATE, "there is no parser: call doca_argp_init first");
    f(state().as_mut().ok_or_else(missing)?)
}

pub(crate) fn init(name: Option<String>, config: *mut c_void) -> Result<(), Refusal> {
    let mut state = state();
    if state.is_some() {
        return Err(refusal!(
            BAD_STATE,
            "doca_argp_init was called already: call doca_argp_destroy in between"
        ));
    }
    let (config, flags) = (Config(config), built_in());
    *state = Some(Parser { name, config, flags, drafts: BTreeMap::new(), is_started: false });
    Ok(())
}

pub(crate) fn destroy() -> Result<(), Refusal> {
    with(|_| Ok(()))?;
    *state() = None;
    Ok(())
}

pub(crate) fn create() -> Result<*mut Param, Refusal> {
    /// Never used again, so that a pointer from before means nothing after `doca_argp_destroy`.
    static LAST: AtomicUsize = AtomicUsize::new(0);
    with(|parser| {
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        parser.drafts.insert(number, Flag::default());
        Ok(std::ptr::without_provenance_mut(number))
    })
}

pub(crate) fn change(
    param: *mut Param,
    call: &str,
    change: impl FnOnce(&mut Flag),
) -> Result<(), Refusal> {
    with(|parser| {
        let draft = parser.drafts.get_mut(&param.addr());
        draft.map(change).ok_or_else(|| not_there(call, param))
    })
}

/// Registers a parameter, which is gone whatever comes of it.
pub(crate) fn register(param: *mut Param) -> Result<(), Refusal> {
    let call = "doca_argp_register_param";
    with(|parser| {
        let flag = parser.drafts.remove(&param.addr()).ok_or_else(|| not_there(call, param))?;
        parser.require_not_started(call)?;
        flag.check()?;
        if let Some(other) = parser.flags.iter().find(|other| other.is_named(&flag)) {
            let whose = if other.is_programs() { "is registered already" } else { "is DOCA's own" };
            return Err(refusal!(
                ALREADY_EXIST,
                "flag {flag} has a name of {other}, which {whose}: choose another"
            ));
        }
        parser.flags.push(flag);
        Ok(())
    })
}

fn not_there(call: &str, param: *mut Param) -> Refusal {
    if param.is_null() {
        return refusal!(INVALID_VALUE, "{call}: the parameter is NULL");
    }
    refusal!(
        INVALID_VALUE,
        "{call}: {param:p} is no parameter from doca_argp_param_create, or it is registered already"
    )
}

impl Parser {
    fn require_not_started(&self, what: &str) -> Result<(), Refusal> {
        if !self.is_started {
            return Ok(());
        }
        Err(refusal!(
            BAD_STATE,
            "{what} after doca_argp_start: call doca_argp_destroy and doca_argp_init before"
        ))
    }
}

/// What `doca_argp_start` works with.
pub(crate) fn start() -> Result<Parser, Refusal> {
    with(|parser| {
        parser.require_not_started("doca_argp_start")?;
        parser.is_started = true;
        Ok(parser.clone())
    })
}

pub(crate) fn name() -> Option<String> {
    state().as_ref().and_then(|parser| parser.name.clone())
}
