//! DOCA's log, if the process has it.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

use urom_abi::DocaStatus;

use super::out::LogLine;

type LogFn = unsafe extern "C" fn(
    level: u32,
    source: c_int,
    file: *const c_char,
    line: c_int,
    function: *const c_char,
    format: *const c_char,
    ...
) -> DocaStatus;
type RegisterFn = unsafe extern "C" fn(name: *const c_char, source: *mut c_int) -> DocaStatus;

pub(super) struct DocaLog {
    log: LogFn,
    source: c_int,
}

pub(super) fn doca(source: &str) -> Option<&'static DocaLog> {
    static DOCA: OnceLock<Option<DocaLog>> = OnceLock::new();
    DOCA.get_or_init(|| {
        let log = lookup(c"doca_log")?;
        let register = lookup(c"doca_log_register_source")?;
        // SAFETY: the symbol is DOCA's function of that name, whose signature is `LogFn`.
        let log = unsafe { std::mem::transmute::<*mut libc::c_void, LogFn>(log) };
        // SAFETY: as above, with `RegisterFn`.
        let register = unsafe { std::mem::transmute::<*mut libc::c_void, RegisterFn>(register) };
        let name = c_text(source);
        let mut source = 0;
        // SAFETY: `name` ends in NUL, DOCA copies it, and `source` is a writable int.
        let registered = unsafe { register(name.as_ptr(), &mut source) };
        (registered == DocaStatus::SUCCESS).then_some(DocaLog { log, source })
    })
    .as_ref()
}

fn lookup(name: &CStr) -> Option<*mut libc::c_void> {
    if cfg!(miri) {
        return None;
    }
    // SAFETY: `name` ends in NUL, and looking up a symbol loads nothing.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

pub(super) fn write(doca: &DocaLog, line: &LogLine<'_>, source: &str) {
    let file = c_text(line.at.file.rsplit('/').next().unwrap_or_default());
    let number = c_int::try_from(line.at.line).unwrap_or(0);
    let (function, text) = (c_text(source), c_text(line.text));
    // SAFETY: DOCA's signature, one `%s`; all strings end in NUL and outlive the call.
    let _ = unsafe {
        (doca.log)(
            line.level.number(),
            doca.source,
            file.as_ptr(),
            number,
            function.as_ptr(),
            c"%s".as_ptr(),
            text.as_ptr(),
        )
    };
}

fn c_text(text: &str) -> CString {
    let mut text = text.to_owned();
    text.retain(|c| c != '\0');
    CString::new(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_bytes_do_not_cut_a_message() {
        assert_eq!(c_text("a\0b").as_c_str(), c"ab");
    }
}
