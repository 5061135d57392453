//! Log lines of a plugin: through DOCA's log where the process has one, to standard error where it has not.
//!
//! In a service's worker, NVIDIA's or `uromd`'s, the process carries `doca_log`, which is looked up when the first line is
//! written; nothing links against it. Lines on standard error have DOCA's own form and its default threshold, `INFO`.
//!
//! Nothing here panics or fails, and every function may be called from any thread:
//!
//! ```
//! urom_pdk::log::info(format_args!("{} endpoints open", 4));
//! ```

use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::io::Write;
use std::panic::Location;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use urom_abi::DocaError;
use urom_abi::log::Level;

use crate::guard::contain;

/// Something failed (`DOCA_LOG_ERR`).
///
/// ```
/// urom_pdk::log::error(format_args!("no connection to worker {}", 7));
/// ```
#[track_caller]
pub fn error(text: fmt::Arguments<'_>) {
    write(Level::Error, Location::caller(), text);
}

/// Something is odd, and work goes on (`DOCA_LOG_WARN`).
///
/// ```
/// urom_pdk::log::warn(format_args!("worker {} answers slowly: {} ms", 7, 250));
/// ```
#[track_caller]
pub fn warn(text: fmt::Arguments<'_>) {
    write(Level::Warning, Location::caller(), text);
}

/// Something worth knowing happened (`DOCA_LOG_INFO`).
///
/// ```
/// urom_pdk::log::info(format_args!("{} endpoints open", 4));
/// ```
#[track_caller]
pub fn info(text: fmt::Arguments<'_>) {
    write(Level::Info, Location::caller(), text);
}

/// Details for whoever looks for a fault (`DOCA_LOG_DBG`). Standard error does not get them.
///
/// ```
/// urom_pdk::log::debug(format_args!("tag {:#x} matched", 0x70001));
/// ```
#[track_caller]
pub fn debug(text: fmt::Arguments<'_>) {
    write(Level::Debug, Location::caller(), text);
}

/// The name under which this library's lines appear: that of the plugin it is linked into.
static SOURCE: OnceLock<&'static str> = OnceLock::new();

/// Names the plugin. The first name stays; a plugin library has only one.
pub(crate) fn set_source(name: &'static str) {
    SOURCE.get_or_init(|| name);
}

fn source() -> &'static str {
    SOURCE.get().copied().unwrap_or("plugin")
}

fn write(level: Level, at: &Location<'_>, text: fmt::Arguments<'_>) {
    // The text may be formatted by foreign code, such as the `Display` of a handler's error.
    let text = contain(|| text.to_string());
    let text =
        text.unwrap_or_else(|panic| format!("(the message could not be formatted: its Display {panic})"));
    match doca() {
        Some(doca) => doca.write(level, at, text),
        None if level <= Level::Info => to_stderr(level, at, &text),
        None => {}
    }
}

/// `[HH:MM:SS:uuuuuu][thread][DOCA][INF][file:line][source] text`, time in UTC.
fn to_stderr(level: Level, at: &Location<'_>, text: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (day, micros) = (now.as_secs() % 86_400, now.subsec_micros());
    let line = format!(
        "[{:02}:{:02}:{:02}:{micros:06}][{}][DOCA][{}][{}:{}][{}] {text}\n",
        day / 3600,
        day / 60 % 60,
        day % 60,
        thread_id(),
        level.tag(),
        file_name(at),
        at.line(),
        source(),
    );
    // One write, so that lines of several threads do not mix. There is nobody to tell when it fails.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn file_name<'a>(at: &'a Location<'_>) -> &'a str {
    at.file().rsplit('/').next().unwrap_or_default()
}

fn thread_id() -> libc::pid_t {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::gettid() }
}

type LogFn = unsafe extern "C" fn(
    level: u32,
    source: c_int,
    file: *const c_char,
    line: c_int,
    function: *const c_char,
    format: *const c_char,
    ...
) -> DocaError;
type RegisterFn = unsafe extern "C" fn(name: *const c_char, source: *mut c_int) -> DocaError;

/// DOCA's log, and the number under which this plugin is known there.
struct Doca {
    log: LogFn,
    source: c_int,
}

/// Looks DOCA's log up, once.
fn doca() -> Option<&'static Doca> {
    static DOCA: OnceLock<Option<Doca>> = OnceLock::new();
    DOCA.get_or_init(|| {
        let log = lookup(c"doca_log")?;
        let register = lookup(c"doca_log_register_source")?;
        // SAFETY: the symbol is DOCA's function of that name, whose signature is `LogFn`.
        let log = unsafe { std::mem::transmute::<*mut libc::c_void, LogFn>(log) };
        // SAFETY: likewise, with `RegisterFn`.
        let register = unsafe { std::mem::transmute::<*mut libc::c_void, RegisterFn>(register) };
        let name = c_text(source().to_owned());
        let mut source = 0;
        // SAFETY: a NUL-terminated name that DOCA copies, and a place for an int.
        let registered = unsafe { register(name.as_ptr(), &mut source) };
        (registered == DocaError::SUCCESS).then_some(Doca { log, source })
    })
    .as_ref()
}

/// The address of a function anywhere in the process.
fn lookup(name: &CStr) -> Option<*mut libc::c_void> {
    if cfg!(miri) {
        return None;
    }
    // SAFETY: a NUL-terminated name; looking a symbol up loads nothing.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

impl Doca {
    fn write(&self, level: Level, at: &Location<'_>, text: String) {
        let file = c_text(file_name(at).to_owned());
        let line = c_int::try_from(at.line()).unwrap_or(0);
        let function = c_text(source().to_owned());
        let text = c_text(text);
        // SAFETY: the signature is DOCA's; the format takes exactly one string, and all strings end in NUL and outlive
        // the call.
        let _ = unsafe {
            (self.log)(
                level.number(),
                self.source,
                file.as_ptr(),
                line,
                function.as_ptr(),
                c"%s".as_ptr(),
                text.as_ptr(),
            )
        };
    }
}

/// The text for C, without the NULs that it cannot hold.
fn c_text(mut text: String) -> CString {
    text.retain(|c| c != '\0');
    CString::new(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Unprintable;

    impl fmt::Display for Unprintable {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("as the test asks");
        }
    }

    #[test]
    fn a_message_that_panics_is_replaced_and_does_not_spread() {
        error(format_args!("{Unprintable}"));
    }

    #[test]
    fn nul_bytes_do_not_cut_a_message() {
        assert_eq!(c_text("a\0b".to_owned()).as_c_str(), c"ab");
    }
}
