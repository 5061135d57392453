//! Where messages go: to standard error, or to a function of the program's, which gets them as
//! `vprintf` does.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::io::Write;
use std::ptr;

use urom_abi::DocaError;
use urom_abi::log::Level;

/// `doca_argp_logger_cb_t`.
pub(crate) type LoggerCallback =
    unsafe extern "C" fn(level: c_uint, format: *const c_char, arguments: VaList) -> DocaError;

#[derive(Clone, Copy)]
pub(crate) enum Logger {
    Standard,
    Nothing,
    Call(LoggerCallback),
}

impl Logger {
    /// Writes a message, or passes it on. On standard error it begins with the program's name.
    pub(crate) fn tell(self, program: &str, text: &str) {
        match self {
            // A closed stream fails nothing: the caller also gets a code.
            Logger::Standard => drop(writeln!(std::io::stderr(), "{program}: {text}")),
            Logger::Nothing => {}
            Logger::Call(callback) => {
                const FORMAT: &CStr = c"%s";
                // Texts of the program's come from C strings, and bytes of arguments are escaped.
                let text = CString::new(text).unwrap_or_default();
                let texts = [text.as_ptr()];
                with_list(&texts, |list| {
                    // SAFETY: the program's function, a format with one text, and a list of it.
                    // Its code changes nothing.
                    unsafe { callback(Level::Error.number(), FORMAT.as_ptr(), list) };
                });
            }
        }
    }
}

/// C's `va_list` as an argument: the address of where the arguments are.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct VaList(*mut Arguments);

/// How far the registers that a function saved were read, and where the other arguments are.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
struct Arguments {
    general_offset: c_uint,
    floating_offset: c_uint,
    in_memory: *const c_void,
    registers: *const c_void,
}

/// A list of texts that are all in memory, as if the registers were read already.
#[cfg(target_arch = "x86_64")]
fn with_list(texts: &[*const c_char], call: impl FnOnce(VaList)) {
    // 6 general registers of 8 bytes and 8 floating ones of 16: behind them is nothing.
    let mut arguments = Arguments {
        general_offset: 48,
        floating_offset: 48 + 128,
        in_memory: texts.as_ptr().cast(),
        registers: ptr::null(),
    };
    call(VaList(&raw mut arguments));
}

/// C's `va_list`: where the arguments in memory are, and how far the registers that a function
/// saved were read.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct VaList {
    in_memory: *const c_void,
    general_end: *const c_void,
    floating_end: *const c_void,
    general_offset: std::ffi::c_int,
    floating_offset: std::ffi::c_int,
}

/// A list of texts that are all in memory, as if the registers were read already.
#[cfg(target_arch = "aarch64")]
fn with_list(texts: &[*const c_char], call: impl FnOnce(VaList)) {
    call(VaList {
        in_memory: texts.as_ptr().cast(),
        general_end: ptr::null(),
        floating_end: ptr::null(),
        general_offset: 0,
        floating_offset: 0,
    });
}
