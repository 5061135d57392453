//! Keeps standard output to what the program itself prints: UCX logs there by default, and a plugin may print.

use std::fs::File;
use std::io;

/// Standard output, taken for the program alone: what anything else of the process, and of the processes that it starts,
/// writes to standard output from now on goes to standard error. Where standard error is closed, it goes nowhere.
///
/// For programs whose output another program reads. Call it once, before other threads run.
///
/// ```
/// use std::io::Write;
///
/// let mut out = urom_service::take_stdout()?;
/// println!("for people");
/// writeln!(out, "for programs")?;
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// Standard output is closed, or there is no free descriptor.
pub fn take_stdout() -> io::Result<File> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    match rustix::stdio::dup2_stdout(rustix::stdio::stderr()) {
        Err(rustix::io::Errno::BADF) => rustix::stdio::dup2_stdout(File::create("/dev/null")?)?,
        done => done?,
    }
    Ok(File::from(own))
}
