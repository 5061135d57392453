//! Messages through the sandbox plugin against raw UCX that does the same: a host tells one worker
//! to send, and another receives.
//!
//! *Inline*: the bytes travel with the command. The time is that of the send, from the host's call
//! to its answer; receives are started before. The host of raw UCX sends as many bytes to a loop in
//! the same worker, which sends them on and answers. *Same settings* is raw UCX with the kit's
//! settings and its kind of shared memory.
//!
//! *Registered*: the bytes lie in memory of the host, which both workers reach, and the time ends
//! when both have answered. They are freshly written, as are those of raw UCX. *Asleep*: the same
//! after a pause, when the host and both workers sleep, and so do all three ends of raw UCX.

use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bench_raw::{Kind, Peer, STOP, Style};
use sandbox_protocol::{MapParams, TagReceived, TagSent};
use urom_host::gather::InProcess;
use urom_host::memory::{Access, MemoryShare, Mmap, Share, View};
use urom_host::{Completion, Domain, Host, Registered, Service, Worker, block_on};

use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::party::{RawClient, introduce, prepare, serve};
use crate::statistics::{in_turns, of_rounds};

/// The sizes that travel inline. The budget is about the last, as are the settings.
const INLINE: [usize; 6] = [8, 64, 512, 1024, 2048, 4000];
const REGISTERED: [usize; 7] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

/// The messages that are sent one after the other while their receiver need not run: UCX has room
/// for that many between two processes.
const BATCH: usize = 16;
/// How long everybody has to fall asleep.
const PAUSE: Duration = Duration::from_millis(10);
const TAG: u64 = 9;
/// The receiver's number in the domain.
const RECEIVER: u64 = 1;
/// The bytes of a sandbox command without its data, and DOCA's header.
const HEAD: usize = 72 + 24;
/// As long as the longest message.
static DATA: [u8; 4096] = [0x5a; 4096];
/// The host's address of the first byte of registered memory.
const BASE: u64 = 0x1000;
const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

/// How messages are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The bytes travel with the command, in batches of messages.
    Inline,
    /// From memory of one worker to memory of the other.
    Registered,
    /// The same after a pause.
    Asleep,
}

impl Way {
    /// The messages or batches that come first in a round, so that the other side's data leaves the
    /// caches, and the fewest that count.
    fn counts(self) -> [usize; 2] {
        match self {
            Way::Inline => [4, 8],
            Way::Registered | Way::Asleep => [1, 3],
        }
    }

    /// The beginning of the figures' names, and the peer's name.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Way::Inline => ("inline", "raw UCX round trip and tag send"),
            Way::Registered => ("registered", "raw UCX tag send and receive"),
            Way::Asleep => ("registered-asleep", "raw UCX tag send and receive, asleep"),
        }
    }
}

struct Party {
    sandbox: sandbox_protocol::Client<Host>,
    bench: RawClient,
    // Stopped before the workers.
    _domain: Domain,
    sender: Worker,
    receiver: Worker,
    /// Connected to the sender first and the receiver second.
    raw: Peer,
    /// The same, of a kind that sleeps.
    asleep: Peer,
    /// Memory for all sizes, shared with the sender and with the receiver, and their handles.
    memories: [(Mmap, MemoryShare, u64); 2],
    /// Whether the receiver has the host's core.
    shares_core: bool,
    // Both after everything that they serve.
    _service: Service,
    _daemon: Daemon,
}

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let party = Party::start(launch)?;
    let mut figures = Vec::new();
    // Inline messages come last: for a second, a worker that finds a busy process on its core
    // sleeps instead of yielding, and the host is busy while it sends inline.
    let ways = [
        (Way::Registered, &REGISTERED[..]),
        (Way::Asleep, &REGISTERED[..1]),
        (Way::Inline, &INLINE),
    ];
    for (way, sizes) in ways {
        for &size in sizes {
            figures.push(party.measure(launch, way, size).with_context(|| size.to_string())?);
        }
    }
    Ok(figures)
}

pub(super) fn same_settings(launch: &Launch) -> Result<Vec<Figure>> {
    let figure = Party::start(launch)?.measure(launch, Way::Inline, INLINE[INLINE.len() - 1])?;
    let name = figure.name.replace("/inline/", "/inline-same-settings/");
    Ok(vec![Figure { name, ..figure }])
}

impl Party {
    fn start(launch: &Launch) -> Result<Party> {
        let cores = &launch.cores;
        let daemon = launch.daemon(&["worker_sandbox", "worker_benchpeer"])?;
        let service = daemon.connect()?;
        let sandbox = service.plugin::<sandbox_protocol::Protocol>()?;
        let bench = service.plugin::<bench_protocol::Protocol>()?;
        let start = |core| worker(&service, &[sandbox.plugin(), bench.plugin()], core);
        let (sender, receiver) = (start(cores.worker())?, start(cores.host(1))?);
        let gather = InProcess::group(1).pop().context("a group of one has a member")?;
        let domain = service.domain().gather(gather).worker(0, &sender).worker(RECEIVER, &receiver);
        let domain = block_on(domain.start())?;
        pin(cores.host(0))?;
        let raw = connect(&bench, &sender, &receiver, Kind::Awake)?;
        let asleep = connect(&bench, &sender, &receiver, Kind::Asleep)?;
        let most = REGISTERED.iter().copied().max().unwrap_or_default() as u64;
        let map = |worker| -> Result<(Mmap, MemoryShare, u64)> {
            let memory = Mmap::allocate(most as usize, BOTH)?;
            let shared = memory.share(worker).wait()?;
            let map = sandbox.task_mem_map(worker, MapParams::exported(BASE));
            let handle = map.exported_memh(&memory.export()?[..]).submit()?.wait()?.memh_id;
            Ok((memory, shared, handle))
        };
        let memories = [map(&sender)?, map(&receiver)?];
        Ok(Party {
            sandbox,
            bench,
            _domain: domain,
            sender,
            receiver,
            raw,
            asleep,
            memories,
            shares_core: cores.host(0) == cores.host(1),
            _service: service,
            _daemon: daemon,
        })
    }

    /// Kit and raw UCX in turns.
    fn measure(&self, launch: &Launch, way: Way, size: usize) -> Result<Figure> {
        // As many messages as a round has time for, measured with the first few.
        let first = Instant::now();
        self.round(way, false, size, 1)?;
        let start = Instant::now();
        self.round(way, false, size, 1)?;
        let each = start.elapsed().min(first.elapsed() / 2).as_nanos() as f64;
        let messages = launch.trips(each, way.counts()[1] as u64).min(100) as usize;
        let round = |side| self.round(way, side == 1, size, messages);
        let rounds = in_turns(launch.rounds(), 2, round)?;
        let (what, peer) = way.names();
        let name = format!("sandbox/{what}/{}/{size}", launch.transport.name());
        let figure = Figure::new(name, "ns", of_rounds(&rounds[0])?);
        let figure = figure.against(peer, of_rounds(&rounds[1])?);
        Ok(if self.shares_core {
            figure.note(
                "the receiving worker shares the host's core: a figure is the median of single \
                 messages, most of which it does not disturb",
            )
        } else {
            figure
        })
    }

    /// The median of the messages of a round, in nanoseconds.
    fn round(&self, way: Way, of_raw: bool, size: usize, count: usize) -> Result<f64> {
        // First the sender's thread.
        let raw = if way == Way::Asleep { &self.asleep } else { &self.raw };
        let serving = if of_raw {
            let serve = |worker, style| serve(&self.bench, worker, raw.kind(), style, size);
            vec![serve(&self.sender, Style::Forward)?, serve(&self.receiver, Style::Receive)?]
        } else {
            Vec::new()
        };
        let mut times = Vec::new();
        // Of raw UCX, the first waits for the workers to take their commands, too.
        for count in [way.counts()[0], count] {
            times.clear();
            for _ in 0..count {
                match (way, of_raw) {
                    (Way::Inline, false) => self.inline(size, &mut times)?,
                    (Way::Inline, true) => self.raw_inline(size, &mut times),
                    (Way::Registered, false) => times.push(self.registered(size)?),
                    (Way::Registered, true) => times.push(self.raw_registered()),
                    (Way::Asleep, of_raw) => {
                        // The host's library polls for less.
                        std::thread::sleep(PAUSE);
                        let asleep = if of_raw { self.raw_asleep() } else { self.asleep(size) };
                        times.push(asleep?);
                    }
                }
            }
        }
        for (to, serving) in serving.into_iter().enumerate() {
            raw.send_to(to, STOP);
            raw.progress();
            serving.wait()?;
        }
        of_rounds(&times)
    }

    /// A batch, whose receives are started before its sends.
    fn inline(&self, size: usize, times: &mut Vec<f64>) -> Result<()> {
        let receive =
            |_| self.sandbox.task_tag_recv(&self.receiver, size as u64, TAG, u64::MAX).submit();
        let receives = (0..BATCH).map(receive).collect::<urom_host::Result<Vec<_>>>()?;
        for _ in 0..BATCH {
            let start = Instant::now();
            let send = self.sandbox.task_tag_send(&self.sender, RECEIVER, TAG).data(&DATA[..size]);
            let sent = send.submit()?.wait()?;
            times.push(start.elapsed().as_nanos() as f64);
            ensure!(sent.status == 0, "a send ended with UCX status {}", sent.status);
        }
        for receive in receives {
            has_come(&receive.wait()?, size)?;
        }
        Ok(())
    }

    fn raw_inline(&self, size: usize, times: &mut Vec<f64>) {
        let received = self.raw.received(1);
        for _ in 0..BATCH {
            let sent = self.raw.received(0);
            let start = Instant::now();
            self.raw.send(&DATA[..HEAD + size]);
            while self.raw.received(0) == sent {
                self.raw.progress();
            }
            times.push(start.elapsed().as_nanos() as f64);
        }
        self.raw_wait(1, received + BATCH as u64);
    }

    fn registered(&self, size: usize) -> Result<f64> {
        let (start, sent, receive) = self.begin_registered(size)?;
        let (sent, received) = (yielding(&self.sender, sent)??, yielding(&self.sender, receive)??);
        let time = start.elapsed().as_nanos() as f64;
        all_came(&sent, &received, size)?;
        Ok(time)
    }

    /// A registered message that this thread sleeps for.
    fn asleep(&self, size: usize) -> Result<f64> {
        let (start, sent, receive) = self.begin_registered(size)?;
        let (sent, received) = (sent.wait()?, receive.wait()?);
        let time = start.elapsed().as_nanos() as f64;
        all_came(&sent, &received, size)?;
        Ok(time)
    }

    fn begin_registered(
        &self,
        size: usize,
    ) -> Result<(Instant, Completion<TagSent>, Completion<TagReceived>)> {
        let [(memory, _, from), (.., to)] = &self.memories;
        let from = Registered { memory: (*from).try_into()?, address: BASE, len: size as u64 };
        write_fresh(&memory.view().slice(0..size as u64)?, self.raw.received(0) as u8)?;
        let start = Instant::now();
        let receive = self.sandbox.task_tag_recv(&self.receiver, size as u64, TAG, u64::MAX);
        let receive = receive.memh_id(*to).buffer(BASE).submit()?;
        let sent = self.sandbox.task_tag_send(&self.sender, RECEIVER, TAG).data(from).submit()?;
        Ok((start, sent, receive))
    }

    fn raw_registered(&self) -> f64 {
        let start = Instant::now();
        let (sent, received) = (self.raw.received(0), self.raw.received(1));
        self.raw.send(&DATA[..HEAD]);
        self.raw_wait(0, sent + 1);
        self.raw_wait(1, received + 1);
        start.elapsed().as_nanos() as f64
    }

    fn raw_asleep(&self) -> Result<f64> {
        let raw = &self.asleep;
        let start = Instant::now();
        let (sent, received) = (raw.received(0), raw.received(1));
        raw.send(&DATA[..HEAD]);
        raw.await_asleep(0, sent + 1)?;
        raw.await_asleep(1, received + 1)?;
        Ok(start.elapsed().as_nanos() as f64)
    }

    /// Waits for messages from one of the workers, and lets the receiver have the core they share.
    fn raw_wait(&self, from: usize, count: u64) {
        while self.raw.received(from) < count {
            if !self.raw.progress() {
                std::thread::yield_now();
            }
        }
    }
}

/// Waits, and lets the receiver have the core they share.
pub(super) fn yielding<F: Future>(worker: &Worker, future: F) -> Result<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut context = TaskContext::from_waker(Waker::noop());
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        if !worker.engine().progress() {
            std::thread::yield_now();
            ensure!(Instant::now() < deadline, "a message is on its way for a minute");
        }
    }
}

/// Writes bytes that nobody has seen. A worker that shares this core runs meanwhile: it would take
/// a process that keeps the core to itself for longer for a busy one.
pub(super) fn write_fresh(memory: &View<'_>, byte: u8) -> Result<()> {
    static BLOCK: [[u8; 16 << 10]; 2] = [[1; 16 << 10], [2; 16 << 10]];
    let block = &BLOCK[usize::from(byte % 2)];
    for at in (0..memory.len()).step_by(block.len()) {
        let len = block.len().min((memory.len() - at) as usize);
        memory.copy_from(at, &block[..len])?;
        std::thread::yield_now();
    }
    Ok(())
}

fn all_came(sent: &TagSent, received: &TagReceived, size: usize) -> Result<()> {
    ensure!(sent.status == 0, "a send ended with UCX status {}", sent.status);
    has_come(received, size)
}

fn has_come(received: &TagReceived, size: usize) -> Result<()> {
    let (length, status) = (received.data.len(), received.status);
    ensure!(
        status == 0 && length == size as u64,
        "received {length} bytes instead of {size}, with UCX status {status}"
    );
    Ok(())
}

/// Connects raw UCX of this process with that of both workers, and the sender's with the
/// receiver's.
pub(super) fn connect(
    bench: &RawClient,
    sender: &Worker,
    receiver: &Worker,
    kind: Kind,
) -> Result<Peer> {
    let mut raw = Peer::new(0, kind)?;
    let theirs = [prepare(bench, sender, 0, kind)?, prepare(bench, receiver, 1, kind)?];
    theirs.iter().try_for_each(|address| raw.connect(address))?;
    let ours = raw.address()?;
    introduce(bench, sender, &ours, kind)?;
    introduce(bench, receiver, &ours, kind)?;
    introduce(bench, sender, &theirs[1], kind)?;
    Ok(raw)
}
