//! Message output: standard error, or a `vprintf`-like function of the program.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::io::Write;
use std::ptr;

use urom_abi::DocaStatus;
use urom_abi::log::Level;

pub(crate) type LoggerCallback =
    unsafe extern "C" fn(level: c_uint, format: *const c_char, arguments: VaList) -> DocaStatus;

#[derive(Clone, Copy)]
pub(crate) enum Logger {
    Standard,
    Nothing,
    Call(LoggerCallback),
}

impl Logger {
    pub(crate) fn log(self, program: &str, text: &str) {
        match self {
            // Ignores a closed stream: the caller also gets an error code.
            Logger::Standard => drop(writeln!(std::io::stderr(), "{program}: {text}")),
            Logger::Nothing => {}
            Logger::Call(callback) => {
                const FORMAT: &CStr = c"%s";
                // The text does not contain NUL: it is from C strings and escaped bytes.
                let text = CString::new(text).unwrap_or_default();
                let texts = [text.as_ptr()];
                with_list(&texts, |list| {
                    // SAFETY: the program's function, with a format `%s` and one text.
                    unsafe { callback(Level::Error.number(), FORMAT.as_ptr(), list) };
                });
            }
        }
    }
}

/// C's `va_list` as an argument: a pointer to the list.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct VaList(*mut Arguments);

/// C's `va_list`: offsets into the saved registers, and the arguments in memory.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
struct Arguments {
    general_offset: c_uint,
    floating_offset: c_uint,
    in_memory: *const c_void,
    registers: *const c_void,
}

/// Builds a list with all texts in memory, as if all registers were consumed.
#[cfg(target_arch = "x86_64")]
fn with_list(texts: &[*const c_char], call: impl FnOnce(VaList)) {
    // The end of 6 general registers of 8 bytes and 8 floating-point registers of 16.
    let mut arguments = Arguments {
        general_offset: 48,
        floating_offset: 48 + 128,
        in_memory: texts.as_ptr().cast(),
        registers: ptr::null(),
    };
    call(VaList(&raw mut arguments));
}

/// C's `va_list`: the arguments in memory, and offsets into the saved registers.
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
