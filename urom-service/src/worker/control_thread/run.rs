//! The control thread's event loop, from its first streams to the last messages to hosts.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, getppid};
use tokio::net::{TcpListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info};
use urom_abi::DocaError;
use urom_os::signals::no_thread;
use urom_wire::awake::{sleep, timeout};
use urom_wire::control::{Failure, Method, PEER_TIMEOUT, WorkerToHost};
use urom_wire::mailbox::Mailbox;
use urom_wire::relay::{self, BACKLOG};

use super::{ControlEvent, ControlState};
use crate::aside::on_thread;
use crate::entrance::Entrance;
use crate::hangup;
use crate::log::Log;
use crate::metrics::MetricsPage;
use crate::worker::domains::WorkerDomains;
use crate::worker::intake::{TABLE_LOOK, TableInbox, read_tables};
use crate::worker::messages::{ToControl, ToData};
use crate::worker::streams::{daemon_stream, host_stream, pass_on};
use crate::worker::watch::{CallWatch, LOOK};
use crate::worker::{WorkerConfig, WorkerKind};

const STOP_LIMIT: Duration = Duration::from_millis(1500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerEnd {
    Orderly,
    /// A plugin blocks the data thread during its end, or for too long.
    Hung,
}

#[derive(Debug)]
pub(crate) struct ControlSetup {
    pub(crate) config: WorkerConfig,
    pub(crate) kind: WorkerKind,
    pub(crate) listener: std::net::TcpListener,
    pub(crate) daemon: StdUnixStream,
    pub(crate) mailbox: Arc<Mailbox<ToData>>,
    pub(crate) from_data: mpsc::UnboundedReceiver<ToControl>,
    pub(crate) domains: Arc<WorkerDomains>,
    pub(crate) watch: Arc<CallWatch>,
    pub(crate) page: MetricsPage,
}

/// Starts the thread, and waits until it runs: it must end a worker whose plugin hangs during
/// loading. Such a plugin keeps the loader's lock, which thread-local variables need on first use.
pub(crate) fn start(setup: ControlSetup) -> io::Result<JoinHandle<()>> {
    setup.listener.set_nonblocking(true)?;
    setup.daemon.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Logs like the data thread: threads of an embedded service have their own log.
    let log = tracing::dispatcher::get_default(Clone::clone);
    let (at_work, is_at_work) = oneshot::channel();
    let thread = std::thread::Builder::new().name("urom-control".to_owned()).spawn(move || {
        let kind = setup.kind;
        tracing::dispatcher::with_default(&log, || {
            if runtime.block_on(run(setup, at_work)) == WorkerEnd::Hung
                && kind == WorkerKind::Process
            {
                Log::flush();
                // Not `exit`, which blocks if a plugin hangs during loading.
                // SAFETY: it ends the process, without any precondition.
                unsafe { libc::_exit(1) };
            }
        });
    });
    let thread = thread.map_err(no_thread)?;
    let _ = is_at_work.blocking_recv();
    Ok(thread)
}

async fn run(setup: ControlSetup, at_work: oneshot::Sender<()>) -> WorkerEnd {
    let ControlSetup { config, kind, listener, daemon, mailbox, domains, watch, page, .. } = setup;
    let mut from_data = setup.from_data;
    let (id, peer_timeout) = (config.id, config.peer_timeout);
    let mut stop = StopSignals::new(kind);
    let streams = UnixStream::from_std(daemon).and_then(|daemon| {
        Ok((daemon, listener.local_addr()?.port(), TcpListener::from_std(listener)?))
    });
    let (daemon, port, listener) = match streams {
        Ok(streams) => streams,
        Err(problem) => {
            error!("worker {id} cannot listen for hosts, and ends: {problem}");
            mailbox.post(ToData::Stop);
            return WorkerEnd::Orderly;
        }
    };
    let (events, mut happened) = relay::events();
    let (outbox, outgoing) = mpsc::channel(BACKLOG);
    let (inbox, jobs) = TableInbox::new();
    if let Err(why) = on_thread("urom-domains", move || read_tables(&domains, &jobs)) {
        error!("worker {id} cannot read the tables of domains, and ends: {why}");
        mailbox.post(ToData::Stop);
        return WorkerEnd::Orderly;
    }
    let mut control =
        ControlState::new(config, mailbox, (watch, page), inbox, (outbox, port), events);
    control.streams.spawn(daemon_stream(daemon, outgoing, control.events.clone(), peer_timeout));
    let (mut last_link, mut entrance) = (0, Entrance::new(listener));
    let mut deadline = std::pin::pin!(sleep(Duration::MAX));
    let (mut round, mut look) = (interval(TABLE_LOOK), interval(LOOK));
    // A pause of this process counts as one round and one poll.
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Every spawned task has run once after this.
    yield_now().await;
    let _ = at_work.send(());
    let end = loop {
        let (stopping, socket) = (control.stopping, control.socket.clone());
        tokio::select! {
            message = from_data.recv() => match message {
                Some(message) => if !control.on_data_message(message) { break WorkerEnd::Orderly },
                None => {
                    error!("worker {id} ends: its thread panicked, as the lines before say; please report it");
                    break WorkerEnd::Orderly;
                }
            },
            Some(event) = happened.recv() => control.handle(event),
            Some(_) = control.streams.join_next() => {}
            Some(_) = control.timers.join_next() => {}
            () = &mut deadline, if stopping => {
                error!("worker {id} does not stop in order{}", control.because());
                break WorkerEnd::Hung;
            }
            name = stop.received(), if !stopping => {
                info!("{name} was received");
                control.stop();
            }
            _ = round.tick() => control.disconnect_late(),
            _ = look.tick() => if !control.look() { break WorkerEnd::Hung },
            (stream, peer, handshakes) = entrance.accept(), if socket.is_some() && !stopping => {
                last_link += 1;
                let secrets = socket.unwrap_or_default();
                let (says, heard) = mpsc::channel(1);
                control.streams.spawn(host_stream(last_link, stream, (peer, handshakes), secrets, says, peer_timeout));
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

struct StopSignals {
    parent: Option<Pid>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl StopSignals {
    fn new(kind: WorkerKind) -> StopSignals {
        let is_process = kind == WorkerKind::Process;
        // Without a handler, the signal has its default effect.
        let handler = |signal_kind| signal(signal_kind).ok();
        StopSignals {
            parent: is_process.then(getppid).flatten(),
            terminate: is_process.then(|| handler(SignalKind::terminate())).flatten(),
            hangup: (is_process && hangup::is_received())
                .then(|| handler(SignalKind::hangup()))
                .flatten(),
        }
    }

    /// Waits for a signal to stop. The kernel also sends `SIGHUP` to a stopped worker whose daemon
    /// dies; then hosts get the closed stream to the daemon as the cause.
    async fn received(&mut self) -> &'static str {
        loop {
            let name = tokio::select! {
                () = hangup::received(&mut self.terminate) => "SIGTERM",
                () = hangup::received(&mut self.hangup) => "SIGHUP",
            };
            if getppid() == self.parent {
                return name;
            }
        }
    }
}

impl ControlState {
    /// Names the plugin that blocks the data thread, if any, for the end of a sentence.
    fn because(&self) -> String {
        let call = self.observer.call();
        let because = |(plugin, method): (String, Method)| {
            format!(": plugin `{plugin}` does not return from `{}`", method.name())
        };
        call.map_or_else(String::new, because)
    }

    /// Sends the last messages, and waits a short time until they are read.
    async fn close(self, mut happened: mpsc::Receiver<ControlEvent>, end: WorkerEnd) {
        let (code, because) = match end {
            WorkerEnd::Orderly => (DocaError::SHUTDOWN, String::new()),
            WorkerEnd::Hung => (DocaError::TIME_OUT, self.because()),
        };
        let ControlState { config, daemon, links, mut streams, events, .. } = self;
        for link in links.into_values() {
            let text = format!("worker {} was stopped{because}", config.id);
            let _ = link.outbox.try_send(WorkerToHost::Refused(Failure::new(code, text)));
        }
        drop((daemon, events));
        let all = async {
            loop {
                tokio::select! {
                    joined = streams.join_next() => if joined.is_none() { break },
                    Some(event) = happened.recv() => drop(event),
                }
            }
        };
        let _ = timeout(Duration::from_millis(600), all).await;
    }
}

const _: () = assert!(STOP_LIMIT.as_millis() < PEER_TIMEOUT.as_millis());

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance, sleep, timeout as within};

    use super::*;
    use crate::worker::control_thread::ControlHandle;

    /// Runs the thread's loop beside `test`, with a plugin that does not return.
    async fn beside(plugin_timeout: Option<u32>, test: impl Future<Output = ()>) -> WorkerEnd {
        let (_theirs, daemon) = StdUnixStream::pair().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        daemon.set_nonblocking(true).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (handle, from_data) = ControlHandle::new();
        let watch = Arc::new(CallWatch::default());
        let setup = ControlSetup {
            config: WorkerConfig { plugin_timeout, ..WorkerConfig::unlimited() },
            kind: WorkerKind::Thread,
            listener,
            daemon,
            mailbox: Arc::new(Mailbox::new().unwrap()),
            from_data,
            domains: Arc::new(WorkerDomains::new()),
            watch: Arc::clone(&watch),
            page: MetricsPage::private().unwrap(),
        };
        handle.send(ToControl::Ready);
        watch.plugin("slow").begin(Method::Progress);
        let (at_work, _is_at_work) = oneshot::channel();
        tokio::join!(run(setup, at_work), test).0
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_that_does_not_return_ends_the_worker_after_its_time() {
        let begin = Instant::now();
        assert_eq!(beside(Some(30), async {}).await, WorkerEnd::Hung);
        let took = begin.elapsed().as_secs();
        assert!((30..=31).contains(&took), "{took} s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_of_the_process_is_no_time_of_its_plugins() {
        let begin = Instant::now();
        let hour = Duration::from_secs(3600);
        let pause = async {
            sleep(LOOK * 5 / 2).await;
            advance(hour).await;
        };
        assert_eq!(beside(Some(10), pause).await, WorkerEnd::Hung);
        let took = (begin.elapsed() - hour).as_secs();
        assert!((9..=11).contains(&took), "{took} s and the pause");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_time_for_plugins_a_worker_waits_for_them() {
        let day = Duration::from_secs(24 * 3600);
        assert!(within(day, beside(None, async {})).await.is_err());
    }
}
