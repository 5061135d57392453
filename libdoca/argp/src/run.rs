//! `doca_argp_start`: reads the command line and its files, then acts on the flags.

use std::ffi::{CStr, OsStr, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use urom_abi::DocaError;
use urom_abi::version::RELEASE;

use crate::model::{Action, Callback, Flag, Found, Refusal, Value, refusal};
use crate::parse::parse;
use crate::state::{Config, Parser};
use crate::{json, usage};

// Of libdoca_common.
#[cfg(not(test))]
unsafe extern "C" {
    safe fn doca_log_level_set_global_lower_limit(level: u32) -> DocaError;
    safe fn doca_log_level_set_global_sdk_limit(level: u32) -> DocaError;
}

/// What the program is called when nobody says: by the path it was started with.
pub(crate) fn file_name(path: &CStr) -> String {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Parses, and calls the program for each flag: first those of JSON files that the command line
/// does not have, then those of the command line. Nothing is called when anything is wrong with any
/// of them. `-h` and `-v` end the process.
///
/// # Safety
/// The callbacks are of the program's, and get what DOCA gives them.
pub(crate) unsafe fn run(start: &Parser, program: &str, args: &[&CStr]) -> Result<(), Refusal> {
    let flags = &*start.flags;
    let given = parse(flags, args)?;
    match given.last().and_then(|found| flags[found.flag].action) {
        Some(Action::Help) => end(&usage::usage(program, flags)),
        Some(Action::Version) => end(&format!("DOCA version: {RELEASE}\n")),
        _ => {}
    }
    let found = with_files(flags, given)?;
    check_mandatory(flags, &found)?;
    for Found { flag, value } in &found {
        let (flag, Value::Int(level)) = (&flags[*flag], value) else { continue };
        let level = level.unsigned_abs();
        let set = match flag.action {
            Some(Action::LogLevel) => doca_log_level_set_global_lower_limit(level),
            Some(Action::SdkLogLevel) => doca_log_level_set_global_sdk_limit(level),
            _ => continue,
        };
        set.check().map_err(|code| {
            refusal!(code = code, "flag {flag}: the log does not take the level: {code}")
        })?;
    }
    for Found { flag, value } in found {
        let flag = &flags[flag];
        if let Some(Action::Call(callback)) = flag.action {
            // SAFETY: the caller's promise.
            let code = unsafe { call(callback, value, start.config) };
            code.check().map_err(|code| {
                refusal!(code = code, "the program does not take the value of flag {flag}: {code}")
            })?;
        }
    }
    Ok(())
}

/// Prints a text behind all that the program has printed, and ends the process as `exit(0)` does.
fn end(text: &str) -> ! {
    // SAFETY: NULL is every stream.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let mut out = std::io::stdout();
    // Nobody may read it, which is no reason not to end.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    std::process::exit(0)
}

/// The flags of JSON files before those that were given. What was given wins.
fn with_files(flags: &[Flag], given: Vec<Found>) -> Result<Vec<Found>, Refusal> {
    let mut found = Vec::new();
    for Found { flag, value } in &given {
        if let (Some(Action::Json), Value::Text(path)) = (flags[*flag].action, value) {
            found.extend(json::read(flags, path)?);
        }
    }
    found.retain(|of_file| given.iter().all(|given| given.flag != of_file.flag));
    found.extend(given);
    Ok(found)
}

fn check_mandatory(flags: &[Flag], found: &[Found]) -> Result<(), Refusal> {
    let is_missing = |(at, flag): &(usize, &Flag)| {
        flag.is_mandatory && found.iter().all(|found| found.flag != *at)
    };
    let missing: Vec<String> =
        flags.iter().enumerate().filter(is_missing).map(|(_, flag)| flag.to_string()).collect();
    match &*missing {
        [] => Ok(()),
        [one] => Err(refusal!(INVALID_VALUE, "flag {one} is required; -h explains it")),
        more => {
            Err(refusal!(INVALID_VALUE, "flags {} are required; -h explains them", more.join(", ")))
        }
    }
}

/// Calls the program with a value.
///
/// # Safety
/// The callback is the program's.
unsafe fn call(callback: Callback, value: Value, config: Config) -> DocaError {
    match value {
        Value::Text(text) => {
            // A program may write to its characters.
            let mut text = text.into_bytes_with_nul();
            // SAFETY: a C string that lives on until the program has copied it.
            unsafe { callback(text.as_mut_ptr().cast::<c_void>(), config.0) }
        }
        Value::Int(mut number) => {
            // SAFETY: an int of the type DOCA promises.
            unsafe { callback((&raw mut number).cast(), config.0) }
        }
        Value::Bool(mut is_set) => {
            // SAFETY: a bool of the type DOCA promises.
            unsafe { callback((&raw mut is_set).cast(), config.0) }
        }
    }
}

#[cfg(test)]
use without_common::{doca_log_level_set_global_lower_limit, doca_log_level_set_global_sdk_limit};

/// Unit tests parse, and are not linked with libdoca_common: nothing of theirs reaches its log.
#[cfg(test)]
mod without_common {
    use urom_abi::DocaError;

    pub(super) fn doca_log_level_set_global_lower_limit(_: u32) -> DocaError {
        DocaError::NOT_SUPPORTED
    }

    pub(super) fn doca_log_level_set_global_sdk_limit(_: u32) -> DocaError {
        DocaError::NOT_SUPPORTED
    }
}
