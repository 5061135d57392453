//! The thread that the control part runs on: its event loop, from the streams it starts with to the last word to hosts.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, getppid};
use tokio::net::{TcpListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info};
use urom_abi::{DocaError, WorkerId};

use super::turns::pass_on;
use super::{Control, Event};
use crate::awake::{sleep, timeout};
use crate::entrance::Entrance;
use crate::hangup;
use crate::log::{Budget, Log};
use crate::mailbox::Mailbox;
use crate::patience::Patience;
use crate::session::{self, BACKLOG};
use crate::wire::control::{Failure, PATIENCE, WorkerToHost};
use crate::worker::Place;
use crate::worker::domains::Domains;
use crate::worker::intake::{Desk, ROUND, clerk};
use crate::worker::messages::{ToControl, ToData};
use crate::worker::sessions::{daemon_session, host_session};

/// How long the data thread may take to end; the daemon gives a worker 2 s.
const STOP_LIMIT: Duration = Duration::from_millis(1500);

/// How the control thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything was closed.
    Orderly,
    /// The data thread did not end in time: a plugin holds it.
    Stuck,
}

/// What the control thread starts with.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) id: WorkerId,
    pub(crate) max_hosts: usize,
    pub(crate) patience: Patience,
    pub(crate) place: Place,
    /// Where hosts connect.
    pub(crate) listener: std::net::TcpListener,
    pub(crate) daemon: StdUnixStream,
    pub(crate) mailbox: Arc<Mailbox<ToData>>,
    pub(crate) from_data: mpsc::UnboundedReceiver<ToControl>,
    /// What plugins look up.
    pub(crate) domains: Arc<Domains>,
}

/// Starts the thread, and waits until it is at work: a plugin that hangs as it is loaded keeps the loader's lock, which a thread
/// takes for the first use of some variables of its own, and this one has to end the worker then.
///
/// # Errors
/// The operating system's.
pub(crate) fn start(setup: Setup) -> io::Result<JoinHandle<()>> {
    setup.listener.set_nonblocking(true)?;
    setup.daemon.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // What the data thread logs to, this one does too: threads of an embedded service have a log of their own.
    let log = tracing::dispatcher::get_default(Clone::clone);
    let (at_work, is_at_work) = oneshot::channel();
    let thread = std::thread::Builder::new().name("urom-control".to_owned()).spawn(move || {
        let (id, place) = (setup.id, setup.place);
        tracing::dispatcher::with_default(&log, || {
            if runtime.block_on(run(setup, at_work)) == End::Stuck {
                error!("worker {id} does not stop in order: a plugin does not return from a call");
                if place == Place::Process {
                    Log::flush();
                    // Not `exit`, which would wait for the loader if the plugin hangs as it is loaded, and nobody kills the worker
                    // of a daemon that is gone.
                    // SAFETY: it ends the process, and asks for nothing.
                    unsafe { libc::_exit(1) };
                }
            }
            // Who still reads a table is not waited for.
            runtime.shutdown_background();
        });
    })?;
    // One that has ended already has told the data thread to stop.
    let _ = is_at_work.blocking_recv();
    Ok(thread)
}

async fn run(setup: Setup, at_work: oneshot::Sender<()>) -> End {
    let Setup { id, max_hosts, patience, place, listener, daemon, mailbox, mut from_data, domains } = setup;
    let mut stop = Stop::new(place);
    let streams = UnixStream::from_std(daemon)
        .and_then(|daemon| Ok((daemon, listener.local_addr()?.port(), TcpListener::from_std(listener)?)));
    let (daemon, port, listener) = match streams {
        Ok(streams) => streams,
        Err(problem) => {
            error!("worker {id} cannot listen for hosts, and ends: {problem}");
            mailbox.post(ToData::Stop);
            return End::Orderly;
        }
    };
    let (events, mut happened) = session::events();
    let (outbox, outgoing) = mpsc::channel(BACKLOG);
    let mut sessions = JoinSet::new();
    sessions.spawn(daemon_session(daemon, outgoing, events.clone(), patience));
    let (desk, for_clerk) = Desk::new();
    let mut control = Control {
        id,
        max_hosts,
        mailbox,
        desk,
        daemon: outbox,
        port,
        expected: HashSet::new(),
        links: HashMap::new(),
        lingering: HashMap::new(),
        strangers: Budget::default(),
        events,
        sessions,
        timers: JoinSet::new(),
        door: None,
        stopping: false,
    };
    control.timers.spawn(clerk(domains, for_clerk));
    let (mut last_link, mut entrance) = (0, Entrance::new(listener));
    let mut deadline = std::pin::pin!(sleep(Duration::MAX));
    let mut round = interval(ROUND);
    // A pause of this process is one round.
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // All that was spawned has had a turn then.
    yield_now().await;
    let _ = at_work.send(());
    let end = loop {
        let (stopping, door) = (control.stopping, control.door.clone());
        tokio::select! {
            message = from_data.recv() => match message {
                Some(message) => if !control.data_says(message) { break End::Orderly },
                None => {
                    error!("worker {id} ends: its thread panicked, as the lines before say; please report it");
                    break End::Orderly;
                }
            },
            Some(event) = happened.recv() => control.handle(event),
            Some(_) = control.sessions.join_next() => {}
            Some(_) = control.timers.join_next() => {}
            () = &mut deadline, if stopping => break End::Stuck,
            name = stop.asked(), if !stopping => {
                info!("{name} was received");
                control.stop();
            }
            _ = round.tick() => control.throw_out_late(),
            (stream, peer, seat) = entrance.accept(), if door.is_some() && !stopping => {
                last_link += 1;
                let secret = door.as_ref().and_then(|door| door.secret.clone());
                let (says, heard) = mpsc::channel(1);
                control.sessions.spawn(host_session(last_link, stream, (peer, seat), secret, says, patience));
                control.timers.spawn(pass_on(heard, control.events.clone()));
            }
        }
        if control.stopping && !stopping {
            deadline.set(sleep(STOP_LIMIT));
        }
    };
    control.close(happened, end).await;
    end
}

/// The signals that stop a worker which is a process.
struct Stop {
    /// The daemon, or nothing for a thread.
    parent: Option<Pid>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Stop {
    fn new(place: Place) -> Stop {
        let is_process = place == Place::Process;
        // Where a handler cannot be installed the signal does what it does by itself.
        let hear = |kind| signal(kind).ok();
        Stop {
            parent: is_process.then(getppid).flatten(),
            terminate: is_process.then(|| hear(SignalKind::terminate())).flatten(),
            hangup: (is_process && hangup::ends_the_program()).then(|| hear(SignalKind::hangup())).flatten(),
        }
    }

    /// Waits for one that asks for the end. The kernel sends `SIGHUP` to a stopped worker whose daemon dies, too: the end of
    /// the stream to the daemon is heard then, and hosts are told of that.
    async fn asked(&mut self) -> &'static str {
        loop {
            let name = tokio::select! {
                () = next(&mut self.terminate) => "SIGTERM",
                () = next(&mut self.hangup) => "SIGHUP",
            };
            if getppid() == self.parent {
                return name;
            }
        }
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

impl Control {
    /// Says what is left to say, and waits until it is read, but not long.
    async fn close(self, mut happened: mpsc::Receiver<Event>, end: End) {
        let Control { id, daemon, links, mut sessions, events, .. } = self;
        let code = if end == End::Orderly { DocaError::SHUTDOWN } else { DocaError::TIME_OUT };
        for link in links.into_values() {
            let text = format!("worker {id} was stopped");
            // A host that reads nothing does not learn why.
            let _ = link.outbox.try_send(WorkerToHost::Refused(Failure::new(code, text)));
        }
        drop((daemon, events));
        let all = async {
            loop {
                tokio::select! {
                    joined = sessions.join_next() => if joined.is_none() { break },
                    Some(event) = happened.recv() => drop(event),
                }
            }
        };
        // Whatever is not read by now will not be.
        let _ = timeout(Duration::from_millis(600), all).await;
    }
}

const _: () = assert!(STOP_LIMIT.as_millis() < PATIENCE.as_millis());
