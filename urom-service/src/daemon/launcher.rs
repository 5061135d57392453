//! Starting workers: as processes of this same program, or as threads of this process.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tracing::{Dispatch, dispatcher, warn};

use super::config::DaemonConfig;
use super::environment;
use super::examiner::Examiner;
use super::process::{Process, Reaper, command};
use crate::log::{Log, LogLevel};
use crate::threads::Alive;
use crate::worker::{self, WorkerConfig};

/// How long a worker may take to say hello, and again to open its plugins. Beside dozens of workers
/// that spin, a process was seen to wait 5 s for its processor.
const READY_DEADLINE: Duration = Duration::from_secs(10);

/// The same where a launcher makes it slow.
const SLOW_START: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(crate) enum Launcher {
    Process {
        config: Arc<DaemonConfig>,
        reaper: Reaper,
    },
    /// Each one a thread, for the embedded service.
    Thread,
}

#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) stream: UnixStream,
    pub(crate) first_word: Duration,
    pub(crate) body: Body,
}

/// A worker's process or thread. Dropping this kills a process.
#[derive(Debug)]
pub(crate) enum Body {
    Process(Process),
    Thread(oneshot::Receiver<()>),
}

impl Launcher {
    pub(crate) fn ready_deadline(&self) -> Duration {
        match self {
            // An emulator or a memory checker makes it many times slower.
            Launcher::Process { config, .. } if !config.worker_launcher().is_empty() => SLOW_START,
            _ => READY_DEADLINE,
        }
    }

    pub(crate) fn examiner(&self, listen: IpAddr) -> Examiner {
        match self {
            Launcher::Process { config, .. } => {
                let given = &config.args.worker_env;
                let env = environment::inherited(std::env::vars_os(), given, listen);
                Examiner::Process { config: Arc::clone(config), env }
            }
            Launcher::Thread => Examiner::Thread,
        }
    }

    pub(crate) fn launch(
        &self,
        config: WorkerConfig,
        env: Vec<(OsString, OsString)>,
    ) -> io::Result<Launched> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let body = match self {
            Launcher::Process { config: daemon, reaper } => {
                let mut command = command(daemon.worker_launcher(), &daemon.worker_words)?;
                command.arg("worker").args(config.to_args());
                let (own, given) = (std::env::vars_os(), &daemon.args.worker_env);
                command.env_clear().envs(environment::inherited(own, given, config.listen));
                Body::Process(process(command, env, daemon.args.sdk_log_level, theirs, reaper)?)
            }
            Launcher::Thread => {
                if !env.is_empty() || config.cpus.is_some() {
                    warn!(
                        "worker {} is a thread of this process: it shares the process's environment and CPUs, and what \
                         was set for it alone has no effect",
                        config.id
                    );
                }
                Body::Thread(thread(config, theirs)?)
            }
        };
        Ok(Launched {
            stream: UnixStream::from_std(ours)?,
            first_word: self.ready_deadline(),
            body,
        })
    }
}

fn process(
    mut command: Command,
    env: Vec<(OsString, OsString)>,
    ucx_log: Option<LogLevel>,
    stream: StdUnixStream,
    reaper: &Reaper,
) -> io::Result<Process> {
    if let Some(level) = ucx_log
        && std::env::var_os("UCX_LOG_LEVEL").is_none()
    {
        command.env("UCX_LOG_LEVEL", level.ucx_name());
    }
    command.envs(env);
    // The stream is the worker's standard input: the one descriptor a child can be given without
    // any trick.
    command.stdin(Stdio::from(OwnedFd::from(stream)));
    // The daemon's own standard output says where it listens, and nothing else; what a plugin
    // prints is log.
    command.stdout(std::io::stderr());
    // A key pressed at the daemon's terminal is for the daemon, which then stops its workers in
    // order.
    command.process_group(0);
    Process::start(&mut command, reaper).map_err(|error| {
        io::Error::new(error.kind(), format!("`{}`: {error}", command.get_program().display()))
    })
}

fn thread(mut config: WorkerConfig, stream: StdUnixStream) -> io::Result<oneshot::Receiver<()>> {
    config.cpus = None;
    let (done, is_done) = oneshot::channel::<()>();
    let alive = Alive::new();
    let log = dispatcher::get_default(|current| match current.downcast_ref::<Log>() {
        Some(log) => Dispatch::new(log.named(format!("worker {}", config.id))),
        None => current.clone(),
    });
    std::thread::Builder::new().name(format!("urom-worker-{}", config.id)).spawn(move || {
        // However the thread ends, by a panic too, these are dropped.
        let (_done, _alive) = (done, alive);
        dispatcher::with_default(&log, || worker::run(config, stream, worker::Place::Thread));
    })?;
    Ok(is_done)
}

impl Body {
    /// ` (process 4711)`, or nothing for a thread.
    pub(crate) fn process(&self) -> String {
        match self {
            Body::Process(process) => format!(" (process {})", process.id()),
            Body::Thread(_) => String::new(),
        }
    }

    pub(crate) async fn ended(&mut self) -> String {
        let which = self.process();
        match self {
            Body::Process(process) => match process.ended().await {
                Ok(status) => format!("it ended{which}: {status}"),
                Err(error) => format!("it cannot be waited for{which}: {error}"),
            },
            Body::Thread(done) => {
                // Nothing is ever sent: the other end is dropped.
                let _ = done.await;
                "its thread ended".to_owned()
            }
        }
    }

    /// Ends a process by force; a thread cannot be.
    pub(crate) fn kill(&self) {
        if let Body::Process(process) = self {
            process.kill();
        }
    }
}
