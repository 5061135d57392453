//! What the parser knows between its calls: one for the process, as DOCA has it.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::{Draft, Flag, Refusal, built_in, refusal};

/// `struct doca_argp_param`. There is none behind the pointers: they are numbers, so that one which
/// is not valid any more is told as such.
pub(crate) enum Param {}

/// The pointer that the program gave for its callbacks.
#[derive(Clone, Copy)]
pub(crate) struct Config(pub(crate) *mut c_void);

// SAFETY: it is passed on and never followed.
unsafe impl Send for Config {}

/// From `doca_argp_init` to `doca_argp_destroy`.
struct Parser {
    start: Start,
    /// Parameters that are not registered, by their numbers.
    drafts: BTreeMap<usize, Draft>,
    is_started: bool,
}

struct State {
    parser: Option<Parser>,
    /// Never used again, so that a pointer from before means nothing after `doca_argp_destroy`.
    last_number: usize,
}

/// What `doca_argp_start` works with.
#[derive(Clone)]
pub(crate) struct Start {
    /// What the program calls itself, if it does.
    pub(crate) name: Option<String>,
    pub(crate) config: Config,
    /// Built-in flags, then registered ones.
    pub(crate) flags: Vec<Flag>,
}

fn state() -> MutexGuard<'static, State> {
    static STATE: Mutex<State> = Mutex::new(State { parser: None, last_number: 0 });
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn parser(&mut self) -> Result<&mut Parser, Refusal> {
        let missing = || refusal!(BAD_STATE, "there is no parser: call doca_argp_init first");
        self.parser.as_mut().ok_or_else(missing)
    }
}

impl Parser {
    fn not_started(&mut self, what: &str) -> Result<&mut Parser, Refusal> {
        if self.is_started {
            return Err(refusal!(
                BAD_STATE,
                "{what} after doca_argp_start: call doca_argp_destroy and doca_argp_init before"
            ));
        }
        Ok(self)
    }
}

pub(crate) fn init(name: Option<String>, config: *mut c_void) -> Result<(), Refusal> {
    let mut state = state();
    if state.parser.is_some() {
        return Err(refusal!(
            BAD_STATE,
            "doca_argp_init was called already: call doca_argp_destroy in between"
        ));
    }
    state.parser = Some(Parser {
        start: Start { name, config: Config(config), flags: built_in() },
        drafts: BTreeMap::new(),
        is_started: false,
    });
    Ok(())
}

pub(crate) fn destroy() -> Result<(), Refusal> {
    let mut state = state();
    state.parser()?;
    state.parser = None;
    Ok(())
}

pub(crate) fn create() -> Result<*mut Param, Refusal> {
    let mut state = state();
    state.parser()?;
    state.last_number += 1;
    let number = state.last_number;
    state.parser()?.drafts.insert(number, Draft::default());
    Ok(std::ptr::without_provenance_mut(number))
}

pub(crate) fn change(
    param: *mut Param,
    call: &str,
    change: impl FnOnce(&mut Draft),
) -> Result<(), Refusal> {
    let mut state = state();
    let draft = state.parser()?.drafts.get_mut(&param.addr());
    draft.map(change).ok_or_else(|| not_there(call, param))
}

/// Registers a parameter, which is gone whatever comes of it.
pub(crate) fn register(param: *mut Param) -> Result<(), Refusal> {
    let call = "doca_argp_register_param";
    let mut state = state();
    let parser = state.parser()?;
    let draft = parser.drafts.remove(&param.addr()).ok_or_else(|| not_there(call, param))?;
    let flag = parser.not_started(call)?.flags_with(draft)?;
    parser.start.flags.push(flag);
    Ok(())
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
    fn flags_with(&self, draft: Draft) -> Result<Flag, Refusal> {
        let flag = draft.finish()?;
        match self.start.flags.iter().find(|other| other.is_named(&flag)) {
            None => Ok(flag),
            Some(other) => {
                let whose =
                    if other.is_programs() { "is registered already" } else { "is DOCA's own" };
                Err(refusal!(
                    ALREADY_EXIST,
                    "flag {flag} has a name of {other}, which {whose}: choose another"
                ))
            }
        }
    }
}

pub(crate) fn start() -> Result<Start, Refusal> {
    let mut state = state();
    let parser = state.parser()?.not_started("doca_argp_start")?;
    parser.is_started = true;
    Ok(parser.start.clone())
}

pub(crate) fn name() -> Option<String> {
    state().parser.as_ref().and_then(|parser| parser.start.name.clone())
}
