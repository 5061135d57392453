//! `libdoca_argp.so`, `doca_argp_*`: a program's own flags beside DOCA's, from the command line and
//! from JSON files.
//!
//! Whatever is refused is also said on standard error, with the flag and what to do: most programs
//! end with a code only. No other library of a process exports these names.

mod json;
mod model;
mod parse;
mod run;
mod state;
mod usage;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;

use urom_abi::DocaError;
use urom_log::{guard, guard_or};

use model::{Action, Callback, Flag, ParamType, Refusal, refusal};
use state::Param;

/// What a message begins with when nobody named the program.
const NAMELESS: &str = "doca_argp";

/// Says why, and gives the code.
fn tell(program: Option<String>, refusal: Refusal) -> DocaError {
    let program = program.or_else(state::name);
    // Nobody may read it; the code says it, too.
    let _ =
        writeln!(std::io::stderr(), "{}: {}", program.as_deref().unwrap_or(NAMELESS), refusal.text);
    refusal.code
}

/// A guarded call whose refusal is told.
#[track_caller]
fn telling(call: impl FnOnce() -> Result<(), Refusal>) -> DocaError {
    guard(|| call().map_err(|refusal| tell(None, refusal)))
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
        // SAFETY: the caller's C string.
        let name = unsafe { text(program_name) };
        state::init(name, program_config)
    })
}

/// Ends, and frees all parameters. `BAD_STATE` before `doca_argp_init`.
#[unsafe(no_mangle)]
extern "C" fn doca_argp_destroy() -> DocaError {
    telling(state::destroy)
}

/// Makes a parameter. `BAD_STATE` before `doca_argp_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_param_create(param: *mut *mut Param) -> DocaError {
    telling(|| {
        if param.is_null() {
            return Err(missing("doca_argp_param_create: the place for the parameter"));
        }
        let created = state::create()?;
        // SAFETY: not null, and the caller's place.
        unsafe { param.write(created) };
        Ok(())
    })
}

/// The calls that set one thing of a parameter. They end with nothing, so what they do not like is
/// only told.
macro_rules! setters {
    ($($(#[$doc:meta])* fn $name:ident($value:ident: $ty:ty) $set:expr;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(param: *mut Param, $value: $ty) {
                let set: fn(&mut Flag, $ty) = $set;
                guard_or((), || {
                    if let Err(refusal) = state::change(param, stringify!($name), |flag| set(flag, $value)) {
                        tell(None, refusal);
                    }
                });
            }
        )*
    };
}

setters! {
    /// The name behind one dash. Copied; NULL is none.
    fn doca_argp_param_set_short_name(name: *const c_char) |flag, name| {
        // SAFETY: the caller's C string.
        flag.short = unsafe { text(name) };
    };
    /// The name behind two dashes, and in JSON files. Copied; NULL is none.
    fn doca_argp_param_set_long_name(name: *const c_char) |flag, name| {
        // SAFETY: the caller's C string.
        flag.long = unsafe { text(name) };
    };
    /// What the usage text calls the value. Copied; NULL is nothing.
    fn doca_argp_param_set_arguments(arguments: *const c_char) |flag, arguments| {
        // SAFETY: the caller's C string.
        flag.arguments = unsafe { text(arguments) };
    };
    /// What the usage text says of the flag. Copied; NULL is none.
    fn doca_argp_param_set_description(description: *const c_char) |flag, description| {
        // SAFETY: the caller's C string.
        flag.description = unsafe { text(description) };
    };
    /// What gets the value.
    fn doca_argp_param_set_callback(callback: Option<Callback>) |flag, callback| {
        flag.action = callback.map(Action::Call);
    };
    /// What the value is: `enum doca_argp_type`.
    fn doca_argp_param_set_type(kind: ParamType) |flag, kind| {
        flag.kind = kind;
    };
}

/// Makes the flag one that must be given, on the command line or in a file.
#[unsafe(no_mangle)]
extern "C" fn doca_argp_param_set_mandatory(param: *mut Param) {
    guard_or((), || {
        let call = "doca_argp_param_set_mandatory";
        if let Err(refusal) = state::change(param, call, |flag| flag.is_mandatory = true) {
            tell(None, refusal);
        }
    });
}

/// Adds a parameter, which is the library's from here on, whatever the code. `INITIALIZATION` when
/// it lacks a name, the description, the callback or the type; `ALREADY_EXIST` for a name that is
/// taken; `INVALID_VALUE` for one that is none.
#[unsafe(no_mangle)]
extern "C" fn doca_argp_register_param(param: *mut Param) -> DocaError {
    telling(|| state::register(param))
}

/// Parses the command line and calls the callbacks. `INVALID_VALUE` for a value that is wrong or
/// missing, `NOT_SUPPORTED` for a flag that is not known, `IO_FAILED` for a file that cannot be
/// read or is not JSON, or a callback's code. `-h` and `-v` end the process.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_argp_start(argc: c_int, argv: *mut *mut c_char) -> DocaError {
    guard(|| {
        // SAFETY: the caller's arguments.
        let args = unsafe { arguments(argc, argv) }.map_err(|refusal| tell(None, refusal))?;
        let start = state::start().map_err(|refusal| tell(None, refusal))?;
        let (program, args) =
            args.split_first().map_or((None, &[][..]), |(first, rest)| (Some(*first), rest));
        let program = start
            .name
            .clone()
            .unwrap_or_else(|| program.map_or(NAMELESS.to_owned(), run::file_name));
        // SAFETY: the callbacks are the caller's; no lock is held.
        unsafe { run::run(&start, &program, args) }.map_err(|refusal| tell(Some(program), refusal))
    })
}

/// The arguments of `main`.
///
/// # Safety
/// `argv` is NULL or has `argc` C strings, or NULLs.
unsafe fn arguments<'a>(argc: c_int, argv: *mut *mut c_char) -> Result<Vec<&'a CStr>, Refusal> {
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
    argv.iter().map(text).collect()
}

#[cfg(test)]
mod header_tests;
