//! Messages on standard error, because the library runs inside any program, without a log.

use std::fmt::{Arguments, Write};

/// Writes one line. Allocates, so `malloc` must not call it.
pub(crate) fn say(line: Arguments<'_>) {
    let mut text = format!("urom_ucx_emulation[{}]: ", std::process::id());
    let _ = writeln!(text, "{line}");
    write(text.as_bytes());
}

macro_rules! note {
    ($($arguments:tt)*) => { $crate::note::say(format_args!($($arguments)*)) };
}
pub(crate) use note;

/// Writes a complete line and aborts: the program has corrupted its heap.
#[cold]
pub(crate) fn fatal(line: &str) -> ! {
    write(line.as_bytes());
    std::process::abort()
}

#[cold]
pub(crate) fn warn(line: &str) {
    write(line.as_bytes());
}

fn write(bytes: &[u8]) {
    // Ignores write errors.
    let _ = rustix::io::write(rustix::stdio::stderr(), bytes);
}
