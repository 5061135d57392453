//! The data thread: hosts' rings, UCX, plugins, and their loop.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod memory;
mod recording;

use std::cell::RefCell;
use std::io;
use std::net::IpAddr;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smallvec::{SmallVec, smallvec};
use tracing::{debug, info};
use ucx::{AmFlags, Status, Worker, WorkerAddress};
use urom_abi::{DocaError, WorkerId};
use urom_os::EventFd;
use urom_wire::control::{Attach, Failure, PluginAddress, Reach};
use urom_wire::envelope::{AM_COMMANDS, AM_HANDSHAKE, VerificationTag};
use urom_wire::frame::{MAX_SLOTS, MIN_MAX_MESSAGE};
use urom_wire::mailbox::Mailbox;
use urom_wire::ring::Ring;
use urom_wire::ucx_context::{Config, context};

use super::WorkerKind;
use super::config::{LOOPBACK, WorkerConfig, is_loopback};
use super::control_thread::ControlHandle;
use super::core::Core;
use super::domains::WorkerDomains;
use super::hosts::{Bells, Hosts};
use super::idle::{IdleState, Pause};
use super::instance::PluginInstance;
use super::lookups::Supply;
use super::messages::{LinkKey, ToControl, ToData};
use super::rounds::ROUND;
use super::services::services;
use super::watch::CallWatch;
use crate::metrics::MetricsPage;

const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Polls for commands in an idle turn: the rest of a turn takes longer than a poll.
const LOOKS: u32 = 32;

/// Number of busy turns after which sleeping hosts are woken.
const ANNOUNCED: u32 = 16;

/// Number of turns after which a busy worker updates its gauges; others do so before each sleep.
const PUBLISHED: u32 = 1 << 14;

/// Consecutive sleeps ended by plugins without work, after which a sleep ignores plugins.
const IN_VAIN: u32 = 4;

pub(crate) struct DataThread {
    worker: Worker,
    core: Rc<RefCell<Core>>,
    hosts: Rc<Hosts>,
    /// Hosts whose endpoints UCX has lost, by `dest_id`.
    failed: Rc<RefCell<Vec<(u64, Status)>>>,
    mailbox: Arc<Mailbox<ToData>>,
    control: ControlHandle,
    watch: Arc<CallWatch>,
    max_message: usize,
    id: WorkerId,
    gid: u32,
    /// The plugins' files.
    files: Vec<PathBuf>,
    plugins: Vec<PluginAddress>,
    address: WorkerAddress,
    wakes: Vec<RawFd>,
    turns: u32,
    /// Whether a plugin ended or prevented the last sleep.
    woken_by_plugin: bool,
    /// Number of consecutive such wakes without work.
    in_vain: u32,
}

impl DataThread {
    pub(crate) fn open(
        config: &WorkerConfig,
        mailbox: Arc<Mailbox<ToData>>,
        control: ControlHandle,
        domains: &Arc<WorkerDomains>,
        watch: Arc<CallWatch>,
        page: MetricsPage,
    ) -> Result<DataThread, Failure> {
        let mut open = Vec::new();
        let ucx_config = ucx_config(config.listen);
        let no_bells = |error: io::Error| {
            Failure::new(DocaError::OPERATING_SYSTEM, format!("the worker cannot sleep: {error}"))
        };
        let bells = Bells::new().map_err(no_bells)?;
        bells.add_mailbox(mailbox.wake()).map_err(no_bells)?;
        let hosts = Hosts::new(config.max_unread, ucx_config, control.clone(), bells, page);
        let supply = Supply {
            domains: Arc::clone(domains),
            services: services(config),
            hosts: Rc::clone(&hosts),
            plain_doca: config.plain_doca,
        };
        for item in &config.plugins {
            open.push(PluginInstance::open(item, &supply, &watch)?);
        }
        let plugins = open.iter().map(PluginInstance::address).collect();
        let core = Core::new(open, config.max_message, Rc::clone(&hosts));
        let core = Rc::new(RefCell::new(core));
        let ucx_failed = |error: ucx::Error| Failure::new(DocaError::DRIVER, error.to_string());
        let worker = ucx_worker(&core, ucx_config).map_err(ucx_failed)?;
        let address = worker.address().map_err(ucx_failed)?;
        Ok(DataThread {
            worker,
            core,
            hosts,
            failed: Rc::default(),
            mailbox,
            control,
            watch,
            max_message: config.max_message,
            id: config.id,
            gid: config.gid,
            files: config.plugins.iter().map(|item| item.path.clone()).collect(),
            plugins,
            address,
            wakes: Vec::new(),
            turns: 0,
            woken_by_plugin: false,
            in_vain: 0,
        })
    }

    /// Serves until stopped; then closes plugins, answers commands in flight, reports its end.
    pub(crate) fn run(mut self, kind: WorkerKind) {
        let mut idle = IdleState::default();
        // Whether a sleep preceded this turn, and whether an event ended that sleep.
        let (mut slept, mut woken) = (false, false);
        while let Some(worked) = self.turn(slept) {
            // A plugin that serves peers may get their next message soon.
            let owing = !worked && self.core.borrow().is_at_work();
            let pause = idle.after(worked, owing, Instant::now);
            match pause {
                // Without a pause instruction, which takes longer than a whole turn.
                Pause::Spin => {}
                Pause::Yield => {
                    let began = Instant::now();
                    rustix::thread::sched_yield();
                    idle.yielded(began, Instant::now());
                }
                Pause::Sleep(longest) => {
                    let in_vain = slept && self.woken_by_plugin;
                    self.in_vain = if in_vain { self.in_vain + 1 } else { 0 };
                    if slept && woken {
                        // Woken without work: a UCX thread may first need this CPU. Other
                        // yields could cost a busy process's whole time slice.
                        rustix::thread::sched_yield();
                    }
                    woken = self.sleep(longest);
                }
            }
            slept = matches!(pause, Pause::Sleep(_));
        }
        self.end();
        self.control.send(ToControl::Ended);
        if kind == WorkerKind::Process {
            // UCX may keep a message to a dead host for ever, which would block cleanup.
            std::mem::forget(self.worker.clone());
        }
    }

    /// Runs one turn. Returns whether anything happened; `None` to stop.
    #[inline]
    fn turn(&mut self, slept: bool) -> Option<bool> {
        self.watch.next_turn();
        let mut worked = self.mailbox.has_post();
        if worked && !self.read_mail() {
            return None;
        }
        let mut core = self.core.borrow_mut();
        let most = if core.is_at_work() { 1 } else { LOOKS };
        let (mut received, mut looks) = (core.receive(), 1);
        while !received && looks < most {
            received = core.receive();
            looks += 1;
        }
        worked |= received;
        drop(core);
        if self.hosts.uses_ucx() {
            worked |= self.worker.progress();
            if !self.failed.borrow().is_empty() {
                self.remove_failed();
            }
        }
        worked |= self.core.borrow_mut().turn(if slept { ROUND } else { looks });
        self.turns = self.turns.wrapping_add(1);
        if !worked || self.turns.is_multiple_of(ANNOUNCED) {
            self.hosts.announce();
            if self.turns.is_multiple_of(PUBLISHED) {
                self.hosts.publish();
            }
        }
        Some(worked)
    }

    #[cold]
    fn read_mail(&mut self) -> bool {
        for message in self.mailbox.take() {
            match message {
                ToData::Stop => return false,
                ToData::Attach { link, host, attach, tag } => {
                    if let Err(failure) = self.attach(link, &host, &attach, tag) {
                        self.control.send(ToControl::Refused { link, failure });
                    }
                }
                ToData::Ring { link, ring, bell } => self.connect_ring(link, ring, bell),
                ToData::Reach { link, reach } => self.reach(link, &reach),
                ToData::Detach { link } => self.detach(link),
                ToData::UseGuard { link, use_guard } => self.use_guard(link, use_guard),
                ToData::Share { link, shared, turn: _turn } => self.share(link, shared),
                ToData::Unshare { link, end, turn: _turn } => self.hosts.unshare(link, end),
                ToData::Record(target) => self.record(target.as_ref()),
                ToData::Leave { link } => self.hosts.end_shares(link),
            }
        }
        true
    }

    fn attach(
        &mut self,
        link: LinkKey,
        host: &str,
        attach: &Attach,
        tag: VerificationTag,
    ) -> Result<(), Failure> {
        let refuse = |code, text| Err(Failure::new(code, text));
        let max_inflight = attach.max_inflight as usize;
        if max_inflight == 0 || max_inflight > MAX_SLOTS {
            let text =
                format!("{max_inflight} tasks in flight are not possible: 1 to {MAX_SLOTS} are");
            return refuse(DocaError::INVALID_VALUE, text);
        }
        let limit = usize::try_from(attach.max_message).unwrap_or(usize::MAX).min(self.max_message);
        if limit < MIN_MAX_MESSAGE {
            let text = format!(
                "a message limit of {limit} bytes is too small: {MIN_MAX_MESSAGE} is the least"
            );
            return refuse(DocaError::INVALID_VALUE, text);
        }
        self.hosts.departed.borrow().check()?;
        let Some(host) = self.hosts.admit(link, host, tag, limit, max_inflight) else {
            let text = "the worker has as many connections as there can be";
            return refuse(DocaError::FULL, text.to_owned());
        };
        debug!(
            "{} is connection {}, channel {}, with {max_inflight} tasks in flight and messages of \
             {limit} bytes at most",
            host.name, host.dest_id, host.channel
        );
        self.control.send(ToControl::Attached {
            link,
            ucx_address: self.address.as_bytes().to_vec(),
            channel: host.channel,
            max_message: limit as u64,
            plugins: self.plugins.clone(),
        });
        Ok(())
    }

    fn connect_ring(&self, link: LinkKey, ring: Ring, bell: EventFd) {
        let Some(host) = self.hosts.by_link(link) else { return };
        if let Err(error) = self.hosts.connect_ring(&host, ring, bell) {
            let text = format!("the worker cannot wait for the host: {error}");
            self.hosts.lose(&host, Failure::new(DocaError::OPERATING_SYSTEM, text));
        }
    }

    fn reach(&self, link: LinkKey, Reach { ucx_address, channel }: &Reach) {
        let Some(host) = self.hosts.by_link(link) else { return };
        let (failed, dest_id) = (Rc::clone(&self.failed), host.dest_id);
        let hook = move |status| failed.borrow_mut().push((dest_id, status));
        // SAFETY: the address is from an admitted host, which is trusted with the memory of its
        // workers: see the guide's page on security.
        let address = unsafe { WorkerAddress::from_bytes(ucx_address) };
        let connect = |address| self.worker.endpoint().on_error(hook).connect(&address);
        match address.and_then(connect) {
            Ok(endpoint) => {
                // If sending fails, the endpoint fails, or the host times out.
                let handshake = channel.to_le_bytes();
                endpoint.am_send_with(AM_HANDSHAKE, &handshake, (), AmFlags::EAGER).detach();
                self.hosts.connect_ucx(&host, endpoint, *channel);
            }
            Err(error) => {
                let text = format!("the worker cannot reach this host: {error}");
                self.hosts.lose(&host, Failure::new(DocaError::NOT_CONNECTED, text));
            }
        }
    }

    fn detach(&self, link: LinkKey) {
        if let Some(host) = self.hosts.by_link(link) {
            debug!("connection {} of {} has ended", host.dest_id, host.name);
            self.hosts.part(&host);
        }
    }

    #[cold]
    fn remove_failed(&self) {
        for (dest_id, status) in self.failed.take() {
            if let Some(host) = self.hosts.by_dest_id(dest_id) {
                let text = format!(
                    "UCX lost the host: {}; start the worker again",
                    status.with_variables()
                );
                self.hosts.lose(&host, Failure::new(DocaError::CONNECTION_RESET, text));
            }
        }
    }

    /// Sleeps until a host, UCX or the control thread wakes it. Returns whether one did.
    fn sleep(&mut self, longest: Duration) -> bool {
        self.woken_by_plugin = false;
        self.hosts.publish();
        let woken = !self.hosts.sleep() || self.sleep_armed(longest);
        self.hosts.wake();
        woken
    }

    fn sleep_armed(&mut self, longest: Duration) -> bool {
        let ucx = self.hosts.uses_ucx();
        match if ucx { self.worker.arm() } else { Ok(true) } {
            Ok(true) => {}
            Ok(false) => return true,
            Err(problem) => {
                limited!(error, "{problem}");
                // UCX cannot wake the worker now, so retry soon.
                std::thread::sleep(longest.min(Duration::from_millis(1)));
                return false;
            }
        }
        self.wakes.clear();
        // A plugin whose descriptor stays readable is polled with a backoff.
        if self.in_vain < IN_VAIN && !self.core.borrow().arm(&mut self.wakes) {
            self.woken_by_plugin = true;
            return true;
        }
        let mut fds: SmallVec<[PollFd<'_>; 16]> =
            smallvec![PollFd::new(&self.hosts.bells, PollFlags::IN)];
        if ucx && let Ok(fd) = self.worker.event_fd() {
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
        let own = fds.len();
        for wake in &self.wakes {
            // SAFETY: by the contract of `arm`, it stays open until the plugin's next call. If a
            // plugin breaks it, another descriptor is polled, which only affects this sleep's
            // length.
            let wake = unsafe { BorrowedFd::borrow_raw(*wake) };
            fds.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
        }
        let limit =
            Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        let woken = poll(&mut fds, Some(&limit)) != Ok(0);
        self.woken_by_plugin = fds.iter().skip(own).any(|fd| !fd.revents().is_empty());
        if !fds[0].revents().is_empty() {
            self.hosts.bells.silence();
        }
        woken
    }

    fn end(&self) {
        self.core.borrow_mut().close_plugins();
        let flushes = self.hosts.flush_endpoints();
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        let is_done = || flushes.iter().all(ucx::Request::is_done) && !self.hosts.is_waiting();
        while Instant::now() < deadline && !is_done() {
            if !self.worker.progress() {
                rustix::thread::sched_yield();
            }
            self.core.borrow_mut().turn(ROUND);
        }
        self.hosts.announce();
        self.hosts.let_go();
        info!("the plugins are closed");
    }
}

/// UCX listens on all its devices without authentication. So it only uses the loopback device if
/// the worker listens only there, unless the environment names devices.
fn ucx_config(listen: IpAddr) -> Config {
    match is_loopback(listen) && std::env::var_os("UCX_NET_DEVICES").is_none() {
        true => LOOPBACK,
        false => &[],
    }
}

fn ucx_worker(core: &Rc<RefCell<Core>>, config: Config) -> ucx::Result<Worker> {
    let mut context = context().name("urom-worker");
    for (name, value) in config {
        context = context.config(*name, *value);
    }
    let worker = context.build()?.worker()?;
    let receiver = Rc::clone(core);
    worker.set_am_handler(AM_COMMANDS, move |message| match message.data {
        ucx::AmData::Eager(bytes) => receiver.borrow_mut().receive_message(bytes),
        ucx::AmData::Rendezvous(_) => {
            limited!(warn, "a message was dropped: a host announced it instead of sending it")
        }
    })?;
    worker.set_am_handler(AM_HANDSHAKE, |_| {})?;
    Ok(worker)
}
