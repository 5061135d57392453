//! Messages on standard error, because the library runs inside any program, without a log.

use std::fmt::{Arguments, Write};

/// Writes one line. Allocates, so `malloc` must not call it.
pub(crate) fn say(line: Arguments<'_>) {
    let mut text = format!("urom_ucx_emulation[{}]: ", std::process::id());
    let _ = writeln!(text, "{line}");
    warn(&text);
}

macro_rules! note {
    ($($arguments:tt)*) => { $crate::note::say(format_args!($($arguments)*)) };
}
pub(crate) use note;

/// Writes a complete line and aborts: the program has corrupted its heap.
#[cold]
pub(crate) fn fatal(line: &str) -> ! {
    warn(line);
    std::process::abort()
}

#[cold]
pub(crate) fn warn(line: &str) {
    // Ignores write errors.
    let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
}
