//! The worker: loads plugins and runs hosts' commands through them. The *control* thread has the
//! streams to daemon and hosts; the *data* thread has rings, UCX and plugins, and waits only for
//! work.

mod answers;
mod config;
pub(crate) mod control_thread;
mod core;
pub(crate) mod data;
mod domains;
mod hosts;
mod idle;
mod instance;
mod intake;
mod lookups;
pub(crate) mod memory;
mod messages;
mod recorder;
mod rounds;
mod services;
mod store;
mod streams;
mod watch;

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tracing::{error, warn};

pub(crate) use config::WORKER;
pub(crate) use config::{LOOPBACK, is_loopback};
pub(crate) use config::{PluginItem, WorkerConfig};

use control_thread::{ControlHandle, ControlSetup};
use data::DataThread;
use domains::WorkerDomains;
use messages::ToControl;
use urom_wire::mailbox::Mailbox;
use watch::CallWatch;

use crate::metrics;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerKind {
    Process,
    Thread,
}

/// Runs a worker on this thread until the daemon dismisses it or ends. If a plugin call does not
/// return then, a process exits anyway; a thread is left behind.
pub(crate) fn run(config: WorkerConfig, daemon: UnixStream, kind: WorkerKind) {
    if kind == WorkerKind::Process {
        // First, so that all threads inherit it.
        confine(&config);
    }
    let id = config.id;
    if let Err(problem) = start(config, daemon, kind) {
        // The daemon detects the closed stream.
        error!("worker {id} could not start: {problem}");
    }
}

fn start(config: WorkerConfig, daemon: UnixStream, kind: WorkerKind) -> std::io::Result<()> {
    // The daemon's first message.
    let page = metrics::receive(&daemon)?;
    let mailbox = Arc::new(Mailbox::new()?);
    let listener = TcpListener::bind((config.listen, 0))?;
    let (handle, from_data) = ControlHandle::new();
    let domains = Arc::new(WorkerDomains::new());
    let watch = Arc::new(CallWatch::default());
    let setup = ControlSetup {
        config: config.clone(),
        kind,
        listener,
        daemon,
        mailbox: Arc::clone(&mailbox),
        from_data,
        domains: Arc::clone(&domains),
        watch: Arc::clone(&watch),
        page: page.clone(),
    };
    let control = control_thread::start(setup)?;
    match DataThread::open(&config, mailbox, handle.clone(), &domains, watch, page) {
        Ok(data) => {
            handle.send(ToControl::Ready);
            data.run(kind);
        }
        Err(failure) => {
            handle.send(ToControl::Failed(failure));
        }
    }
    let _ = control.join();
    Ok(())
}

fn confine(config: &WorkerConfig) {
    let Some(cpus) = &config.cpus else { return };
    let result = rustix::thread::sched_getaffinity(None).and_then(|ours| {
        let mut set = rustix::thread::CpuSet::new();
        let real =
            cpus.iter().filter(|cpu| *cpu < rustix::thread::CpuSet::MAX_CPU && ours.is_set(*cpu));
        real.for_each(|cpu| set.set(cpu));
        if set.count() == 0 {
            warn!("worker {}: none of its CPUs {cpus} exists here; it may use all", config.id);
            return Ok(());
        }
        rustix::thread::sched_setaffinity(None, &set)
    });
    if let Err(problem) = result {
        warn!("worker {} cannot be kept to its CPUs {cpus}: {problem}", config.id);
    }
}
