//! Fuzz target for a worker's data thread: UCX messages of hosts, and their attach messages.

#[path = "fuzzing/plugin.rs"]
mod plugin;
#[path = "fuzzing/strange.rs"]
mod strange;

use std::collections::HashMap;

use tokio::sync::mpsc;
use ucx::{Endpoint, Message};
use urom_wire::control::Reach;
use urom_wire::envelope::{AM_NOTIFICATIONS, Envelope, frames};
use urom_wire::frame::{Command, CommandStart, DEADLINE_LEN, Notification, TRACED_LEN, Unusual};
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::program::Program;
use urom_wire::fuzzing::{frames as bytes_of, recent, sent};

use self::strange::Strange;

use super::*;

const HOSTS: u16 = 3;
/// Hosts per worker: UCX keeps connected endpoints and their mapped memory until its end.
const CHANNELS: u16 = 1024;
const SLOTS: u8 = 8;
const LIMIT: usize = 256;
const NO_BIT: u8 = 9;

/// Memory budget for hosts' commands and notifications.
const MEMORY: usize = 1 << 20;

/// Limit of turns until all answers arrive; each takes one or two.
const TURNS: usize = 100_000;

/// Runs a program of host events: hosts join, send valid, damaged or arbitrary bytes, and leave.
/// Each valid command is answered once, to its host and in its slot. A host that misbehaves is
/// refused with a reason, without effect on other hosts. A message with a host's channel but
/// without its verification tag is dropped. Messages that the library never sends have no effect: admitted
/// hosts are answered afterwards.
pub fn worker_frames(input: &[u8]) {
    thread_local! {
        // UCX setup takes a thousand times longer than an input.
        static WORKER: RefCell<FuzzedWorker> = RefCell::new(FuzzedWorker::new());
    }
    recent::note(input);
    WORKER.with_borrow_mut(|rig| {
        if rig.next >= CHANNELS {
            *rig = FuzzedWorker::new();
            recent::forget();
        }
        within(MEMORY + 64 * input.len(), || {
            let mut program = Program::new(input);
            while let Some(step) = program.byte() {
                rig.step(step, &mut program);
            }
            rig.end();
        });
    });
}

#[derive(Default)]
struct FuzzedHost {
    /// The worker's channel for it, while admitted.
    channel: Option<u16>,
    own: u16,
    /// Prefix of its messages, in both directions.
    tag: VerificationTag,
    waiting: [usize; SLOTS as usize],
    /// It sent invalid frames, so it may be refused.
    misbehaved: bool,
}

/// Two hosts share a tag, so that one can use the other's channel.
fn tag_of(link: LinkKey) -> VerificationTag {
    VerificationTag::new(u128::from(link / 2))
}

type Notes = Rc<RefCell<Vec<(Envelope, Vec<u8>)>>>;

struct FuzzedWorker {
    data: DataThread,
    from_data: mpsc::UnboundedReceiver<ToControl>,
    ucx: Worker,
    endpoint: Endpoint,
    notes: Notes,
    /// By link, which is the host's number plus one.
    hosts: HashMap<LinkKey, FuzzedHost>,
    /// A host that is leaving. The worker may refuse it first.
    leaving: Option<LinkKey>,
    unseen: usize,
    /// The next host's own channel; unique, so that late messages cannot reach a later host.
    next: u16,
    strange: Strange,
}

impl FuzzedWorker {
    fn new() -> FuzzedWorker {
        let mailbox = Arc::new(Mailbox::new().expect("a mailbox"));
        let (control, from_data) = ControlHandle::new();
        let domains = Arc::new(WorkerDomains::new());
        let config = WorkerConfig { max_message: LIMIT, ..WorkerConfig::unlimited() };
        let watch = Arc::new(CallWatch::default());
        let (page, _fd) = MetricsPage::create().expect("a page");
        let of_watch = Arc::clone(&watch);
        let data = DataThread::open(&config, mailbox, control.clone(), &domains, of_watch, page);
        let data = data.expect("UCX");
        let hosts = Rc::clone(&data.hosts);
        hosts.use_ucx();
        let services = services(&config);
        let supply = Supply { domains, services, hosts, plain_doca: false };
        let instance = plugin::open(&supply, &watch);
        *data.core.borrow_mut() = Core::new(vec![instance], LIMIT, Rc::clone(&data.hosts));
        let ucx = context().build().and_then(|context| context.worker()).expect("UCX");
        let notes = Notes::default();
        let into = Rc::clone(&notes);
        let note = move |message: Message<'_>| {
            let ucx::AmData::Eager(bytes) = message.data else {
                panic!("a message that was not sent eagerly")
            };
            let (envelope, frames) = Envelope::split(bytes).expect("an envelope");
            into.borrow_mut().push((envelope, frames.to_vec()));
        };
        ucx.set_am_handler(AM_NOTIFICATIONS, note).expect("a handler");
        ucx.set_am_handler(AM_HANDSHAKE, |message| {
            let channel = u16::from_le_bytes(message.header.try_into().expect("two bytes"));
            assert!(channel < 2 * CHANNELS, "a handshake for {channel}");
        })
        .expect("a handler");
        let endpoint = ucx.endpoint().connect(&data.address).expect("an endpoint");
        let mut rig = FuzzedWorker {
            data,
            from_data,
            ucx,
            endpoint,
            notes,
            hosts: HashMap::new(),
            leaving: None,
            unseen: 0,
            next: 0,
            strange: Strange::default(),
        };
        rig.settle();
        rig
    }

    fn step(&mut self, step: u8, program: &mut Program<'_>) {
        let host = u16::from(step / 8) % HOSTS;
        let link = LinkKey::from(host) + 1;
        match step % 8 {
            0 => {
                let attach = FuzzedWorker::attach();
                self.come(link, attach);
            }
            1 => {
                let attach = postcard::from_bytes(program.bytes())
                    .unwrap_or_else(|_| FuzzedWorker::attach());
                self.come(link, attach);
            }
            2 => self.leave(link),
            3 | 4 => {
                let bytes = FuzzedWorker::frames(program);
                self.send(self.envelope(link), bytes);
            }
            5 => {
                let mut bytes = FuzzedWorker::frames(program);
                let (at, with) = (usize::from(program.small()), program.small());
                if !bytes.is_empty() {
                    let at = at % bytes.len();
                    bytes[at] ^= with;
                    bytes.truncate(bytes.len() - usize::from(with & 7).min(bytes.len()));
                }
                // With the host's own tag, or another's.
                let tag = tag_of(LinkKey::from(with >> 6));
                self.send(Envelope { tag, ..self.envelope(link) }, bytes);
            }
            6 if step < 8 => self.send(self.envelope(link), program.bytes().to_vec()),
            6 => self.send_strange(step / 8, program),
            _ => {
                if step & 8 != 0 {
                    plugin::release();
                }
                self.turn();
            }
        }
    }

    fn attach() -> Attach {
        Attach {
            token: 0,
            max_inflight: u32::from(SLOTS),
            max_message: LIMIT as u64,
            program: String::new(),
        }
    }

    fn come(&mut self, link: LinkKey, attach: Attach) {
        if self.hosts.contains_key(&link) || attach.max_inflight > u32::from(SLOTS) {
            return;
        }
        // Messages under way must not reach the new host.
        self.settle();
        let channel = self.next;
        self.next += 1;
        let tag = tag_of(link);
        self.hosts.insert(link, FuzzedHost { own: channel, tag, ..FuzzedHost::default() });
        self.data.mailbox.post(ToData::Attach { link, host: "fuzzed".to_owned(), attach, tag });
        let ucx_address = self.ucx.address().expect("an address").as_bytes().to_vec();
        let reach = Reach { ucx_address, channel };
        self.data.mailbox.post(ToData::Reach { link, reach });
        self.turn();
    }

    fn leave(&mut self, link: LinkKey) {
        if self.hosts.remove(&link).is_some() {
            self.leaving = Some(link);
            // Messages under way to it are dropped.
            self.settle();
            self.data.mailbox.post(ToData::Detach { link });
            self.settle();
            self.leaving = None;
        }
    }

    /// Up to four frames of a host: commands, some with a deadline or a trace context, and cancels.
    fn frames(program: &mut Program<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..=program.small() % 4 {
            let (slot, kind) = (program.small(), program.small());
            // Some exceed the limits of slots and length.
            let slot = u16::from(slot) % (u16::from(SLOTS) + 1);
            let len = if kind >= 0xf0 { LIMIT } else { usize::from(kind & 0x0f) };
            let bit = if kind & 0x80 == 0 { 0 } else { NO_BIT };
            let start = CommandStart::new(slot, bit);
            match kind & 0x70 {
                0x10 => {
                    bytes.extend(start.cancel(u32::from(kind & 0x0f)).word().to_le_bytes());
                    continue;
                }
                0x20 => {
                    bytes.extend(start.header_with_deadline(len).word().to_le_bytes());
                    bytes.extend_from_slice(&[program.small(); DEADLINE_LEN]);
                }
                0x30 => {
                    bytes.extend(start.header_with_trace(len).word().to_le_bytes());
                    bytes.extend_from_slice(&[program.small(); TRACED_LEN]);
                }
                _ => bytes.extend(start.header(len).word().to_le_bytes()),
            }
            bytes.resize(bytes.len() + len, program.small());
        }
        bytes
    }

    fn envelope(&self, link: LinkKey) -> Envelope {
        let channel = self.hosts.get(&link).and_then(|host| host.channel).unwrap_or(u16::MAX);
        Envelope { tag: tag_of(link), channel }
    }

    /// Records the expected effect of a message's frames.
    fn expect(&mut self, Envelope { tag, channel }: Envelope, message: &[u8]) {
        for (header, body) in frames(message).map_while(Result::ok) {
            let command = Command::read(header, body);
            self.unseen += 1;
            let of = |host: &&mut FuzzedHost| host.channel == Some(channel) && host.tag == tag;
            let Some(host) = self.hosts.values_mut().find(of) else { continue };
            if matches!(command.unusual(), Some(Unusual::Cancel(_))) {
                continue;
            }
            match host.waiting.get_mut(usize::from(command.slot)) {
                Some(waiting) => {
                    host.misbehaved |= *waiting > 0;
                    *waiting += 1;
                }
                None => host.misbehaved = true,
            }
        }
    }

    fn send(&mut self, envelope: Envelope, frames: Vec<u8>) {
        self.expect(envelope, &frames);
        sent::count();
        let bytes = bytes_of::message(envelope, &frames);
        self.endpoint.am_send_with(AM_COMMANDS, &[], bytes, AmFlags::EAGER).detach();
        if self.unseen > 64 {
            self.turn();
        }
    }

    fn turn(&mut self) -> bool {
        let mut worked = self.ucx.progress();
        // As after a sleep, so that idle plugins are polled too.
        worked |= self.data.turn(true).expect("the worker is not stopped");
        worked |= self.ucx.progress();
        self.unseen = 0;
        while let Ok(message) = self.from_data.try_recv() {
            self.on_message(message);
        }
        let notes = self.notes.take();
        let all = notes.iter().flat_map(|(envelope, notes)| {
            frames(notes).map(move |frame| (*envelope, frame.expect("whole frames")))
        });
        for (envelope, (header, body)) in all {
            let note = Notification::read(header, body).expect("a notification");
            // A refused or leaving host may still get messages.
            let of = |host: &&mut FuzzedHost| host.own == envelope.channel;
            let Some(host) = self.hosts.values_mut().find(of) else { continue };
            assert!(host.tag == envelope.tag, "a host is told with its own verification tag");
            let waiting = host.waiting.get_mut(usize::from(note.slot)).expect("a slot of its own");
            *waiting = waiting.checked_sub(1).expect("an answer to a command");
        }
        worked
    }

    fn on_message(&mut self, message: ToControl) {
        match message {
            ToControl::Attached { link, channel, .. } => {
                if let Some(host) = self.hosts.get_mut(&link) {
                    host.channel = Some(channel);
                }
            }
            ToControl::Refused { link, failure } => {
                assert!(!failure.text.is_empty());
                if self.leaving == Some(link) {
                    return;
                }
                let host = self.hosts.remove(&link).expect("a host that is there");
                assert!(host.misbehaved || host.channel.is_none(), "{failure}");
            }
            other => panic!("a worker sends nothing else: {other:?}"),
        }
    }

    /// Runs turns until all messages have arrived. While two UCX ends are connecting, messages are
    /// under way although turns are idle.
    fn settle(&mut self) {
        let flush = self.endpoint.flush();
        let deadline = Instant::now() + Duration::from_secs(30);
        while !flush.is_done() {
            assert!(Instant::now() < deadline, "what was sent does not arrive");
            self.turn();
        }
        let mut quiet = 0;
        for _ in 0..TURNS {
            quiet = if self.turn() || self.data.hosts.is_waiting() { 0 } else { quiet + 1 };
            if quiet == 4 {
                return;
            }
        }
        panic!("the worker comes to no rest");
    }

    fn end(&mut self) {
        self.settle();
        plugin::release();
        self.settle();
        self.see_strange();
        plugin::reset();
        assert!(!self.data.core.borrow().owes(), "something is left to be done");
        for (link, host) in &self.hosts {
            assert!(host.channel.is_some(), "host {link} was neither let in nor refused");
            assert_eq!(host.waiting, [0; SLOTS as usize], "host {link} waits for answers");
        }
        for link in 1..=LinkKey::from(HOSTS) {
            self.leave(link);
        }
        assert!(self.data.core.borrow().is_idle(), "something is left of commands");
    }
}
