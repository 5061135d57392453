//! The data thread: UCX, the plugins, and the loop that runs them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::{debug, error, info, warn};
use ucx::{AmFlags, Context, ErrorMode, Features, Status, Worker, WorkerAddress};
use urom_abi::DocaError;

use super::Place;
use super::config::WorkerConfig;
use super::connection::Connection;
use super::control::ControlHandle;
use super::core::Core;
use super::domains::Domains;
use super::idle::{Idle, Pause};
use super::instance::Instance;
use super::messages::{LinkKey, ToControl, ToData};
use crate::daemon::config::MIN_MAX_MESSAGE;
use crate::mailbox::Mailbox;
use crate::wire::control::{Attach, Failure, PluginAddress};
use crate::wire::frame::{AM_COMMANDS, AM_GREET, MAX_SLOTS};

/// How long the last notifications may take to leave.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// UCX and the plugins.
pub(crate) struct Data {
    worker: Worker,
    address: Vec<u8>,
    core: Rc<RefCell<Core>>,
    /// Endpoints that UCX gave up, noted by their error hooks.
    failed: Rc<RefCell<Vec<(u16, u64, Status)>>>,
    mailbox: Arc<Mailbox<ToData>>,
    control: ControlHandle,
    max_message: usize,
    plugins: Vec<PluginAddress>,
    last_dest_id: u64,
}

impl Data {
    /// Sets up UCX and opens the plugins.
    ///
    /// # Errors
    /// What failed; plugins that were open are closed again.
    pub(crate) fn open(
        config: &WorkerConfig,
        mailbox: Arc<Mailbox<ToData>>,
        control: ControlHandle,
        domains: &Arc<Domains>,
    ) -> Result<Data, Failure> {
        let mut open = Vec::new();
        for item in &config.plugins {
            open.push(Instance::open(item, Arc::clone(domains))?);
        }
        let plugins = open.iter().map(Instance::address).collect();
        let core = Rc::new(RefCell::new(Core::new(open, config.max_message, control.clone())));
        let ucx_failed = |error: ucx::Error| Failure::new(DocaError::DRIVER, error.to_string());
        let worker = ucx_worker(&core).map_err(ucx_failed)?;
        let address = worker.address().map_err(ucx_failed)?.as_bytes().to_vec();
        Ok(Data {
            worker,
            address,
            core,
            failed: Rc::default(),
            mailbox,
            control,
            max_message: config.max_message,
            plugins,
            last_dest_id: 0,
        })
    }

    /// Serves until told to stop; closes the plugins, answers what is in flight, and says so.
    pub(crate) fn run(mut self, place: Place) {
        let mut idle = Idle::default();
        let mut woken = false;
        loop {
            let mut worked = self.mailbox.has_post();
            if worked && !self.read_mail() {
                break;
            }
            worked |= self.worker.progress();
            self.bury_failed();
            let owing = {
                let mut core = self.core.borrow_mut();
                worked |= core.turn();
                core.owes()
            };
            match idle.after(worked, owing, Instant::now) {
                // No pause instruction: it takes longer than a whole turn.
                Pause::Spin => {}
                Pause::Yield => rustix::thread::sched_yield(),
                Pause::Sleep(longest) => {
                    if woken && !worked {
                        // For nothing: a thread of UCX's own may have its part to do first, and wait for this CPU.
                        rustix::thread::sched_yield();
                    }
                    woken = self.sleep(longest);
                }
            }
        }
        self.end();
        self.control.send(ToControl::Ended);
        if place == Place::Process {
            // With a host that died, UCX may keep a message for ever, and taking it down would wait for that. The process
            // is about to end.
            std::mem::forget(self.worker.clone());
        }
    }

    /// False when it is time to stop.
    fn read_mail(&mut self) -> bool {
        for message in self.mailbox.take() {
            match message {
                ToData::Stop => return false,
                ToData::Attach { link, attach } => {
                    if let Err(failure) = self.attach(link, &attach) {
                        warn!("a host was not let in: {failure}");
                        self.control.send(ToControl::Refused { link, failure });
                    }
                }
                ToData::Detach { link } => self.detach(link),
            }
        }
        true
    }

    fn attach(&mut self, link: LinkKey, attach: &Attach) -> Result<(), Failure> {
        let refuse = |code, text| Err(Failure::new(code, text));
        let max_inflight = attach.max_inflight as usize;
        if max_inflight == 0 || max_inflight > MAX_SLOTS {
            let text = format!("{max_inflight} tasks in flight are not possible: 1 to {MAX_SLOTS} are");
            return refuse(DocaError::INVALID_VALUE, text);
        }
        let limit = usize::try_from(attach.max_message).unwrap_or(usize::MAX).min(self.max_message);
        if limit < MIN_MAX_MESSAGE {
            let text =
                format!("a message limit of {limit} bytes is too small: {MIN_MAX_MESSAGE} is the least");
            return refuse(DocaError::INVALID_VALUE, text);
        }
        let unreachable = |error: ucx::Error| Failure::new(DocaError::NOT_CONNECTED, error.to_string());
        let address = WorkerAddress::from_bytes(&attach.ucx_address).map_err(unreachable)?;
        let Some(channel) = self.core.borrow_mut().connections.free_number() else {
            return refuse(DocaError::FULL, "the worker has as many connections as there can be".to_owned());
        };
        self.last_dest_id += 1;
        let dest_id = self.last_dest_id;
        let failed = Rc::clone(&self.failed);
        let mode = if attach.same_machine { ErrorMode::None } else { ErrorMode::Peer };
        let hook = move |status| failed.borrow_mut().push((channel, dest_id, status));
        let endpoint = self.worker.endpoint().error_mode(mode).on_error(hook).connect(&address);
        let endpoint = endpoint.map_err(unreachable)?;
        // If it cannot be sent, the endpoint fails, or the host misses it and gives up.
        endpoint.am_send_with(AM_GREET, &attach.channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        let connection = Connection::new(link, dest_id, attach.channel, endpoint, max_inflight, limit);
        self.core.borrow_mut().enter(channel, connection);
        debug!(
            "connection {dest_id} is there: channel {channel}, {max_inflight} tasks in flight, {limit} bytes"
        );
        let (ucx_address, max_message) = (self.address.clone(), limit as u64);
        let plugins = self.plugins.clone();
        self.control.send(ToControl::Attached { link, ucx_address, channel, max_message, plugins });
        Ok(())
    }

    /// A host is gone: what plugins still answer to it is dropped.
    fn detach(&mut self, link: LinkKey) {
        let mut core = self.core.borrow_mut();
        let Some(channel) = core.connections.number_of(link) else { return };
        let connection = core.part(channel);
        drop(core);
        if let Some(connection) = connection {
            debug!("connection {} is over", connection.dest_id);
            connection.abandon();
        }
    }

    fn bury_failed(&self) {
        if self.failed.borrow().is_empty() {
            return;
        }
        let mut core = self.core.borrow_mut();
        for (channel, dest_id, status) in self.failed.take() {
            if core.connections.get(channel).is_some_and(|connection| connection.dest_id == dest_id) {
                let text = format!("UCX lost the host: {status}");
                core.lose(channel, Failure::new(DocaError::CONNECTION_RESET, text));
            }
        }
    }

    /// Sleeps until UCX or the control thread wakes it, but not long. Whether it was woken.
    fn sleep(&self, longest: Duration) -> bool {
        match self.worker.arm() {
            Ok(true) => {}
            Ok(false) => return true,
            Err(problem) => {
                error!("{problem}");
                // UCX wakes nobody now, so there is no event to wait for: look again soon.
                std::thread::sleep(longest.min(Duration::from_millis(1)));
                return false;
            }
        }
        let Ok(ucx) = self.worker.event_fd() else { return false };
        let mut fds =
            [PollFd::from_borrowed_fd(ucx, PollFlags::IN), PollFd::new(&*self.mailbox, PollFlags::IN)];
        let limit = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        // A signal is as good a reason to look as any.
        poll(&mut fds, Some(&limit)) != Ok(0)
    }

    fn end(&self) {
        self.core.borrow_mut().close_plugins();
        let flushes: Vec<_> = self
            .core
            .borrow_mut()
            .connections
            .iter_mut()
            .map(|(_, connection)| connection.flush_endpoint())
            .collect();
        let deadline = Instant::now() + LAST_WORDS;
        while Instant::now() < deadline && flushes.iter().any(|flush| !flush.is_done()) {
            if !self.worker.progress() {
                rustix::thread::sched_yield();
            }
            self.core.borrow_mut().turn();
        }
        let mut core = self.core.borrow_mut();
        let numbers: Vec<u16> = core.connections.iter_mut().map(|(number, _)| number).collect();
        for number in numbers {
            if let Some(connection) = core.part(number) {
                connection.abandon();
            }
        }
        info!("closed");
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Data").field("core", &self.core).finish_non_exhaustive()
    }
}

/// A UCX worker that gives commands to `core`.
fn ucx_worker(core: &Rc<RefCell<Core>>) -> ucx::Result<Worker> {
    let worker = Context::builder(Features::AM | Features::WAKEUP).name("urom-worker").build()?.worker()?;
    let receiver = Rc::clone(core);
    worker.set_am_handler(AM_COMMANDS, move |message| receiver.borrow_mut().receive(&message))?;
    // A host greets too; all there is to know of it came over its control stream.
    worker.set_am_handler(AM_GREET, |_| {})?;
    Ok(worker)
}
