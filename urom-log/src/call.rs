//! A call of `doca_log`: the C file formats the text between the two functions here.

use std::arch::global_asm;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use urom_abi::log::Level;
use urom_abi::{DocaError, DocaStatus};

use crate::backend::{BACKENDS, BackendKind};
use crate::guard::{guard, guard_or};
use crate::line::Origin;

/// An output of lines.
pub trait Output: Send + Sync {
    /// Returns whether a line of this level is written.
    fn wants(&self, level: Level) -> bool;

    /// Writes a line of any level.
    fn write(&self, origin: &Origin<'_>, text: &str);
}

static PROCESS: OnceLock<&'static dyn Output> = OnceLock::new();

/// Sends all lines to `log`, as daemon and workers do, not to backends. The first call wins.
pub fn set_process_log(log: &'static dyn Output) {
    let _ = PROCESS.set(log);
}

unsafe extern "C" {
    /// `doca_log` in the C file; only [`export_doca_log`](crate::export_doca_log) uses it.
    ///
    /// # Safety
    /// Same as `printf`: arguments fit the format; strings end in NUL or are null (refused).
    pub fn urom_doca_log(
        level: u32,
        source: c_int,
        file: *const c_char,
        line: c_int,
        func: *const c_char,
        format: *const c_char,
        ...
    ) -> DocaStatus;
}

// An attribute would also export these names from every C library that contains this crate.
#[cfg(target_arch = "x86_64")]
macro_rules! jump_to {
    ($name:literal) => {
        concat!(".hidden ", $name, "\n.globl ", $name, "\n", $name, ": jmp {}")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump_to {
    ($name:literal) => {
        concat!(".hidden ", $name, "\n.globl ", $name, "\n", $name, ": b {}")
    };
}
global_asm!(jump_to!("urom_doca_log_wanted"), sym wanted);
global_asm!(jump_to!("urom_doca_log_line"), sym line);

/// Returns whether to format a line; if not, `why_not` is the result of `doca_log`.
unsafe extern "C" fn wanted(
    level: u32,
    file: *const c_char,
    func: *const c_char,
    format: *const c_char,
    why_not: *mut DocaStatus,
) -> c_int {
    let mut answer = DocaStatus::UNEXPECTED;
    let wanted = guard_or(false, || {
        let level = Level::from_number(level);
        let (Some(level), false) = (level, file.is_null() || func.is_null() || format.is_null())
        else {
            answer = DocaStatus::INVALID_VALUE;
            return false;
        };
        answer = DocaStatus::SUCCESS;
        match PROCESS.get() {
            Some(log) => log.wants(level),
            None => BACKENDS.takers(BackendKind::Program, level).next().is_some(),
        }
    });
    // SAFETY: the C file passes the address of a local variable.
    unsafe { why_not.write(answer) };
    c_int::from(wanted)
}

unsafe extern "C" fn line(
    level: u32,
    file: *const c_char,
    line: c_int,
    func: *const c_char,
    text: *const u8,
    len: usize,
) -> DocaStatus {
    guard(|| {
        let level = Level::from_number(level).ok_or(DocaError::INVALID_VALUE)?;
        // SAFETY: `wanted` has checked for null, and the caller promises a C string.
        let file = unsafe { lossy(file) };
        // SAFETY: `wanted` has checked for null, and the caller promises a C string.
        let function = unsafe { lossy(func) };
        // SAFETY: the C file passes its buffer and the length that it has written.
        let text = unsafe { std::slice::from_raw_parts(text, len) };
        let origin = Origin {
            level,
            file: &file,
            line: u32::try_from(line).unwrap_or(0),
            function: Some(&function),
        };
        let text = String::from_utf8_lossy(text);
        match PROCESS.get() {
            Some(log) => log.write(&origin, &text),
            None => write(BackendKind::Program, &origin, &text),
        }
        Ok(())
    })
}

/// # Safety
/// The string ends in NUL and outlives the use of the text.
unsafe fn lossy<'a>(text: *const c_char) -> Cow<'a, str> {
    // SAFETY: the caller vouches for a C string that outlives the result.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

pub(crate) fn write(kind: BackendKind, origin: &Origin<'_>, text: &str) {
    let mut takers = BACKENDS.takers(kind, origin.level).peekable();
    if takers.peek().is_some() {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let line = origin.line(thread, "DOCA", text);
        takers.for_each(|backend| backend.write(&line));
    }
}
