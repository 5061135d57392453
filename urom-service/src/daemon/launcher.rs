//! Starts workers as processes of this program, or as threads of this process.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tracing::{Dispatch, dispatcher, warn};
use urom_os::signals::no_thread;

use super::config::DaemonConfig;
use super::emulation;
use super::environment::inherited;
use super::process::{Reaper, WorkerProcess};
use crate::examine::this_program;
use crate::log::Log;
use crate::metrics;
use crate::threads::RunningThread;
use crate::worker::{self, WORKER, WorkerConfig};

/// Timeout for a worker's handshake, and again for opening its plugins. Beside dozens of spinning
/// workers, a process may wait 5 s for its processor.
const READY_DEADLINE: Duration = Duration::from_secs(10);

const SLOW_START: Duration = Duration::from_secs(60);

const FOR_A_PROCESS: usize = 8;

const FOR_A_THREAD: usize = 40;

#[derive(Debug, Clone)]
pub(crate) enum Launcher {
    Process { config: Arc<DaemonConfig>, reaper: Reaper },
    Thread,
}

#[derive(Debug)]
pub(crate) enum WorkerHandle {
    Process(WorkerProcess),
    Thread(oneshot::Receiver<()>),
}

impl Launcher {
    pub(crate) fn ready_deadline(&self) -> Duration {
        match self {
            // Emulators and memory checkers are many times slower.
            Launcher::Process { config, .. } if !config.args.worker_launcher.is_empty() => {
                SLOW_START
            }
            _ => READY_DEADLINE,
        }
    }

    pub(crate) fn launch(
        &self,
        config: WorkerConfig,
        env: Vec<(OsString, OsString)>,
        page: Option<&OwnedFd>,
    ) -> io::Result<(UnixStream, WorkerHandle)> {
        ucx::require_descriptors(match self {
            Launcher::Process { .. } => FOR_A_PROCESS,
            Launcher::Thread => FOR_A_THREAD,
        })?;
        let (ours, theirs) = StdUnixStream::pair()?;
        metrics::send(&ours, page)?;
        ours.set_nonblocking(true)?;
        let handle = match self {
            Launcher::Process { config: daemon, reaper } => {
                let mut command = daemon.command(&daemon.args.worker_launcher)?;
                command.arg(WORKER).args(config.to_args());
                if let Some(level) = daemon.args.sdk_log_level
                    && std::env::var_os("UCX_LOG_LEVEL").is_none()
                {
                    command.env("UCX_LOG_LEVEL", level.ucx_name());
                }
                command.envs(env);
                if let Some(library) = &daemon.preload {
                    emulation::preload(&mut command, library);
                }
                // The stream is standard input, the simplest descriptor to pass to a child.
                command.stdin(Stdio::from(OwnedFd::from(theirs)));
                // The daemon's standard output is for its address only; plugin output is log.
                command.stdout(std::io::stderr());
                // A terminal's signals go to the daemon, which stops its workers in order.
                command.process_group(0);
                WorkerHandle::Process(WorkerProcess::start(&mut command, reaper).map_err(
                    |error| {
                        let program = command.get_program().display();
                        io::Error::new(error.kind(), format!("`{program}`: {error}"))
                    },
                )?)
            }
            Launcher::Thread => {
                if !env.is_empty() || config.cpus.is_some() {
                    warn!(
                        "worker {} is a thread of this process: it shares the process's environment and CPUs, and what \
                         was set for it alone has no effect",
                        config.id
                    );
                }
                WorkerHandle::Thread(thread(config, theirs)?)
            }
        };
        Ok((UnixStream::from_std(ours)?, handle))
    }
}

impl DaemonConfig {
    pub(super) fn command(&self, launcher: &[OsString]) -> io::Result<Command> {
        let mut command = match launcher.split_first() {
            None => this_program(&self.worker_words)?,
            // `/proc/self/exe` would lead an emulator or debugger to itself.
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(std::env::current_exe()?).args(&self.worker_words);
                command
            }
        };
        let (given, listen) = (&self.args.worker_env, self.args.listen.ip());
        command.env_clear().envs(inherited(std::env::vars_os(), given, listen));
        Ok(command)
    }
}

fn thread(mut config: WorkerConfig, stream: StdUnixStream) -> io::Result<oneshot::Receiver<()>> {
    config.cpus = None;
    let (done, is_done) = oneshot::channel::<()>();
    let alive = RunningThread::new();
    let log = dispatcher::get_default(|current| match current.downcast_ref::<Log>() {
        Some(log) => Dispatch::new(log.named(format!("worker {}", config.id))),
        None => current.clone(),
    });
    let thread = std::thread::Builder::new().name(format!("urom-worker-{}", config.id));
    let started = thread.spawn(move || {
        // Dropped at the end of the thread, even after a panic.
        let (_done, _alive) = (done, alive);
        dispatcher::with_default(&log, || worker::run(config, stream, worker::WorkerKind::Thread));
    });
    started.map(|_| is_done).map_err(no_thread)
}

impl WorkerHandle {
    pub(crate) fn process(&self) -> String {
        match self {
            WorkerHandle::Process(process) => format!(" (process {})", process.id()),
            WorkerHandle::Thread(_) => String::new(),
        }
    }

    pub(crate) async fn ended(&mut self) -> String {
        let which = self.process();
        match self {
            WorkerHandle::Process(process) => match process.ended().await {
                Ok(status) => format!("it ended{which}: {status}"),
                Err(error) => format!("it cannot be waited for{which}: {error}"),
            },
            WorkerHandle::Thread(done) => {
                // Completes once, when the other end is dropped; nothing is sent.
                if !done.is_terminated() {
                    let _ = done.await;
                }
                "its thread ended".to_owned()
            }
        }
    }

    pub(crate) fn kill(&self) {
        if let WorkerHandle::Process(process) = self {
            process.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_thread_is_told_again() {
        let (done, is_done) = oneshot::channel();
        let mut handle = WorkerHandle::Thread(is_done);
        drop(done);
        assert_eq!(handle.ended().await, "its thread ended");
        assert_eq!(handle.ended().await, "its thread ended");
    }
}
