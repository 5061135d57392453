//! `doca_argp_*`: a program's own flags beside DOCA's, from the command line and
//! from JSON files.
//!
//! Whatever is refused is also said on standard error, or to a function of the program's, with the
//! flag and what to do: most programs end with a code only.

mod command;
mod json;
mod logger;
mod model;
mod parse;
mod run;
mod state;
mod usage;

use std::ffi::{CStr, c_char, c_int, c_void};

use urom_abi::DocaError;
use urom_log::{guard, guard_or};

use self::command::{Command, Path};
use self::logger::{Logger, LoggerCallback};
use self::model::{
    Action, Callback, ConfigCallback, DpdkCallback, Flag, ParamType, Refusal, refusal,
};
use self::state::{Cmd, Draft, Param};

/// What a message begins with when nobody named the program.
const NAMELESS: &str = "doca_argp";

/// Says why, and gives the code.
fn tell(refusal: Refusal) -> DocaError {
    let (logger, program) = state::logger();
    logger.tell(program.as_deref().unwrap_or(NAMELESS), &refusal.text);
    refusal.code
}

/// A guarded call whose refusal is told.
#[track_caller]
fn telling(call: impl FnOnce() -> Result<(), Refusal>) -> DocaError {
    guard(|| call().map_err(tell))
}

/// The same for a function that ends with nothing.
#[track_caller]
fn told(call: impl FnOnce() -> Result<(), Refusal>) {
    guard_or((), || {
        if let Err(refusal) = call() {
            tell(refusal);
        }
    });
}

fn missing(what: &str) -> Refusal {
    refusal!(INVALID_VALUE, "{what} is NULL")
}

/// A text of the program's; `None` for NULL.
///
/// # Safety
/// `text` is NULL or a C string.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Begins. The name is copied; NULL takes that of the command line. `BAD_STATE` when it has begun.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_init(
    program_name: *const c_char,
    program_config: *mut c_void,
) -> DocaError {
    telling(|| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        let name = unsafe { text(program_name) };
        state::init(name, program_config)
    })
}

/// Ends, and frees all parameters. `BAD_STATE` before `doca_argp_init`.
#[unsafe(no_mangle)]
extern "C" fn doca_argp_destroy() -> DocaError {
    telling(state::destroy)
}

/// Stores a result at the caller's place.
///
/// # Safety
/// `place` is NULL or can be written to.
unsafe fn put<T>(
    place: *mut T,
    what: &str,
    value: impl FnOnce() -> Result<T, Refusal>,
) -> Result<(), Refusal> {
    if place.is_null() {
        return Err(missing(what));
    }
    let value = value()?;
    // SAFETY: not null, and the caller's place.
    unsafe { place.write(value) };
    Ok(())
}

/// Makes a parameter. `BAD_STATE` before `doca_argp_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_param_create(param: *mut *mut Param) -> DocaError {
    // SAFETY: NULL, or a place that the host keeps for the result.
    telling(|| unsafe { put(param, "doca_argp_param_create: the place", state::create::<Flag>) })
}

/// Makes a command. `BAD_STATE` before `doca_argp_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_cmd_create(cmd: *mut *mut Cmd) -> DocaError {
    // SAFETY: NULL, or a place that the host keeps for the result.
    telling(|| unsafe { put(cmd, "doca_argp_cmd_create: the place", state::create::<Command>) })
}

/// The calls that set one thing of a parameter or a command. They end with nothing, so what they do
/// not like is only told.
macro_rules! setters {
    ($draft:ident: $($(#[$doc:meta])* fn $name:ident($($value:ident: $ty:ty)?) |$it:ident| $set:expr;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(handle: *mut <$draft as Draft>::Handle, $($value: $ty)?) {
                told(|| state::change(handle, stringify!($name), |$it: &mut $draft| {
                    $set;
                    Ok(())
                }));
            }
        )*
    };
}

setters! { Flag:
    /// The name behind one dash. Copied; NULL is none.
    fn doca_argp_param_set_short_name(name: *const c_char) |flag| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        flag.short = unsafe { text(name) }
    };
    /// The name behind two dashes, and in JSON files. Copied; NULL is none.
    fn doca_argp_param_set_long_name(name: *const c_char) |flag| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        flag.long = unsafe { text(name) }
    };
    /// What the usage text calls the value. Copied; NULL is nothing.
    fn doca_argp_param_set_arguments(arguments: *const c_char) |flag| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        flag.arguments = unsafe { text(arguments) }
    };
    /// What the usage text says of the flag. Copied; NULL is none.
    fn doca_argp_param_set_description(description: *const c_char) |flag| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        flag.description = unsafe { text(description) }
    };
    /// What gets the value.
    fn doca_argp_param_set_callback(callback: Option<Callback>) |flag| {
        flag.action = callback.map(Action::Call)
    };
    /// What the value is: `enum doca_argp_type`.
    fn doca_argp_param_set_type(kind: ParamType) |flag| flag.kind = kind;
    /// Makes the flag one that must be given, on the command line or in a file.
    fn doca_argp_param_set_mandatory() |flag| flag.is_mandatory = true;
    /// Files cannot give it.
    fn doca_argp_param_set_cli_only() |flag| flag.is_cli_only = true;
    /// It may be given more than once; the callback is called for each.
    fn doca_argp_param_set_multiplicity() |flag| flag.is_multiple = true;
    /// It is given without other flags of the program, and none is required beside it.
    fn doca_argp_param_set_singular() |flag| flag.is_singular = true;
    /// It is a flag of all commands within, too.
    fn doca_argp_param_set_inherited() |flag| flag.is_inherited = true;
    /// The usage text leaves it out.
    fn doca_argp_param_set_hidden() |flag| flag.is_hidden = true;
}

setters! { Command:
    /// Its name on the command line. Copied; NULL removes it.
    fn doca_argp_cmd_set_name(name: *const c_char) |command| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        command.name = unsafe { text(name) }
    };
    /// Its description in the usage text. Copied; NULL removes it.
    fn doca_argp_cmd_set_description(description: *const c_char) |command| {
        // SAFETY: a C string that the host keeps unchanged in this call.
        command.description = unsafe { text(description) }
    };
    /// The function for a command line that ends with the command.
    fn doca_argp_cmd_set_callback(callback: Option<ConfigCallback>) |command| {
        command.callback = callback
    };
    /// The usage text leaves it out.
    fn doca_argp_cmd_set_hidden() |command| command.is_hidden = true;
}

/// Functions whose refusal is told, each with its own name for that.
macro_rules! export {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $ty:ty),*) |$call:ident| $body:expr;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $ty),*) -> DocaError {
                let $call = stringify!($name);
                telling(|| $body)
            }
        )*
    };
}

export! {
    /// Adds a parameter, which is the library's from here on, whatever the code. `INITIALIZATION`
    /// when it lacks a name, the description, the callback or the type; `ALREADY_EXIST` for a name
    /// that is taken; `INVALID_VALUE` for one that is none.
    fn doca_argp_register_param(param: *mut Param) |call| {
        state::register(param, call, |parser, flag: Flag| parser.program.add_flag(flag))
    };
    /// Adds a command, which is the library's from here on, whatever the code. `INITIALIZATION` when
    /// it lacks the name, the description, or callback and commands; `ALREADY_EXIST` for a name that
    /// is taken; `INVALID_VALUE` for a name with a dash, a space or `=`.
    fn doca_argp_register_cmd(cmd: *mut Cmd) |call| {
        state::register(cmd, call, |parser, command: Command| parser.program.add_command(command))
    };
    /// As `doca_argp_register_param`, for a flag of a command that is not registered yet.
    fn doca_argp_cmd_register_param(cmd: *mut Cmd, param: *mut Param) |call| {
        state::register(param, call, |parser, flag: Flag| {
            parser.draft::<Command>(cmd, call)?.add_flag(flag)
        })
    };
    /// As `doca_argp_register_cmd`, for a command within a command that is not registered yet.
    fn doca_argp_cmd_register_cmd(cmd: *mut Cmd, input: *mut Cmd) |call| {
        state::register(input, call, |parser, command: Command| {
            parser.draft::<Command>(cmd, call)?.add_command(command)
        })
    };
    /// Frees a parameter that is not registered.
    fn doca_argp_param_destroy(param: *mut Param) |call| state::drop_draft::<Flag>(param, call);
    /// Frees a command that is not registered, with all that was registered with it.
    fn doca_argp_cmd_destroy(cmd: *mut Cmd) |call| state::drop_draft::<Command>(cmd, call);
    /// The function that `-v` calls instead of printing the release. A new one replaces it.
    fn doca_argp_register_version_callback(callback: Option<Callback>) |call| {
        state::set(callback, call, |parser, callback| parser.version = Some(callback))
    };
    /// The function that is called after all flags. A new one replaces it.
    fn doca_argp_register_validation_callback(callback: Option<ConfigCallback>) |call| {
        state::set(callback, call, |parser, callback| parser.validation = Some(callback))
    };
    /// The function that gets the messages instead of standard error. A new one replaces it.
    fn doca_argp_register_logger_callback(callback: Option<LoggerCallback>) |call| {
        state::set(callback, call, |parser, callback| parser.logger = Logger::Call(callback))
    };
    /// From now on no message is told.
    fn doca_argp_disable_logger_callback() |_call| {
        state::with(|parser| {
            parser.logger = Logger::Nothing;
            Ok(())
        })
    };
}

/// The function that gets the flags of DPDK, in front of `--`. A new one replaces it.
#[unsafe(no_mangle)]
extern "C" fn doca_argp_set_dpdk_program(callback: Option<DpdkCallback>) {
    told(|| {
        let call = "doca_argp_set_dpdk_program";
        state::set(callback, call, |parser, callback| parser.dpdk = Some(callback))
    });
}

/// Prints what `-h` prints, to standard output.
#[unsafe(no_mangle)]
extern "C" fn doca_argp_usage() {
    told(|| {
        let text = state::with(|parser| Ok(run::usage_of(parser, &Path::to(&parser.program))))?;
        run::print(&text);
        Ok(())
    });
}

/// The level of the program's log, once the command line was read. `BAD_STATE` before that.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_get_log_level(level: *mut c_int) -> DocaError {
    // SAFETY: NULL, or a place that the host keeps for the result.
    telling(|| unsafe { level_into(level, "doca_argp_get_log_level", run::levels().0) })
}

/// The level of the libraries' log, once the command line was read. `BAD_STATE` before that.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_get_sdk_log_level(level: *mut c_int) -> DocaError {
    // SAFETY: NULL, or a place that the host keeps for the result.
    telling(|| unsafe { level_into(level, "doca_argp_get_sdk_log_level", run::levels().1) })
}

/// # Safety
/// As [`put`].
unsafe fn level_into(place: *mut c_int, call: &str, level: u32) -> Result<(), Refusal> {
    let level = || {
        state::with(|parser| parser.require_started(call))?;
        Ok(level.cast_signed())
    };
    // SAFETY: the caller's promise.
    unsafe { put(place, call, level) }
}

/// Parses the command line and calls the callbacks. `INVALID_VALUE` for a value that is wrong or
/// missing, `NOT_SUPPORTED` for a flag or a command that is not known, `IO_FAILED` for a file that
/// cannot be read or is not JSON, or a callback's code. `-h` and `-v` end the process.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_start(argc: c_int, argv: *mut *mut c_char) -> DocaError {
    telling(|| {
        // SAFETY: the caller's arguments.
        let (raw, args) = unsafe { arguments(argc, argv) }?;
        let start = state::start(&run::file_name(args[0]))?;
        // Without `--` all flags are DPDK's, as for any program of it.
        let (for_dpdk, own) = match start.dpdk {
            Some(_) => match args.iter().position(|arg| arg.to_bytes() == b"--") {
                Some(at) => (&raw[..at], &args[at + 1..]),
                None => (raw, &[][..]),
            },
            None => (&[][..], &args[1..]),
        };
        // SAFETY: the callbacks are the caller's, as are the arguments; no lock is held.
        unsafe { run::run(&start, own, for_dpdk) }
    })
}

/// The arguments of `main`: at least the program's own name.
///
/// # Safety
/// `argv` is NULL or has `argc` C strings, or NULLs.
#[allow(clippy::type_complexity, reason = "the same twice")]
unsafe fn arguments<'a>(
    argc: c_int,
    argv: *mut *mut c_char,
) -> Result<(&'a [*mut c_char], Vec<&'a CStr>), Refusal> {
    let count = usize::try_from(argc).ok().filter(|count| *count > 0).ok_or_else(|| {
        refusal!(INVALID_VALUE, "doca_argp_start: argc is {argc}: pass that of main")
    })?;
    if argv.is_null() {
        return Err(missing("doca_argp_start: argv"));
    }
    // SAFETY: not null, and the caller promises as many.
    let argv = unsafe { std::slice::from_raw_parts(argv, count) };
    let text = |arg: &*mut c_char| {
        if arg.is_null() {
            return Err(missing("doca_argp_start: one of the arguments"));
        }
        // SAFETY: not null, and the caller promises a C string.
        Ok(unsafe { CStr::from_ptr(*arg) })
    };
    let args: Result<Vec<&CStr>, Refusal> = argv.iter().map(text).collect();
    Ok((argv, args?))
}

#[cfg(test)]
mod header_tests;
