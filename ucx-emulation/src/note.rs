//! Lines on standard error: this library has no log of its own, and may be in any program.

use std::fmt::{Arguments, Write};

/// Writes one line. It allocates, so `malloc` must not call it.
pub(crate) fn say(line: Arguments<'_>) {
    let mut text = format!("urom_ucx_emulation[{}]: ", std::process::id());
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{line}");
    write(text.as_bytes());
}

/// The same with `format!`'s arguments.
macro_rules! note {
    ($($arguments:tt)*) => { $crate::note::say(format_args!($($arguments)*)) };
}
pub(crate) use note;

/// Ends the process with a line that is ready to be written: what `malloc` does about a program
/// that has damaged its heap.
#[cold]
pub(crate) fn fatal(line: &str) -> ! {
    write(line.as_bytes());
    std::process::abort()
}

/// Writes a line that is ready to be written, without allocating.
#[cold]
pub(crate) fn warn(line: &str) {
    write(line.as_bytes());
}

fn write(bytes: &[u8]) {
    // There is nobody to tell that it failed.
    let _ = rustix::io::write(rustix::stdio::stderr(), bytes);
}
