//! Child processes that end with this program, and waits with a timeout.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal};

use crate::shell;

/// A child in its own process group. Dropping it kills the group. If this program ends without a
/// drop, the kernel sends the child SIGTERM.
pub(crate) struct GuardedChild {
    pub(crate) child: Child,
    name: String,
}

impl GuardedChild {
    /// Starts `command`. Only for the main thread: the kernel watches the starting thread.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = shell::display(command);
        let parent = rustix::process::getpid();
        command.process_group(0);
        let bind_to_parent = move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            // If the parent has already ended, the kernel does not send the signal.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(std::io::ErrorKind::Other.into())
            }
        };
        // SAFETY: between fork and exec the closure makes two system calls and builds an error
        // without allocating. It does not lock, and accesses only its own copy of `parent`.
        unsafe { command.pre_exec(bind_to_parent) };
        let child = command.spawn().with_context(|| format!("could not start `{name}`"))?;
        Ok(Self { child, name })
    }

    /// Waits until the child has ended, at most `limit`. After the timeout the child still runs.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            let (name, seconds) = (&self.name, limit.as_secs_f64());
            ensure!(Instant::now() < deadline, "`{name}` did not end within {seconds} s");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends SIGTERM, and waits at most `limit`.
    pub(crate) fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        rustix::process::kill_process(self.pid(), Signal::TERM)
            .with_context(|| format!("could not signal `{}`", self.name))?;
        self.wait(limit)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for GuardedChild {
    fn drop(&mut self) {
        // Fails if the group has already ended.
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    const LONG: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> GuardedChild {
        GuardedChild::start(Command::new("sh").args(["-c", script]).stdout(Stdio::piped()))
            .expect("sh starts")
    }

    #[test]
    fn the_end_of_a_child_is_seen_with_its_status() {
        assert_eq!(shell("exit 7").wait(LONG).expect("it ends").code(), Some(7));
    }

    #[test]
    fn a_child_that_does_not_end_is_an_error_that_names_it() {
        let mut child = shell("sleep 1000");
        let error = child.wait(Duration::ZERO).expect_err("it sleeps");
        assert!(error.to_string().contains("sleep 1000"), "{error}");
    }

    #[test]
    fn a_child_receives_sigterm_before_sigkill() {
        let mut child = shell("trap 'exit 5' TERM; echo ready; sleep 1000 & wait");
        let mut line = String::new();
        let output = child.child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it prints a line");
        assert_eq!(child.terminate(LONG).expect("it ends").code(), Some(5));
        assert_eq!(child.terminate(LONG).expect("it has ended").code(), Some(5));
    }

    #[test]
    fn dropping_kills_what_the_child_itself_started() {
        let mut child = shell("sleep 1000 & echo ready; wait");
        let mut output = BufReader::new(child.child.stdout.take().expect("it is piped"));
        output.read_line(&mut String::new()).expect("it prints a line");
        drop(child);
        // The grandchild also holds the pipe, so it ends when both are dead.
        assert_eq!(output.read_to_end(&mut Vec::new()).expect("the pipe is readable"), 0);
    }
}
