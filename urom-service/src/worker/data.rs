//! The data thread: UCX, the plugins, and the loop that runs them.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod memory;

use std::cell::RefCell;
use std::net::IpAddr;
use std::os::fd::{BorrowedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smallvec::{SmallVec, smallvec};
use tracing::{debug, error, info, warn};
use ucx::queue_probe::{Queue, QueueProbe, Verdict};
use ucx::{AmFlags, Status, Worker, WorkerAddress};
use urom_abi::DocaError;
use urom_wire::control::{Attach, Failure, PluginAddress};
use urom_wire::frame::{AM_COMMANDS, AM_GREET, AM_PROBE, MAX_SLOTS, MIN_MAX_MESSAGE};
use urom_wire::mailbox::Mailbox;
use urom_wire::pass::Pass;
use urom_wire::ucx_context::{BLOCKED, Config, context};

use super::Place;
use super::config::{LOOPBACK, WorkerConfig, is_loopback};
use super::connection::{Connection, Peer};
use super::control_thread::ControlHandle;
use super::core::Core;
use super::desk::Desk;
use super::domains::Domains;
use super::idle::{Idle, Pause};
use super::instance::Instance;
use super::lookups::Supply;
use super::messages::{LinkKey, ToControl, ToData};
use super::rounds::ROUND;
use super::services::services;
use super::watch::Watch;
use crate::host_names::HostName;

const LAST_WORDS: Duration = Duration::from_millis(500);

const LOOKS: u32 = 32;

/// After so many sleeps in a row that plugins ended for nothing, the next sleep is without their
/// descriptors.
const IN_VAIN: u32 = 4;

/// The least time between two tests of the receive queue that strangers cause.
const STRAYS_PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Data {
    /// A test of the receive queue, after somebody who wrote into it is gone. It goes before the
    /// queue.
    probe: QueueProbe,
    /// The number of stray commands at the last test that they caused, and its time.
    strays: u64,
    strays_tried: Instant,
    worker: Worker,
    core: Rc<RefCell<Core>>,
    failed: Rc<RefCell<Vec<(u16, u64, Status)>>>,
    mailbox: Arc<Mailbox<ToData>>,
    control: ControlHandle,
    watch: Arc<Watch>,
    max_message: usize,
    plugins: Vec<PluginAddress>,
    last_dest_id: u64,
    queue: Queue,
    blocked: bool,
    wakes: Vec<RawFd>,
    /// Whether a plugin ended the last sleep, or kept the worker from it.
    woken_by_plugin: bool,
    /// How often in a row that was for nothing.
    in_vain: u32,
}

impl Data {
    pub(crate) fn open(
        config: &WorkerConfig,
        mailbox: Arc<Mailbox<ToData>>,
        control: ControlHandle,
        domains: &Arc<Domains>,
        watch: Arc<Watch>,
    ) -> Result<Data, Failure> {
        let mut open = Vec::new();
        let ucx_config = ucx_config(config.listen);
        let supply = Supply {
            domains: Arc::clone(domains),
            services: services(config),
            desk: Desk::new(ucx_config),
            plain_doca: config.plain_doca,
        };
        for item in &config.plugins {
            open.push(Instance::open(item, &supply, &watch)?);
        }
        let plugins = open.iter().map(Instance::address).collect();
        let core = Rc::new(RefCell::new(Core::new(
            open,
            config.max_message,
            config.max_unread,
            Rc::clone(&supply.desk),
            control.clone(),
        )));
        let ucx_failed = |error: ucx::Error| Failure::new(DocaError::DRIVER, error.to_string());
        let (worker, queue) = ucx_worker(&core, ucx_config).map_err(ucx_failed)?;
        Ok(Data {
            worker,
            core,
            failed: Rc::default(),
            mailbox,
            control,
            watch,
            max_message: config.max_message,
            plugins,
            last_dest_id: 0,
            queue,
            probe: QueueProbe::default(),
            strays: 0,
            strays_tried: Instant::now(),
            blocked: false,
            wakes: Vec::new(),
            woken_by_plugin: false,
            in_vain: 0,
        })
    }

    /// Serves until told to stop; closes the plugins, answers what is in flight, and says so.
    pub(crate) fn run(mut self, place: Place) {
        let mut idle = Idle::default();
        // Whether the last thing before this turn was a sleep, and whether something ended it.
        let (mut slept, mut woken) = (false, false);
        while let Some(worked) = self.turn(slept) {
            // A plugin that serves peers may get their next message soon.
            let owing = !worked && self.core.borrow().is_at_work();
            let pause = idle.after(worked, owing, Instant::now);
            if !matches!(pause, Pause::Spin) {
                self.probe_strays();
            }
            match pause {
                // No pause instruction: it takes longer than a whole turn.
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
                        // For nothing: a thread of UCX's own may have its part to do first, and
                        // wait for this CPU. Only then: whoever yields to a busy process waits for
                        // the rest of its time slice.
                        rustix::thread::sched_yield();
                    }
                    woken = self.sleep(longest);
                }
            }
            slept = matches!(pause, Pause::Sleep(_));
        }
        self.end();
        self.control.send(ToControl::Ended);
        if place == Place::Process {
            // With a host that died, UCX may keep a message for ever, and taking it down would wait
            // for that. The process is about to end.
            std::mem::forget(self.worker.clone());
        }
    }

    /// One turn of the loop. Whether anything happened; `None` when it is time to stop.
    #[inline]
    fn turn(&mut self, slept: bool) -> Option<bool> {
        self.watch.next_turn();
        let mut worked = self.mailbox.has_post();
        if worked && !self.read_mail() {
            return None;
        }
        let (received, looks) = self.receive();
        worked |= received;
        if !self.failed.borrow().is_empty() {
            self.bury_failed();
        }
        if self.probe.is_running() {
            // It is soon over, and sleeping would make it longer.
            worked = true;
            self.try_queue(!received);
        }
        worked |= self.core.borrow_mut().turn(if slept { ROUND } else { looks });
        Some(worked)
    }

    /// Looks whether UCX has anything. Commands come by it alone and are run as they come, so while
    /// nothing else is at work the rest of a turn can wait for a few looks. Whether anything came,
    /// and after how many.
    #[inline]
    fn receive(&self) -> (bool, u32) {
        let most = if self.core.borrow().is_at_work() { 1 } else { LOOKS };
        let mut looks = 1;
        while !self.worker.progress() {
            if looks == most {
                return (false, looks);
            }
            looks += 1;
        }
        (true, looks)
    }

    #[cold]
    fn read_mail(&mut self) -> bool {
        for message in self.mailbox.take() {
            match message {
                ToData::Stop => return false,
                ToData::Attach { link, host, attach, pass } => {
                    if let Err(failure) = self.attach(link, &host, &attach, pass) {
                        self.control.send(ToControl::Refused { link, failure });
                    }
                }
                ToData::Detach { link } => self.detach(link),
                ToData::Lease { link, lease } => self.lease(link, lease),
                ToData::Share { link, shared, turn: _turn } => self.share(link, shared),
                ToData::Unshare { link, end, turn: _turn } => {
                    self.core.borrow_mut().hosts.unshare(link, end)
                }
                ToData::Leave { link } => self.core.borrow_mut().hosts.end_shares(link),
            }
        }
        true
    }

    fn attach(
        &mut self,
        link: LinkKey,
        host: &str,
        attach: &Attach,
        pass: Pass,
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
        if self.blocked {
            return refuse(DocaError::CONNECTION_RESET, BLOCKED.to_owned());
        }
        self.core.borrow().hosts.departed.check()?;
        let unreachable = |error: ucx::Error| {
            let text = format!("the worker cannot reach this host: {error}");
            Failure::new(DocaError::NOT_CONNECTED, text)
        };
        // SAFETY: from a host that was let in. It is trusted with the memory of the workers that it
        // uses: the guide's page on security says so.
        let address =
            unsafe { WorkerAddress::from_bytes(&attach.ucx_address) }.map_err(unreachable)?;
        let Some(channel) = self.core.borrow_mut().hosts.connections.free_number() else {
            return refuse(
                DocaError::FULL,
                "the worker has as many connections as there can be".to_owned(),
            );
        };
        self.last_dest_id += 1;
        let dest_id = self.last_dest_id;
        let failed = Rc::clone(&self.failed);
        let hook = move |status| failed.borrow_mut().push((channel, dest_id, status));
        let endpoint = self.worker.endpoint().on_error(hook).connect(&address);
        let endpoint = endpoint.map_err(unreachable)?;
        self.probe.met(&endpoint);
        // If it cannot be sent, the endpoint fails, or the host misses it and gives up.
        endpoint.am_send_with(AM_GREET, &attach.channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        let most_unread = self.core.borrow().hosts.allowance.messages;
        let connection = Connection::new(
            link,
            dest_id,
            Peer { channel: attach.channel, endpoint, pass, name: HostName::new(dest_id, host) },
            max_inflight,
            limit,
            most_unread,
        );
        self.core.borrow_mut().hosts.admit(channel, connection);
        debug!(
            "host {host} is connection {dest_id}, channel {channel}, with {max_inflight} tasks in flight and messages of \
             {limit} bytes at most"
        );
        let (ucx_address, max_message) = (self.queue.address.as_bytes().to_vec(), limit as u64);
        let plugins = self.plugins.clone();
        self.control.send(ToControl::Attached { link, ucx_address, channel, max_message, plugins });
        Ok(())
    }

    fn detach(&mut self, link: LinkKey) {
        let mut core = self.core.borrow_mut();
        let Some(channel) = core.hosts.connections.number_of(link) else { return };
        if let Some(connection) = core.hosts.part(channel) {
            debug!("connection {} of {} has ended", connection.dest_id, connection.host);
            core.hosts.abandon(connection);
            drop(core);
            self.probe_queue();
        }
    }

    /// Tests the receive queue after a host is gone, perhaps in the middle of a message. Without
    /// other hosts it does not matter: the worker ends.
    fn probe_queue(&mut self) {
        if self.core.borrow().hosts.connections.is_empty() {
            return;
        }
        if let Err(error) = self.probe.begin(self.queue.clone()) {
            warn!("cannot check whether messages of hosts still arrive: {error}");
        }
    }

    /// Tests the receive queue if hosts that were thrown out sent more, and nothing comes now: the
    /// end of no stream tells of theirs.
    fn probe_strays(&mut self) {
        let strays = self.core.borrow().strays();
        if strays == self.strays
            || self.probe.is_running()
            || self.strays_tried.elapsed() < STRAYS_PAUSE
        {
            return;
        }
        (self.strays, self.strays_tried) = (strays, Instant::now());
        self.probe_queue();
    }

    #[cold]
    fn try_queue(&mut self, empty: bool) {
        if self.probe.look(empty, Instant::now()) != Verdict::Blocked {
            return;
        }
        error!("{BLOCKED}");
        self.blocked = true;
        self.core.borrow_mut().hosts.lose_all(&Failure::new(DocaError::CONNECTION_RESET, BLOCKED));
    }

    #[cold]
    fn bury_failed(&self) {
        let mut core = self.core.borrow_mut();
        for (channel, dest_id, status) in self.failed.take() {
            let connection = core.hosts.connections.get(channel);
            if connection.is_some_and(|connection| connection.dest_id == dest_id) {
                let text = format!(
                    "UCX lost the host: {}; start the worker again",
                    status.with_variables()
                );
                core.hosts.lose(channel, Failure::new(DocaError::CONNECTION_RESET, text));
            }
        }
    }

    /// Sleeps until UCX or the control thread wakes it, but not long. Whether it was woken.
    fn sleep(&mut self, longest: Duration) -> bool {
        self.woken_by_plugin = false;
        match self.worker.arm() {
            Ok(true) => {}
            Ok(false) => return true,
            Err(problem) => {
                limited!(error, "{problem}");
                // UCX wakes nobody now, so there is no event to wait for: look again soon.
                std::thread::sleep(longest.min(Duration::from_millis(1)));
                return false;
            }
        }
        self.wakes.clear();
        // A plugin whose descriptor stays readable is polled at a falling rate.
        if self.in_vain < IN_VAIN && !self.core.borrow().arm(&mut self.wakes) {
            self.woken_by_plugin = true;
            return true;
        }
        let Ok(ucx) = self.worker.event_fd() else { return false };
        let mut fds: SmallVec<[PollFd<'_>; 16]> = smallvec![
            PollFd::from_borrowed_fd(ucx, PollFlags::IN),
            PollFd::new(self.mailbox.wake(), PollFlags::IN),
        ];
        for wake in &self.wakes {
            // SAFETY: it stays open until the plugin's next call, by the contract of `arm`. That
            // of a plugin that breaks it is somebody else's: the sleep ends early, or not.
            let wake = unsafe { BorrowedFd::borrow_raw(*wake) };
            fds.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
        }
        let limit =
            Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        let woken = poll(&mut fds, Some(&limit)) != Ok(0);
        self.woken_by_plugin = fds.iter().skip(2).any(|fd| !fd.revents().is_empty());
        woken
    }

    fn end(&self) {
        self.core.borrow_mut().close_plugins();
        let flush = |(_, connection): (u16, &mut Connection)| connection.flush_endpoint();
        let flushes: Vec<_> =
            self.core.borrow_mut().hosts.connections.iter_mut().map(flush).collect();
        let deadline = Instant::now() + LAST_WORDS;
        while Instant::now() < deadline && flushes.iter().any(|flush| !flush.is_done()) {
            if !self.worker.progress() {
                rustix::thread::sched_yield();
            }
            self.core.borrow_mut().turn(ROUND);
        }
        self.core.borrow_mut().hosts.let_go();
        info!("the plugins are closed");
    }
}

/// UCX listens on every device that it uses and asks nobody who they are, so it uses the loopback
/// device alone where the worker listens nowhere else, unless the environment names devices.
fn ucx_config(listen: IpAddr) -> Config {
    match is_loopback(listen) && std::env::var_os("UCX_NET_DEVICES").is_none() {
        true => LOOPBACK,
        false => &[],
    }
}

/// A UCX worker that gives commands to `core`, and its receive queue.
fn ucx_worker(core: &Rc<RefCell<Core>>, config: Config) -> ucx::Result<(Worker, Queue)> {
    let mut context = context().name("urom-worker");
    for (name, value) in config {
        context = context.config(*name, *value);
    }
    let worker = context.build()?.worker()?;
    let receiver = Rc::clone(core);
    worker.set_am_handler(AM_COMMANDS, move |message| match message.data {
        ucx::Data::Eager(bytes) => match Pass::split(bytes) {
            Some((pass, frames)) => receiver.borrow_mut().receive(pass, frames),
            None => drop_message("it has no room for the pass that it should begin with"),
        },
        ucx::Data::Rendezvous(_) => drop_message("a host announced it instead of sending it"),
    })?;
    worker.set_am_handler(AM_GREET, |_| {})?;
    let queue = Queue::of(&worker, AM_PROBE)?;
    Ok((worker, queue))
}

#[cold]
fn drop_message(why: &str) {
    limited!(warn, "a message was dropped: {why}");
}
