//! `doca_argp_start`: reads the command line and its files, then runs the callbacks.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use urom_abi::DocaStatus;
use urom_abi::version::RELEASE;
use urom_log::backend::{BACKENDS, LevelBound};

use crate::argp::command::CommandPath;
use crate::argp::model::{ArgpError, Callback, Flag, FlagAction, FlagValue, ParsedFlag, refusal};
use crate::argp::parse::{CommandLine, parse};
use crate::argp::state::{ConfigPointer, Parser};
use crate::argp::{NAMELESS, json, usage};

pub(crate) fn file_name(path: &CStr) -> String {
    let path = std::path::Path::new(OsStr::from_bytes(path.to_bytes()));
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Reads command line and files, then calls the program: DPDK, file flags that the command line
/// lacks, command-line flags, validation, command. Errors prevent all calls. `-h` and `-v` exit.
///
/// # Safety
/// The callbacks are the program's, with DOCA's arguments. `for_dpdk` are C strings.
pub(crate) unsafe fn run(
    start: &Parser,
    args: &[&CStr],
    for_dpdk: &[*mut c_char],
) -> Result<(), ArgpError> {
    let CommandLine { path, found } = parse(&start.program, args)?;
    match found.last().and_then(|found| found.flag.action) {
        Some(FlagAction::Help) => end(&usage_of(start, &path)),
        // SAFETY: the caller's promise.
        Some(FlagAction::Version) => return unsafe { version(start) },
        _ => {}
    }
    let found = with_files(&path, found)?;
    check(&path, &found)?;
    for ParsedFlag { flag, value } in &found {
        let FlagValue::Int(level) = value else { continue };
        let level = level.unsigned_abs();
        let set = match flag.action {
            Some(FlagAction::LogLevel) => BACKENDS.set_global_limit(LevelBound::Lower, level),
            Some(FlagAction::SdkLogLevel) => BACKENDS.set_global_sdk_limit(level),
            _ => continue,
        };
        let what = || format!("flag {flag}: the log does not take the level");
        taken(set.into(), what)?;
    }
    if let Some(dpdk) = start.dpdk {
        let mut argv = [for_dpdk, &[ptr::null_mut()]].concat();
        let count = c_int::try_from(for_dpdk.len()).unwrap_or(c_int::MAX);
        // SAFETY: the caller's promise; NULL-terminated like the arguments of `main`.
        let status = unsafe { dpdk(count, argv.as_mut_ptr()) };
        taken(status, || "the program does not take the flags of DPDK".to_owned())?;
    }
    for ParsedFlag { flag, value } in found {
        if let Some(FlagAction::Call(callback)) = flag.action {
            // SAFETY: the caller's promise.
            let status = unsafe { call(callback, value, start.config) };
            taken(status, || format!("the program does not take the value of flag {flag}"))?;
        }
    }
    if let Some(callback) = start.validation {
        // SAFETY: the caller's promise.
        let status = unsafe { callback(start.config.0) };
        taken(status, || "the program does not take its flags together".to_owned())?;
    }
    let command = path.last();
    if let Some(callback) = command.callback {
        // SAFETY: the caller's promise.
        let status = unsafe { callback(start.config.0) };
        taken(status, || format!("command {} failed", command.shown()))?;
    }
    Ok(())
}

fn taken(status: DocaStatus, what: impl FnOnce() -> String) -> Result<(), ArgpError> {
    status.check().map_err(|code| refusal!(code = code, "{}: {code}", what()))
}

/// # Safety
/// As [`run`].
unsafe fn version(start: &Parser) -> Result<(), ArgpError> {
    let Some(callback) = start.version else { end(&format!("DOCA version: {RELEASE}\n")) };
    // SAFETY: the caller's promise.
    let status = unsafe { call(callback, FlagValue::Bool(true), start.config) };
    taken(status, || "the program does not print its version".to_owned())?;
    end("")
}

pub(crate) fn usage_of(parser: &Parser, path: &CommandPath<'_>) -> String {
    let program = parser.name.as_deref().unwrap_or(NAMELESS);
    usage::usage(program, path, parser.dpdk.is_some())
}

/// Prints a text after the program's buffered output.
pub(crate) fn print(text: &str) {
    // SAFETY: NULL flushes all streams.
    unsafe { libc::fflush(ptr::null_mut()) };
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn end(text: &str) -> ! {
    print(text);
    std::process::exit(0)
}

/// Prepends the flags of JSON files. The command line overrides them.
fn with_files<'a>(
    path: &CommandPath<'a>,
    given: Vec<ParsedFlag<'a>>,
) -> Result<Vec<ParsedFlag<'a>>, ArgpError> {
    let mut found = Vec::new();
    for ParsedFlag { flag, value } in &given {
        if let (Some(FlagAction::Json), FlagValue::Text(file)) = (flag.action, value) {
            found.extend(json::read(path, file)?);
        }
    }
    found.retain(|of_file| given.iter().all(|given| !given.is_of(of_file.flag)));
    found.extend(given);
    Ok(found)
}

fn check(path: &CommandPath<'_>, found: &[ParsedFlag<'_>]) -> Result<(), ArgpError> {
    let given = || found.iter().map(|found| found.flag).filter(|flag| flag.is_programs());
    let times = |flag: &Flag| found.iter().filter(|found| found.is_of(flag)).count();
    if let Some(flag) = given().find(|flag| !flag.is_multiple && times(flag) > 1) {
        return Err(refusal!(
            INVALID_VALUE,
            "flag {flag} is given {} times: once is enough",
            times(flag)
        ));
    }
    if let Some(flag) = given().find(|flag| flag.is_singular) {
        let alone = |other: String| {
            Err(refusal!(INVALID_VALUE, "flag {flag} stands alone: leave out {other}"))
        };
        let last = path.last();
        if !flag.is_inherited && !last.flags.iter().any(|own| ptr::eq(own, flag)) {
            return alone(format!("command {}", last.shown()));
        }
        let other = given().find(|other| !ptr::eq(*other, flag));
        return other.map_or(Ok(()), |other| alone(other.to_string()));
    }
    let all = path.commands().iter().flat_map(|command| &command.flags);
    let missing: Vec<String> =
        all.filter(|flag| flag.is_mandatory && times(flag) == 0).map(Flag::to_string).collect();
    match &*missing {
        [] if path.last().needs_command() => Err(path.last().missing_command()),
        [] => Ok(()),
        [one] => Err(refusal!(INVALID_VALUE, "flag {one} is required; -h explains it")),
        more => {
            Err(refusal!(INVALID_VALUE, "flags {} are required; -h explains them", more.join(", ")))
        }
    }
}

/// # Safety
/// The callback is the program's.
unsafe fn call(callback: Callback, value: FlagValue, config: ConfigPointer) -> DocaStatus {
    let (mut text, mut number, mut is_set);
    let param: *mut c_void = match value {
        FlagValue::Text(given) => {
            // The program may modify the text.
            text = given.into_bytes_with_nul();
            text.as_mut_ptr().cast()
        }
        FlagValue::Int(given) => {
            number = given;
            (&raw mut number).cast()
        }
        FlagValue::Bool(given) => {
            is_set = given;
            (&raw mut is_set).cast()
        }
    };
    // SAFETY: a C string, an int or a bool, as DOCA specifies for the type; it outlives the call.
    unsafe { callback(param, config.0) }
}
