//! What a daemon and a worker say to a host first: what a host makes of the service, and whether a
//! worker's word leads to a context that runs.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use ucx::{AmFlags, Endpoint, WorkerAddress};
use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::CtxState;
use urom_wire::control::{DaemonToHost, Failure, WorkerToHost};
use urom_wire::frame::{AM_GREET, NOTIFICATION_HEADER};
use urom_wire::fuzzing::{now, recent};
use urom_wire::pass::Pass;
use urom_wire::patience::Patience;
use urom_wire::relay::Message;
use urom_wire::stream::receive;
use urom_wire::ucx_context::context;

use super::{loopback, stream, until};
use crate::address::Address;
use crate::control_thread::ControlThread;
use crate::daemon_link::{self, Welcome};
use crate::event::{Attached, Event};
use crate::pe::Pe;
use crate::pe::ctx::worker::Worker;
use crate::pe::ctx::{Context, Kind};
use crate::running::{RunningService, Shared};
use crate::worker_link;

/// The most that the host's service allows.
const LIMIT: usize = 256;

/// The worker's id.
const ID: u64 = 9;

/// How many connections an engine makes before another takes its place: UCX keeps the endpoints of
/// one that is still there.
const CONNECTIONS: usize = 512;

/// What counts of a stream: its first message that is no heartbeat, if there is one.
fn first<T: Message + DeserializeOwned>(said: &[u8]) -> Option<T> {
    let mut said = said;
    loop {
        let message: T = now(receive(&mut said, Patience::default())).ok()?;
        if !message.is_ping() {
            return Some(message);
        }
    }
}

/// A failure is one. What the peer itself says of it may be nothing.
fn is_told(failure: &Failure, by_peer: bool) {
    assert!(
        failure.code != 0 && (by_peer || !failure.text.is_empty()),
        "it failed with success: {failure:?}"
    );
}

/// A service is taken as its daemon describes it, or not at all and with a reason.
pub(super) fn of_daemon(said: &[u8]) {
    let heard: Result<_, Failure> = now(async {
        let (stream, welcome) =
            daemon_link::welcome(&Address::embedded(loopback()), stream(said)).await?;
        stream.close().await;
        Ok(welcome)
    });
    match (heard, first(said)) {
        (Ok(welcome), Some(DaemonToHost::Welcome { plugins, cpus, max_message })) => {
            assert_eq!(welcome.cpus.to_string().parse(), Ok(welcome.cpus), "{cpus:?}");
            assert_eq!((welcome.max_message as u64, welcome.daemon), (max_message, loopback()));
            let of_use = plugins.iter().filter(|plugin| (1..48).contains(&plugin.name.len()));
            let of_use = of_use.filter(|plugin| !plugin.name.contains('\0'));
            let of_use =
                of_use.map(|plugin| (plugin.id, plugin.build.version, Some(&*plugin.name)));
            let infos = welcome.plugins();
            assert!(infos.iter().map(|info| (info.id, info.version, info.name())).eq(of_use));
        }
        (Err(failure), Some(DaemonToHost::Refused(why))) => {
            assert_eq!((failure.code, &failure.text), (why.code, &why.text));
            is_told(&failure, true);
        }
        (Err(failure), other) => {
            if let Some(DaemonToHost::Welcome { cpus, .. }) = other {
                assert!(cpus.parse::<CpuSet>().is_err(), "a welcome was refused: {failure}");
            }
            is_told(&failure, false);
        }
        (Ok(_), other) => panic!("no welcome: {other:?}"),
    }
}

/// A context that waits for its worker runs once it was let in and greeted, in either order, or
/// ends with a reason. `how` says when the worker greets: 0 after its word, 1 before it, 2 never, 3
/// both.
pub(super) fn of_worker(how: u8, said: &[u8]) {
    RIG.with_borrow_mut(|rig| rig.as_mut().expect("it was made").run(how, said));
}

thread_local! {
    static RIG: RefCell<Option<Rig>> = const { RefCell::new(None) };
}

/// Makes what [`of_worker`] needs, which takes a thousand times as long as an input and is not its
/// doing.
pub(super) fn prepare() {
    RIG.with_borrow_mut(|rig| {
        if rig.as_ref().is_none_or(|rig| rig.connections >= CONNECTIONS) {
            *rig = None;
            *rig = Some(Rig::new());
            recent::forget();
        }
    });
}

struct Rig {
    // In this order: a connection goes before the UCX at its end.
    to_host: Endpoint,
    ctx: Rc<Context>,
    pe: Rc<Pe>,
    running: Arc<RunningService>,
    shared: Arc<Shared>,
    /// The worker's UCX.
    ucx: ucx::Worker,
    address: Vec<u8>,
    connections: usize,
}

impl Rig {
    fn new() -> Rig {
        let pe = Pe::new().expect("an engine");
        let ctx = Context::new(Kind::Worker(Worker::new()));
        ctx.connect(Rc::clone(&pe)).expect("it has no engine");
        let (requests, _) = mpsc::unbounded_channel();
        let control = ControlThread::shared().expect("a thread");
        let running = Arc::new(RunningService {
            welcome: Welcome {
                plugins: Vec::new(),
                cpus: "0".parse().expect("a CPU"),
                max_message: LIMIT,
                daemon: loopback(),
            },
            requests,
            max_message: LIMIT,
            max_workers: None,
            key: None,
            patience: Patience::OFF,
            control,
            _embedded: None,
        });
        let ucx = context().build().and_then(|context| context.worker()).expect("UCX");
        ucx.set_am_handler(AM_GREET, |_| {}).expect("a handler");
        let address = ucx.address().expect("an address").as_bytes().to_vec();
        let host = pe.transport().unwrap_or_else(|failure| panic!("{failure}")).ucx.address();
        let to_host = ucx.endpoint().connect(&host.expect("an address")).expect("an endpoint");
        Rig { to_host, ctx, pe, running, shared: Arc::default(), ucx, address, connections: 0 }
    }

    fn run(&mut self, how: u8, said: &[u8]) {
        let heard: Result<_, Failure> = now(async {
            let mut stream = stream(said);
            let attached =
                worker_link::admission(&mut stream, ID, loopback(), LIMIT as u64, Pass::default())
                    .await?;
            stream.close().await;
            Ok(attached)
        });
        let first = first(said);
        let by_peer = matches!(first, Some(WorkerToHost::Refused(_)));
        let was_let_in = matches!(first, Some(WorkerToHost::Attached { .. }));
        assert_eq!(heard.is_ok(), was_let_in, "{heard:?} after {first:?}");

        let worker = self.ctx.worker().expect("a worker");
        let (orders, mut given) = mpsc::unbounded_channel();
        let place = self.shared.enter(Arc::clone(&self.running));
        let run = worker.begin(&self.ctx, &self.pe, place.expect("there is no limit"), orders);
        let run = run.unwrap_or_else(|failure| panic!("{failure}"));
        let (number, channel) = (self.ctx.run(), run.channel);
        drop(run);
        self.ctx.set_state(CtxState::STARTING);
        if how & 1 != 0 {
            self.greet(channel);
        }
        let post = |event| self.pe.mailbox().post((number, event));
        let lives = match heard {
            Err(failure) => {
                is_told(&failure, by_peer);
                post(Event::Ended(Some(failure)));
                false
            }
            Ok(mut attached) => {
                assert!(attached.id == ID && attached.max_message <= LIMIT);
                if attached.ucx_address.is_empty() {
                    // UCX trusts what has a whole seal, which nobody makes up.
                    attached.ucx_address = self.address.clone();
                }
                let is_right = self.is_right(&attached);
                post(Event::Attached(attached));
                is_right
            }
        };
        self.settle();
        self.connections += usize::from(lives);
        let greets = how & 2 == 0 || how & 1 != 0;
        if lives {
            let early = how & 1 != 0;
            assert!(early || !self.ctx.is(CtxState::RUNNING), "it runs before it was greeted");
            if !early && greets {
                self.greet(channel);
            }
            if greets {
                self.until_it_runs();
            }
            post(Event::Overdue);
            self.settle();
            assert_eq!(self.ctx.is(CtxState::RUNNING), greets, "a worker that greeted is there");
        }
        if lives && greets {
            assert_eq!(worker.id(&self.ctx), Ok(ID));
            // Once it runs, greetings of any number mean nothing.
            self.greet(channel);
            self.greet(!channel);
            assert!(self.ctx.is(CtxState::RUNNING));
            assert_eq!(self.ctx.stop(), DocaError::IN_PROGRESS);
        } else {
            let told = self.ctx.with_failure(|failure| is_told(failure, by_peer));
            assert!(told.is_some(), "it failed without a reason");
        }
        let gone = matches!(given.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
        assert!(gone, "it leaves the worker");
        if was_let_in {
            post(Event::Ended(None));
        }
        until("the context does not end", || {
            self.progress();
            self.ctx.is(CtxState::IDLE)
        });
        assert!(!self.shared.active() != 0, "its place is given back");
        // That has tests of its own.
        self.pe.trust_queue();
    }

    fn is_right(&self, attached: &Attached) -> bool {
        // SAFETY: no endpoint is made of it.
        let address = unsafe { WorkerAddress::from_bytes(&attached.ucx_address) };
        attached.max_message > NOTIFICATION_HEADER && address.is_ok()
    }

    /// The two ends of UCX may still look for each other, on a busy machine for longer than it
    /// takes to come to rest.
    fn until_it_runs(&self) {
        until("it was greeted, and does not run", || {
            self.progress();
            self.ctx.is(CtxState::RUNNING)
        });
    }

    fn greet(&self, channel: u16) {
        self.to_host.am_send_with(AM_GREET, &channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        let flush = self.to_host.flush();
        until("a greeting does not arrive", || {
            self.progress();
            flush.is_done()
        });
        self.settle();
    }

    fn progress(&self) -> bool {
        let seen = self.pe.progress() != 0;
        self.ucx.progress() | seen
    }

    /// Until nothing happens any more.
    fn settle(&self) {
        let mut quiet = 0;
        while quiet < 3 {
            quiet = if self.progress() { 0 } else { quiet + 1 };
        }
    }
}

/// The context lets go of its engine.
impl Drop for Rig {
    fn drop(&mut self) {
        self.ctx.retire();
    }
}
