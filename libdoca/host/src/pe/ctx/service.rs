//! `doca_urom_service`: configuration, start and stop, group queries.

pub(crate) mod gid;

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use tokio::sync::mpsc;
use urom_abi::host::CtxState;
use urom_abi::plugin::PluginInfo;
use urom_abi::{DEFAULT_MAX_MESSAGE, DocaError};
use urom_wire::awake;
use urom_wire::control::{
    CONNECT_DEADLINE, DaemonToHost, Failure, HostToDaemon, PLUGIN_PATH_VARIABLE,
};
use urom_wire::key::{KEY_FILE_VARIABLE, Key, KeyProblem, key_file_of_environment};
use urom_wire::peer_timeout::{PEER_TIMEOUT_VARIABLE, PeerTimeout};

use crate::address::{self, DaemonAddress, ServiceTarget};
use crate::control_thread::ControlThread;
use crate::daemon_link::{self, ANSWER_DEADLINE, Daemon, DaemonRequest};
use crate::device::Device;
use crate::embedded;
use crate::event::{EngineEvent, Mailbox};
use crate::failure::{failure, require_ucx};
use crate::pe::Pe;
use crate::pe::ctx::service::gid::Queries;
use crate::pe::ctx::{Context, ContextPart};
use crate::running::{RunningService, SharedService};

/// Descriptors of the control thread and a daemon stream, and spare ones.
const DESCRIPTORS: usize = 16;

#[derive(Default)]
pub(crate) struct Service {
    pub(crate) max_message: Cell<usize>,
    pub(crate) max_workers: Cell<Option<u32>>,
    pub(crate) device: RefCell<Option<Arc<Device>>>,
    pub(crate) any_device: Cell<bool>,
    /// Set by a call; overrides the environment.
    pub(crate) target: RefCell<Option<ServiceTarget>>,
    pub(crate) key_file: RefCell<Option<PathBuf>>,
    pub(crate) shared: Arc<SharedService>,
    /// Kept until the next start, because hosts may keep pointers.
    pub(crate) plugins: RefCell<Vec<PluginInfo>>,
    pub(crate) queries: Queries,
}

impl Service {
    pub(crate) fn new() -> Service {
        Service { max_message: Cell::new(DEFAULT_MAX_MESSAGE), ..Service::default() }
    }

    /// Returns the daemon's key, from a call or else from the environment.
    fn key(&self) -> Result<Option<Key>, Failure> {
        let (file, origin) = match self.key_file.borrow().clone() {
            Some(file) => (Some(file), String::new()),
            None => (key_file_of_environment(), format!(" (named by {KEY_FILE_VARIABLE})")),
        };
        file.map(|file| Key::read(&file)).transpose().map_err(|error| {
            let code = match error.problem() {
                KeyProblem::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    DocaError::NOT_FOUND
                }
                KeyProblem::Io(_) => DocaError::IO_FAILED,
                KeyProblem::Owner { .. } | KeyProblem::Mode { .. } => DocaError::NOT_PERMITTED,
                _ => DocaError::BAD_CONFIG,
            };
            failure!(code = code, "{error}{origin}")
        })
    }

    pub(crate) fn running(&self, ctx: &Context) -> Result<Arc<RunningService>, DocaError> {
        ctx.require_running()?;
        self.shared.running().ok_or(DocaError::BAD_STATE)
    }

    /// Asks the daemon for a plugin's description. Blocks with a timeout.
    pub(crate) fn description(&self, ctx: &Context, plugin: u64) -> Result<Arc<[u8]>, Failure> {
        let gone = |code| failure!(code = code, "the service does not run, or its daemon was lost");
        let running = self.running(ctx).map_err(gone)?;
        let (answer, answered) = sync_channel(1);
        let ask = move |request| HostToDaemon::Describe { request, plugin };
        // Ignores an answer after the caller's timeout.
        let on_answer = move |reply| drop(answer.try_send(reply));
        let request = DaemonRequest::new(ask, on_answer);
        running.requests.send(request).map_err(|_| gone(DocaError::CONNECTION_RESET))?;
        match awake::receive(&answered, ANSWER_DEADLINE) {
            Ok(Ok(DaemonToHost::Description { description, .. })) => Ok(description),
            Ok(Ok(_)) => Err(failure!(IO_FAILED, "the daemon's answer is of another kind")),
            Ok(Err(failure)) => Err(failure),
            Err(RecvTimeoutError::Timeout) => Err(failure!(
                TIME_OUT,
                "the daemon did not answer within {} ms",
                ANSWER_DEADLINE.as_millis()
            )),
            Err(RecvTimeoutError::Disconnected) => Err(gone(DocaError::CONNECTION_RESET)),
        }
    }

    fn connect(&self, number: u64, mailbox: &Arc<Mailbox>) -> Result<RunningService, Failure> {
        // Before a daemon reports a version mismatch or an embedded service calls UCX.
        require_ucx()?;
        let device = self.device.borrow();
        let pci = device.as_ref().and_then(|device| device.pci_address());
        let target = self.target.borrow().clone();
        let target = target.map_or_else(|| address::of_environment(pci), Ok)?;
        let (address, key, peer_timeout, embedded) = match target {
            ServiceTarget::Daemon(address) => {
                let peer_timeout = PeerTimeout::of_environment().map_err(|error| {
                    failure!(BAD_CONFIG, "{PEER_TIMEOUT_VARIABLE}: {error}; set it so, or unset it")
                })?;
                (address, self.key()?, peer_timeout, None)
            }
            ServiceTarget::Embedded(path) => {
                let embedded = embedded::shared(path, self.max_message.get())?;
                let address = DaemonAddress::embedded(embedded.address());
                // Both ends are this process.
                (address, Some(embedded.key().clone()), PeerTimeout::OFF, Some(embedded))
            }
        };
        let control = ucx::require_descriptors(DESCRIPTORS).and_then(|()| ControlThread::shared());
        let control = control.map_err(|error| {
            failure!(OPERATING_SYSTEM, "the control thread cannot be started: {error}")
        })?;
        let (requests, to_send) = mpsc::unbounded_channel();
        let (report, welcomed) = sync_channel(1);
        let mailbox = Arc::clone(mailbox);
        let daemon = Daemon { address: address.clone(), key: key.clone(), peer_timeout };
        control.spawn(daemon_link::serve(daemon, number, mailbox, to_send, report));
        // The control thread enforces the timeout.
        let welcome = welcomed
            .recv()
            .map_err(|_| address.no_answer(peer_timeout.at_least(CONNECT_DEADLINE)))??;
        Ok(RunningService {
            requests,
            max_message: self.max_message.get().min(welcome.max_message),
            welcome,
            max_workers: self.max_workers.get(),
            key,
            peer_timeout,
            control,
            _embedded: embedded,
        })
    }

    fn leave(&self, pe: &Pe, code: DocaError) {
        self.queries.cancel_all(pe, code);
        self.shared.set_running(None);
    }

    pub(crate) fn check_over(&self, ctx: &Context, pe: &Pe) {
        if self.shared.running().is_none() && self.queries.are_released() {
            pe.announce(ctx, CtxState::IDLE);
        }
    }
}

impl ContextPart for Service {
    fn name(&self) -> &'static str {
        "service"
    }

    /// Connects to the service. Blocks until that has succeeded or failed.
    fn start(&self, ctx: &Rc<Context>) -> Result<CtxState, Failure> {
        let pe = ctx.engine()?;
        // DOCA requires a device, so require it even where it is not used.
        let is_told = self.any_device.get() || self.target.borrow().is_some();
        if !is_told && self.device.borrow().is_none() {
            let call = "call doca_urom_service_set_dev";
            return Err(failure!(INVALID_VALUE, "the service lacks a device: {call}"));
        }
        let running = self.connect(ctx.begin(), &pe.mailbox)?;
        *self.plugins.borrow_mut() = running.welcome.plugins();
        if self.plugins.borrow().is_empty() {
            let advice = match &*self.target.borrow() {
                // The environment variable is not used then.
                Some(ServiceTarget::Embedded(Some(_))) => {
                    "add their directory to the plugin path that this program gives".to_owned()
                }
                _ => format!(
                    "set {PLUGIN_PATH_VARIABLE}, of uromd or of a program without one, to their directory"
                ),
            };
            log!(
                warn,
                "the service at {} serves no plugins: look into its log for files that it found and does not serve; else \
                 {advice}",
                running.welcome.daemon
            );
        }
        self.shared.set_running(Some(Arc::new(running)));
        Ok(CtxState::RUNNING)
    }

    /// At once unless queries are unreleased; `IN_USE` while workers exist.
    fn stop(&self, ctx: &Context) -> Result<CtxState, DocaError> {
        if self.shared.active() != 0 {
            return Err(DocaError::IN_USE);
        }
        self.leave(&*ctx.pe()?, DocaError::SHUTDOWN);
        Ok(if self.queries.are_released() { CtxState::IDLE } else { CtxState::STOPPING })
    }

    fn on_event(&self, ctx: &Context, pe: &Pe, event: EngineEvent) {
        match event {
            EngineEvent::Group { query, result } => self.queries.on_answer(pe, query, result),
            EngineEvent::Ended(Some(reason)) if self.shared.running().is_some() => {
                let code = ctx.fail(&reason);
                pe.announce(ctx, CtxState::STOPPING);
                self.leave(pe, code);
                self.check_over(ctx, pe);
            }
            _ => {}
        }
    }

    fn retire(&self) {
        self.device.take();
    }

    fn in_flight(&self) -> usize {
        self.queries.in_flight.get()
    }
}
