//! A UCX worker with peers: the members of a domain, or other processes.
//!
//! `#[urom_plugin(peers = field)]` implements the plugin's `address`, `progress` and `arm` with a
//! [`PeerWorker`]. Plugins send typed messages ([`urom_message`](crate::urom_message)) to a
//! [`Receive`]. Members are trusted with this worker's memory: see the guide's page on security.

mod awake;
mod data;
mod message;
mod peer;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::{Rc, Weak};
use std::time::Duration;

use ucx::{
    ContextBuilder, Endpoint, ErrorMode, Features, Mesh, PeerAddress, Status, Worker, WorkerAddress,
};

pub use self::awake::{Awake, KeepAwake};
pub use self::data::PeerData;
pub use self::message::{PeerContext, Receive, ReceiveNow, decode, encode};
pub use self::peer::Peer;
use crate::{Armed, Context, DocaError, Error, OpenContext, OrCode, Result, bail, ensure};

/// Timeout for the sends of a closing plugin. A worker grants a plugin 1.5 s to close.
const FLUSH: Duration = Duration::from_millis(500);

type Listen = Box<dyn Fn(&Worker) -> ucx::Result<()>>;
type OnBlocked = Box<dyn Fn(&Error)>;

/// The UCX worker of a plugin (`ucp_worker_h`). Peers on this machine use shared memory and are
/// watched: an endpoint fails when its peer leaves or is killed. A peer that is killed in the
/// middle of a message blocks the UCX worker: then all calls fail with `CONNECTION_RESET` until a
/// restart or a new [`address`](Self::address). See [`ucx::Mesh`]. Dropping it waits up to 500 ms
/// for its sends. It stays on the worker's thread.
///
/// ```
/// use ucx::Features;
/// use urom_pdk::peers::PeerWorker;
/// use urom_pdk::prelude::*;
///
/// struct Example {
///     peers: PeerWorker,
/// }
///
/// impl Example {
///     fn open(cx: &OpenContext) -> Result<Example> {
///         Ok(Example { peers: PeerWorker::open(cx, Features::TAG)? })
///     }
///
///     async fn hello(&self, cx: &Context, member: u64) -> Result<()> {
///         let peer = self.peers.member(cx, member)?;
///         let (sent, _) = peer.endpoint().tag_send(7, b"hello".to_vec()).await;
///         sent.or_code(DocaError::IO_FAILED, "sending to a member")
///     }
/// }
/// ```
pub struct PeerWorker {
    ucx: Ucx,
    awake: KeepAwake,
}

enum Ucx {
    Mesh(Box<Mesh>),
    /// With the endpoints by the UCX id of the peer's worker.
    Plain {
        worker: Worker,
        known: RefCell<HashMap<u64, Weak<Endpoint>>>,
    },
}

/// Builder of a [`PeerWorker`].
#[must_use]
pub struct PeerWorkerBuilder<'a> {
    cx: &'a OpenContext,
    settings: ContextBuilder,
    listens: Vec<Listen>,
    on_blocked: OnBlocked,
}

impl PeerWorker {
    /// Opens a UCX worker with these features and `WAKEUP`.
    ///
    /// # Errors
    /// `DRIVER` with UCX's error.
    pub fn open(cx: &OpenContext, features: Features) -> Result<PeerWorker> {
        PeerWorker::builder(cx, features).open()
    }

    /// Returns a builder of a UCX worker with these features and `WAKEUP`.
    pub fn builder(cx: &OpenContext, features: Features) -> PeerWorkerBuilder<'_> {
        let settings = ucx::Context::builder(features | Features::WAKEUP);
        PeerWorkerBuilder { cx, settings, listens: Vec::new(), on_blocked: Box::new(|_| ()) }
    }

    /// Returns the UCX worker.
    ///
    /// # Errors
    /// `CONNECTION_RESET` when a peer has blocked it.
    pub fn ucx(&self) -> Result<Worker> {
        match &self.ucx {
            Ucx::Mesh(mesh) => {
                mesh.worker().or_code(DocaError::CONNECTION_RESET, "start the worker again")
            }
            Ucx::Plain { worker, .. } => Ok(worker.clone()),
        }
    }

    /// Returns the mesh of watched peers; `None` after [`PeerWorkerBuilder::open_plain`].
    pub fn mesh(&self) -> Option<&Mesh> {
        match &self.ucx {
            Ucx::Mesh(mesh) => Some(mesh),
            Ucx::Plain { .. } => None,
        }
    }

    /// Returns the endpoint to a member of a domain, by its id. There is one for each address.
    ///
    /// # Errors
    /// Those of [`Domains::address`](crate::Domains::address), `CONNECTION_RESET` when a peer has
    /// blocked this worker, and `DRIVER` when UCX does not reach the member.
    #[inline]
    pub fn member(&self, cx: &Context, id: u64) -> Result<Peer> {
        // The key is the address: the id may name another worker in the next domain.
        let address = cx.domains().address(id)?;
        ensure!(
            !address.is_empty(),
            DocaError::NOT_FOUND,
            "the plugin of member {id} lacks an address: its handler takes one from a `PeerWorker` \
             with `#[urom_plugin(peers = field)]`"
        );
        let Some(mesh) = self.mesh() else {
            bail!(DocaError::NOT_SUPPORTED, "members need a worker that is not plain");
        };
        // SAFETY: the address came from the member's plugin by the domain's hosts, which are
        // trusted with the memory of the domain's workers: see the guide's page on security.
        let endpoint = unsafe { mesh.endpoint(address) }.or_else(|error| {
            self.ucx()?;
            let text = format!("connecting to member {id}, which may have left");
            Err(error).or_code(DocaError::DRIVER, text)
        })?;
        Ok(Peer::from(endpoint))
    }

    /// Connects to a peer outside the domain. UCX calls `on_error` when the peer is lost.
    ///
    /// # Errors
    /// As [`ucx`](Self::ucx), and `NOT_CONNECTED` with UCX's error.
    pub fn connect(
        &self,
        address: &PeerAddress,
        on_error: impl FnOnce(Status) + 'static,
    ) -> Result<Rc<Endpoint>> {
        let Some(mesh) = self.mesh() else { bail!(DocaError::NOT_SUPPORTED, "a plain worker") };
        let endpoint = mesh.connect(address, on_error);
        endpoint.or_code(DocaError::NOT_CONNECTED, "connecting to a peer")
    }

    /// Connects a plain worker to the worker with this address (`ucp_worker_get_address`), without
    /// UCX's error handling. There is one endpoint for each worker, because UCX answers through the
    /// first. The address is part of the command of `cx`, whose host is trusted.
    ///
    /// # Errors
    /// `INVALID_VALUE` for other bytes, `NOT_SUPPORTED` without a plain worker, or UCX's `DRIVER`.
    pub fn connect_plain(&self, cx: &Context, address: &[u8]) -> Result<Rc<Endpoint>> {
        drop(cx.hold(address)?);
        let Ucx::Plain { worker, known } = &self.ucx else {
            bail!(DocaError::NOT_SUPPORTED, "a worker of watched peers");
        };
        let connect = || {
            // SAFETY: the address is from an admitted host: see the guide's page on security.
            let address = unsafe { WorkerAddress::from_raw(address) }?;
            let uid = address.worker_uid()?;
            let mut known = known.borrow_mut();
            known.retain(|_, endpoint| endpoint.strong_count() > 0);
            if let Some(endpoint) = known.get(&uid).and_then(Weak::upgrade) {
                return Ok(endpoint);
            }
            let builder = worker.endpoint().error_mode(ErrorMode::None);
            let endpoint = Rc::new(builder.connect(&address)?);
            known.insert(uid, Rc::downgrade(&endpoint));
            Ok(endpoint)
        };
        let connected: ucx::Result<_> = connect();
        connected.or_code(DocaError::DRIVER, "connecting")
    }

    /// Returns the address for peers, of a new UCX worker if a peer has blocked the old one.
    ///
    /// # Errors
    /// `DRIVER` with UCX's error.
    pub fn address(&self) -> Result<Vec<u8>> {
        let address = match &self.ucx {
            Ucx::Mesh(mesh) => mesh.address().map(|address| address.as_bytes().to_vec()),
            Ucx::Plain { worker, .. } => {
                worker.address().map(|address| address.raw_bytes().to_vec())
            }
        };
        address.or_code(DocaError::DRIVER, "asking UCX for an address")
    }

    /// Advances UCX and returns whether it reported work (`ucp_worker_progress`).
    #[inline]
    pub fn progress(&self) -> bool {
        let moved = match &self.ucx {
            Ucx::Mesh(mesh) => mesh.progress(),
            Ucx::Plain { worker, .. } => worker.progress(),
        };
        self.awake.after(moved)
    }

    /// Returns the handle that keeps the worker awake during long transfers.
    pub fn keep_awake(&self) -> KeepAwake {
        self.awake.clone()
    }

    /// Arms UCX for the worker's sleep (`ucp_worker_arm`).
    pub fn arm(&self) -> Armed<'_> {
        match &self.ucx {
            Ucx::Mesh(mesh) => match mesh.arm() {
                Ok(true) => Armed::By(mesh.event_fd()),
                Ok(false) => Armed::Ready,
                // UCX cannot wake the worker.
                Err(_) => Armed::Polled,
            },
            Ucx::Plain { worker, .. } => match worker.arm() {
                Ok(true) => worker.event_fd().map_or(Armed::Polled, Armed::By),
                Ok(false) => Armed::Ready,
                Err(_) => Armed::Polled,
            },
        }
    }
}

impl Drop for PeerWorker {
    fn drop(&mut self) {
        if let Ucx::Mesh(mesh) = &self.ucx {
            mesh.flush(FLUSH);
        }
    }
}

impl fmt::Debug for PeerWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerWorker").field("mesh", &self.mesh()).finish()
    }
}

impl PeerWorkerBuilder<'_> {
    /// Changes the settings of the UCX context.
    pub fn settings(mut self, change: impl FnOnce(ContextBuilder) -> ContextBuilder) -> Self {
        self.settings = change(self.settings);
        self
    }

    /// Passes the typed messages of peers to `receiver`. The worker needs the feature `AM`.
    pub fn receive<R: Receive>(self, receiver: &Rc<R>) -> Self {
        let receiver = Rc::clone(receiver);
        let cx = PeerContext::new(self.cx);
        self.listen(move |worker| message::listen(worker, &receiver, &cx))
    }

    /// As [`receive`](Self::receive), inside UCX's handler.
    pub fn receive_now<R: ReceiveNow>(self, receiver: &Rc<R>) -> Self {
        let receiver = Rc::clone(receiver);
        self.listen(move |worker| message::listen_now(worker, &receiver))
    }

    /// Registers the plugin's own active-message handlers on each UCX worker that is opened.
    /// `listen` must not keep a strong handle of the worker.
    pub fn listen(mut self, listen: impl Fn(&Worker) -> ucx::Result<()> + 'static) -> Self {
        self.listens.push(Box::new(listen));
        self
    }

    /// Calls `on_blocked` when a peer blocks the UCX worker, before endpoints and receives fail.
    pub fn on_blocked(mut self, on_blocked: impl Fn(&Error) + 'static) -> Self {
        self.on_blocked = Box::new(on_blocked);
        self
    }

    /// Opens the worker.
    ///
    /// # Errors
    /// `DRIVER` with UCX's error.
    pub fn open(self) -> Result<PeerWorker> {
        let PeerWorkerBuilder { settings, listens, on_blocked, .. } = self;
        let listen = move |worker: &Worker| listens.iter().try_for_each(|listen| listen(worker));
        let on_blocked = move |error: &ucx::Error| {
            on_blocked(&Error::new(DocaError::CONNECTION_RESET, error.to_string()));
        };
        let mesh = Mesh::open(settings.watched_shared_memory(), listen, on_blocked);
        let ucx = Ucx::Mesh(Box::new(mesh.or_code(DocaError::DRIVER, "opening UCX")?));
        Ok(PeerWorker { ucx, awake: KeepAwake::default() })
    }

    /// Opens a worker with UCX's own address (`ucp_worker_get_address`), for peers without this
    /// kit, with `EXPORTED_MEMH` if possible. It does not watch its peers, and `member` fails.
    ///
    /// # Errors
    /// `DRIVER` with UCX's error.
    pub fn open_plain(self) -> Result<PeerWorker> {
        let open = || {
            let worker = self.settings.worker_with_exports()?;
            self.listens.iter().try_for_each(|listen| listen(&worker))?;
            let ucx = Ucx::Plain { worker, known: RefCell::default() };
            Ok(PeerWorker { ucx, awake: KeepAwake::default() })
        };
        let opened: ucx::Result<_> = open();
        opened.or_code(DocaError::DRIVER, "opening UCX")
    }
}

impl fmt::Debug for PeerWorkerBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerWorkerBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
