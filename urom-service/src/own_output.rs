use std::fs::File;
use std::io;

/// Takes standard output for the program alone. Later output of other code in the process, and of
/// child processes, goes to standard error, or nowhere if closed.
///
/// For programs whose output another program reads. Call it once, before other threads run.
///
/// # Errors
/// Standard output is closed, or no descriptor is free.
pub fn take_stdout() -> io::Result<File> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    match rustix::stdio::dup2_stdout(rustix::stdio::stderr()) {
        Err(rustix::io::Errno::BADF) => rustix::stdio::dup2_stdout(File::create("/dev/null")?)?,
        done => done?,
    }
    Ok(File::from(own))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Command;

    use super::*;

    #[test]
    #[ignore = "the other process of the next test"]
    fn a_program_without_standard_error() {
        // SAFETY: this process runs only this test, and its parent reads the output.
        unsafe { libc::close(2) };
        let mut own = take_stdout().unwrap();
        std::io::stdout().write_all(b"for people\n").unwrap();
        writeln!(own, "for programs").unwrap();
        std::process::exit(0);
    }

    #[test]
    fn where_standard_error_is_closed_what_others_print_goes_nowhere() {
        let mut program = Command::new(std::env::current_exe().unwrap());
        let test = "own_output::tests::a_program_without_standard_error";
        program.args(["--exact", "--ignored", "--nocapture", test]);
        let output = program.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("for programs") && !text.contains("for people"), "{text}");
    }
}
