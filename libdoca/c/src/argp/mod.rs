//! `doca_argp_*`: flags from the command line and JSON files, as in `urom-abi/include/doca_argp.h`.
//! Errors are also printed on standard error, or passed to the program's logger.

mod command;
mod json;
mod logger;
mod model;
mod parse;
mod run;
mod state;
mod usage;

use std::ffi::{CStr, c_char, c_int, c_void};

use urom_abi::{DocaError, DocaStatus};
use urom_log::backend::{BACKENDS, LevelBound};
use urom_log::{guard, guard_or};

use self::command::{ArgpCommand, CommandPath};
use self::logger::{Logger, LoggerCallback};
use self::model::{
    ArgpError, Callback, ConfigCallback, DpdkCallback, Flag, FlagAction, ParamType, refusal,
};
use self::state::{ArgpDraft, Cmd, Param};

/// Message prefix if the program is unnamed.
const NAMELESS: &str = "doca_argp";

fn log_error(refusal: ArgpError) -> DocaError {
    let (logger, program) = state::logger();
    logger.log(program.as_deref().unwrap_or(NAMELESS), &refusal.text);
    refusal.code
}

#[track_caller]
fn guarded(call: impl FnOnce() -> Result<(), ArgpError>) -> DocaStatus {
    guard(|| call().map_err(log_error))
}

#[track_caller]
fn guarded_void(call: impl FnOnce() -> Result<(), ArgpError>) {
    guard_or((), || {
        if let Err(refusal) = call() {
            log_error(refusal);
        }
    });
}

fn missing(what: &str) -> ArgpError {
    refusal!(INVALID_VALUE, "{what} is NULL")
}

/// # Safety
/// `text` is NULL or a C string.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_init(
    program_name: *const c_char,
    program_config: *mut c_void,
) -> DocaStatus {
    guarded(|| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        let name = unsafe { text(program_name) };
        state::init(name, program_config)
    })
}

#[unsafe(no_mangle)]
extern "C" fn doca_argp_destroy() -> DocaStatus {
    guarded(state::destroy)
}

/// # Safety
/// `target` is NULL or writable.
unsafe fn put<T>(
    target: *mut T,
    what: &str,
    value: impl FnOnce() -> Result<T, ArgpError>,
) -> Result<(), ArgpError> {
    if target.is_null() {
        return Err(missing(what));
    }
    let value = value()?;
    // SAFETY: not null, and writable by the caller's promise.
    unsafe { target.write(value) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_param_create(param: *mut *mut Param) -> DocaStatus {
    // SAFETY: NULL, or the host's pointer for the result.
    guarded(|| unsafe { put(param, "doca_argp_param_create: param", state::create::<Flag>) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_cmd_create(cmd: *mut *mut Cmd) -> DocaStatus {
    // SAFETY: NULL, or the host's pointer for the result.
    guarded(|| unsafe { put(cmd, "doca_argp_cmd_create: cmd", state::create::<ArgpCommand>) })
}

/// Setters of parameters and commands. They return void, so errors are only reported.
macro_rules! setters {
    ($draft:ident: $(fn $name:ident($($value:ident: $ty:ty)?) |$it:ident| $set:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(raw: *mut <$draft as ArgpDraft>::Handle, $($value: $ty)?) {
                guarded_void(|| state::change(raw, stringify!($name), |$it: &mut $draft| $set));
            }
        )*
    };
}

setters! { Flag:
    fn doca_argp_param_set_callback(callback: Option<Callback>) |flag| {
        flag.action = callback.map(FlagAction::Call)
    };
    fn doca_argp_param_set_type(kind: ParamType) |flag| flag.kind = kind;
    fn doca_argp_param_set_mandatory() |flag| flag.is_mandatory = true;
    fn doca_argp_param_set_cli_only() |flag| flag.is_cli_only = true;
    fn doca_argp_param_set_multiplicity() |flag| flag.is_multiple = true;
    fn doca_argp_param_set_singular() |flag| flag.is_singular = true;
    fn doca_argp_param_set_inherited() |flag| flag.is_inherited = true;
    fn doca_argp_param_set_hidden() |flag| flag.is_hidden = true;
}

setters! { ArgpCommand:
    fn doca_argp_cmd_set_callback(callback: Option<ConfigCallback>) |command| {
        command.callback = callback
    };
    fn doca_argp_cmd_set_hidden() |command| command.is_hidden = true;
}

macro_rules! texts {
    ($($draft:ident: $($name:ident => $field:ident),*;)*) => {$( setters! { $draft: $(
        fn $name(value: *const c_char) |draft| {
            // SAFETY: a C string that the host keeps unchanged in this call.
            draft.$field = unsafe { text(value) }
        };
    )*} )*};
}

texts! {
    Flag:
        doca_argp_param_set_short_name => short,
        doca_argp_param_set_long_name => long,
        doca_argp_param_set_arguments => arguments,
        doca_argp_param_set_description => description;
    ArgpCommand: doca_argp_cmd_set_name => name, doca_argp_cmd_set_description => description;
}

macro_rules! export {
    ($(fn $name:ident($($argument:ident: $ty:ty),*) |$call:ident| $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $ty),*) -> DocaStatus {
                let $call = stringify!($name);
                guarded(|| $body)
            }
        )*
    };
}

export! {
    fn doca_argp_register_param(param: *mut Param) |call| {
        state::register(param, call, |parser, flag: Flag| parser.program.add_flag(flag))
    };
    fn doca_argp_register_cmd(cmd: *mut Cmd) |call| {
        state::register(cmd, call, |parser, new: ArgpCommand| parser.program.add_command(new))
    };
    fn doca_argp_cmd_register_param(cmd: *mut Cmd, param: *mut Param) |call| {
        state::register(param, call, |parser, flag: Flag| {
            parser.draft::<ArgpCommand>(cmd, call)?.add_flag(flag)
        })
    };
    fn doca_argp_cmd_register_cmd(cmd: *mut Cmd, input: *mut Cmd) |call| {
        state::register(input, call, |parser, command: ArgpCommand| {
            parser.draft::<ArgpCommand>(cmd, call)?.add_command(command)
        })
    };
    fn doca_argp_param_destroy(param: *mut Param) |call| state::drop_draft::<Flag>(param, call);
    fn doca_argp_cmd_destroy(cmd: *mut Cmd) |call| state::drop_draft::<ArgpCommand>(cmd, call);
    fn doca_argp_register_version_callback(callback: Option<Callback>) |call| {
        state::set(callback, call, |parser, callback| parser.version = Some(callback))
    };
    fn doca_argp_register_validation_callback(callback: Option<ConfigCallback>) |call| {
        state::set(callback, call, |parser, callback| parser.validation = Some(callback))
    };
    fn doca_argp_register_logger_callback(callback: Option<LoggerCallback>) |call| {
        state::set(callback, call, |parser, callback| parser.logger = Logger::Call(callback))
    };
    fn doca_argp_disable_logger_callback() |_call| {
        state::with(|parser| {
            parser.logger = Logger::Nothing;
            Ok(())
        })
    };
}

#[unsafe(no_mangle)]
extern "C" fn doca_argp_set_dpdk_program(callback: Option<DpdkCallback>) {
    guarded_void(|| {
        let call = "doca_argp_set_dpdk_program";
        state::set(callback, call, |parser, callback| parser.dpdk = Some(callback))
    });
}

#[unsafe(no_mangle)]
extern "C" fn doca_argp_usage() {
    guarded_void(|| {
        let text =
            state::with(|parser| Ok(run::usage_of(parser, &CommandPath::to(&parser.program))))?;
        run::print(&text);
        Ok(())
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_get_log_level(level: *mut c_int) -> DocaStatus {
    // SAFETY: NULL, or the host's pointer for the result.
    guarded(|| unsafe {
        level_into(level, "doca_argp_get_log_level", BACKENDS.global_limit(LevelBound::Lower))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_get_sdk_log_level(level: *mut c_int) -> DocaStatus {
    // SAFETY: NULL, or the host's pointer for the result.
    guarded(|| unsafe {
        level_into(level, "doca_argp_get_sdk_log_level", BACKENDS.global_sdk_limit())
    })
}

/// # Safety
/// As [`put`].
unsafe fn level_into(target: *mut c_int, call: &str, level: u32) -> Result<(), ArgpError> {
    let level = || {
        state::with(|parser| parser.require_started(call))?;
        Ok(level.cast_signed())
    };
    // SAFETY: the caller's promise.
    unsafe { put(target, call, level) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_start(argc: c_int, argv: *mut *mut c_char) -> DocaStatus {
    guarded(|| {
        // SAFETY: the caller's arguments.
        let (raw, args) = unsafe { arguments(argc, argv) }?;
        let start = state::start(&run::file_name(args[0]))?;
        // Without `--`, all flags are DPDK's, as in any DPDK program.
        let (for_dpdk, own) = match start.dpdk {
            Some(_) => match args.iter().position(|arg| arg.to_bytes() == b"--") {
                Some(at) => (&raw[..at], &args[at + 1..]),
                None => (raw, &[][..]),
            },
            None => (&[][..], &args[1..]),
        };
        // SAFETY: callbacks and arguments are the caller's; this thread does not hold a lock.
        unsafe { run::run(&start, own, for_dpdk) }
    })
}

/// # Safety
/// `argv` is NULL, or an array of `argc` C strings or NULLs.
#[allow(clippy::type_complexity, reason = "the same twice")]
unsafe fn arguments<'a>(
    argc: c_int,
    argv: *mut *mut c_char,
) -> Result<(&'a [*mut c_char], Vec<&'a CStr>), ArgpError> {
    let count = usize::try_from(argc).ok().filter(|count| *count > 0).ok_or_else(|| {
        refusal!(INVALID_VALUE, "doca_argp_start: argc is {argc}: pass main's argc")
    })?;
    if argv.is_null() {
        return Err(missing("doca_argp_start: argv"));
    }
    // SAFETY: not null, with `count` elements by the caller's promise.
    let argv = unsafe { std::slice::from_raw_parts(argv, count) };
    let text = |arg: &*mut c_char| {
        if arg.is_null() {
            return Err(missing("doca_argp_start: one of the arguments"));
        }
        // SAFETY: not null, and a C string by the caller's promise.
        Ok(unsafe { CStr::from_ptr(*arg) })
    };
    let args: Result<Vec<&CStr>, ArgpError> = argv.iter().map(text).collect();
    Ok((argv, args?))
}

#[cfg(test)]
mod header_tests;
