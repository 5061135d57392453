//! Fuzz target for a worker's control streams: messages of the daemon and of hosts.

use std::collections::HashSet;
use std::sync::mpsc::Receiver;

use urom_wire::control::DomainWord;
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::now;
use urom_wire::fuzzing::program::Program;
use urom_wire::relay::BACKLOG;

use super::*;
use crate::handshakes::Handshakes;
use crate::worker::domains::WorkerDomains;
use crate::worker::intake::{DomainJob, work};

const LINKS: LinkKey = 3;

/// Memory budget for some domains and their messages.
const MEMORY: usize = 1 << 20;

/// Runs a program of daemon and host events; their messages are arbitrary bytes. A host is admitted
/// by an announced token, which works once. A host that misbehaves is refused with a reason, and
/// its domains end. Each domain start is answered, in order.
pub fn worker_control(input: &[u8]) {
    within(MEMORY + 512 * input.len(), || {
        now(async {
            let mut worker = Worker::new();
            let mut program = Program::new(input);
            while let Some(step) = program.byte() {
                worker.step(step, &mut program).await;
            }
            for link in 1..=LINKS {
                worker.handle(ControlEvent::HostGone { link, end: None });
            }
            assert_eq!(worker.domains.count(None), 0, "domains are left behind");
        });
    });
}

pub(super) struct Worker {
    pub(super) control: ControlState,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests alone read it"))]
    pub(super) watch: Arc<CallWatch>,
    pub(super) domains: Arc<WorkerDomains>,
    pub(super) jobs: Receiver<DomainJob>,
    hosts: HashMap<LinkKey, mpsc::Receiver<WorkerToHost>>,
    pub(super) from_worker: mpsc::Receiver<WorkerToDaemon>,
    pub(super) events: mpsc::Receiver<ControlEvent>,
    tokens: HashSet<u128>,
    inside: HashSet<LinkKey>,
}

impl Worker {
    pub(super) fn new() -> Worker {
        let (daemon, from_worker) = mpsc::channel(BACKLOG);
        let watch = Arc::new(CallWatch::default());
        let ((sender, events), (inbox, jobs)) = (mpsc::channel(BACKLOG), TableInbox::new());
        let mailbox = Arc::new(Mailbox::new().expect("a mailbox"));
        let page = MetricsPage::private().expect("a page");
        let (config, of_watch) = (WorkerConfig::unlimited(), (Arc::clone(&watch), page));
        let control = ControlState::new(config, mailbox, of_watch, inbox, (daemon, 5000), sender);
        let (hosts, tokens, inside) = (HashMap::new(), HashSet::new(), HashSet::new());
        let domains = Arc::new(WorkerDomains::new());
        Worker { control, watch, domains, jobs, hosts, from_worker, events, tokens, inside }
    }

    fn handle(&mut self, event: ControlEvent) {
        self.control.handle(event);
        while let Ok(job) = self.jobs.try_recv() {
            work(&self.domains, job);
        }
    }

    async fn step(&mut self, step: u8, program: &mut Program<'_>) {
        let link = LinkKey::from(step / 8) % LINKS + 1;
        match step % 8 {
            0..=3 => self.on_host_message(link, program.bytes()),
            4 => {
                if let Ok(message) = postcard::from_bytes(program.bytes()) {
                    match &message {
                        DaemonToWorker::Expect { token } => drop(self.tokens.insert(*token)),
                        DaemonToWorker::Forget { token } => drop(self.tokens.remove(token)),
                        DaemonToWorker::Ping
                        | DaemonToWorker::Open { .. }
                        | DaemonToWorker::Record { .. }
                        | DaemonToWorker::Leave
                        | DaemonToWorker::Stop => {}
                    }
                    self.handle(ControlEvent::Daemon(message));
                }
            }
            5 => {
                self.leave(link);
                let (outbox, told) = mpsc::channel(BACKLOG);
                self.hosts.insert(link, told);
                let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
                let handshakes = Handshakes::new(1).enter(peer.ip());
                self.handle(ControlEvent::HostCame { link, peer, outbox, handshakes });
            }
            6 => self.leave(link),
            _ => {
                self.handle(ControlEvent::Late { link });
                if !self.inside.contains(&link) {
                    self.is_out(link);
                }
            }
        }
        // Timeouts are separate steps.
        self.control.timers.shutdown().await;
        while self.from_worker.try_recv().is_ok() {}
        assert!(self.events.is_empty(), "nothing happens by itself");
    }

    fn leave(&mut self, link: LinkKey) {
        self.hosts.remove(&link);
        self.inside.remove(&link);
        self.handle(ControlEvent::HostGone { link, end: None });
    }

    fn on_host_message(&mut self, link: LinkKey, bytes: &[u8]) {
        let Ok(message) = postcard::from_bytes(bytes) else { return };
        let is_there = self.control.links.contains_key(&link);
        let token = match &message {
            HostToWorker::Attach(attach) => Some(attach.token),
            _ => None,
        };
        let domain = match &message {
            HostToWorker::Domain { domain, word } => {
                Some((*domain, matches!(word, DomainWord::End)))
            }
            _ => None,
        };
        self.handle(ControlEvent::Host { link, message, turn: None });
        if !is_there {
            return assert!(!self.control.links.contains_key(&link), "it is empty");
        }
        let stays = self.control.links.contains_key(&link);
        if let Some(token) = token {
            let lets_in = !self.inside.contains(&link) && self.tokens.remove(&token);
            assert_eq!(stays, lets_in, "who comes in with token {token}");
            self.inside.extend(lets_in.then_some(link));
        }
        if let Some((domain, is_end)) = domain {
            assert!(self.inside.contains(&link) || !stays, "an unknown host has a domain");
            let told = self.hosts.get_mut(&link).and_then(|told| told.try_recv().ok());
            match told {
                Some(WorkerToHost::DomainEnded { domain: of }) => assert!(is_end && of == domain),
                Some(WorkerToHost::DomainStarted { domain: of, .. }) => assert_eq!(of, domain),
                Some(WorkerToHost::Refused(failure)) => {
                    assert!(!stays && !failure.text.is_empty());
                }
                Some(other) => panic!("no answer to a domain's word: {other:?}"),
                None => assert!(stays && !is_end, "no answer"),
            }
        }
        if !stays {
            self.is_out(link);
        }
    }

    /// Checks that a host was refused and removed, and that its domains ended.
    fn is_out(&mut self, link: LinkKey) {
        assert!(!self.control.links.contains_key(&link), "it was disconnected");
        self.inside.remove(&link);
        assert_eq!(self.domains.count(Some(link)), 0, "its domains are over");
    }
}
