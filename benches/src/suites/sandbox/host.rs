//! The host of a launch: two workers of a domain, each with the sandbox plugin and with raw UCX.

use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use bench_raw::{Kind, Peer, STOP};
use sandbox_protocol::MapParams;
use urom_host::{Completion, Host, Received, Registered, Service};

use super::{Arguments, INLINE, NAME, REGISTERED, SAME_SETTINGS};
use crate::cores::pin;
use crate::figure::Figure;
use crate::statistics::{in_turns, median};
use crate::suites::inline::{BATCH, Pair, TAG};
use crate::suites::loopback::host::padded;

/// How many messages in registered memory, or batches of inline ones, come in a round before those that count, so that what the side
/// before used is no longer in the caches; and how many count at least.
const REGISTERED_MESSAGES: [usize; 2] = [1, 3];
const INLINE_BATCHES: [usize; 2] = [4, 8];
/// The bytes of a sandbox command without its data, and DOCA's header.
const HEAD: usize = 72 + 24;
/// A raw request of any size.
static REQUEST: [u8; 4096] = [0x5a; 4096];
/// How the host calls the first byte of registered memory.
const BASE: u64 = 0x1000;

type RawClient = bench_protocol::Client<Host>;

struct Party {
    sandbox: sandbox_protocol::Client<Host>,
    peer: RawClient,
    pair: Pair,
    /// As UCX comes, and with the kit's settings. Each is connected with the sender first and the receiver second.
    raws: [Peer; 2],
    /// The same bytes for all sizes, registered by the sender and by the receiver.
    memories: [u64; 2],
    // After the workers.
    _service: Service,
}

pub(super) fn run(arguments: &str) -> Result<()> {
    let arguments: Arguments =
        serde_json::from_str(arguments).context("what a launch is started with")?;
    let party = Party::new(&arguments)?;
    let mut figures = Vec::new();
    for size in REGISTERED {
        let sides = [Side::Registered, Side::RawRegistered];
        let measured = party.measure(&arguments, sides, size, &[("registered", 0, 1)]);
        figures.extend(measured.with_context(|| format!("registered, {size} bytes"))?);
    }
    // Last: a worker that finds a busy process on its core sleeps rather than yields for the second after that, and where the
    // receiver shares the host's, the host is busy while it sends inline.
    for size in INLINE {
        let sides = [Side::Inline, Side::RawInline, Side::RawRelayed];
        let rows = [("inline", 0, 1), ("relayed", 0, 2), ("copies-alone", 2, 1)];
        let measured = if (arguments.transport, size) == SAME_SETTINGS {
            let ([kit, raw, relayed], [inline, of_relayed, of_copies]) = (sides, rows);
            let sides = [kit, raw, relayed, Side::RawSameSettings, Side::RawRelayedSameSettings];
            let (same, relayed_same) =
                (("inline-same-settings", 0, 3), ("relayed-same-settings", 0, 4));
            party.measure(
                &arguments,
                sides,
                size,
                &[inline, of_relayed, of_copies, same, relayed_same],
            )
        } else {
            party.measure(&arguments, sides, size, &rows)
        };
        figures.extend(measured.with_context(|| format!("inline, {size} bytes"))?);
    }
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The sandbox plugin, what came with the command.
    Inline,
    /// The sandbox plugin, from memory of one worker to memory of the other.
    Registered,
    /// Raw UCX, bytes of its own, for a request as long as the command.
    RawInline,
    /// Raw UCX, what came with the request, with the copies that DOCA's interface asks for: into the host's task, into the block
    /// that a plugin gets, and what was received by way of a block and a message into the host's memory.
    RawRelayed,
    /// Each of these two, of raw UCX that has the kit's settings.
    RawSameSettings,
    RawRelayedSameSettings,
    /// Raw UCX, from memory of one worker to memory of the other.
    RawRegistered,
}

impl Side {
    /// How many come first, and how many count at least.
    fn counts(self) -> [usize; 2] {
        match self {
            Side::Registered | Side::RawRegistered => REGISTERED_MESSAGES,
            _ => INLINE_BATCHES,
        }
    }

    /// As the tables call it.
    fn name(self) -> &'static str {
        match self {
            Side::Inline | Side::Registered => "the kit",
            Side::RawInline => "raw UCX round trip and tag send",
            Side::RawSameSettings => "raw UCX round trip and tag send, with the kit's settings",
            Side::RawRelayed => "the same with the copies of DOCA's interface",
            Side::RawRelayedSameSettings => {
                "the same with the kit's settings and the copies of DOCA's interface"
            }
            Side::RawRegistered => "raw UCX tag send and receive",
        }
    }

    /// Which raw UCX does it.
    fn raw_kind(self) -> Kind {
        let same_settings = matches!(self, Side::RawSameSettings | Side::RawRelayedSameSettings);
        Kind { tags: true, same_settings, ..Kind::default() }
    }

    /// Whether raw UCX sends on what came.
    fn relays(self) -> bool {
        matches!(self, Side::RawRelayed | Side::RawRelayedSameSettings)
    }
}

impl Party {
    fn new(arguments: &Arguments) -> Result<Party> {
        let service = Service::builder().address(&arguments.address).connect()?;
        let sandbox = service.plugin::<sandbox_protocol::Protocol>()?;
        let peer = service.plugin::<bench_protocol::Protocol>()?;
        let [host, cores @ ..] = arguments.cores;
        let pair = Pair::start(&service, &[sandbox.plugin(), peer.plugin()], cores)?;
        pin(host).context("cannot pin the host to its core")?;
        let connect = |same_settings| {
            connect(&peer, &pair, Kind { tags: true, same_settings, ..Kind::default() })
        };
        let raws = [connect(false)?, connect(true)?];
        let most = REGISTERED.iter().copied().max().unwrap_or_default() as u64;
        let map = |worker| -> Result<u64> {
            Ok(sandbox
                .task_mem_map(worker, MapParams::allocate(BASE, most))
                .submit()?
                .wait()?
                .memh_id)
        };
        let memories = [map(&pair.sender)?, map(&pair.receiver)?];
        Ok(Party { sandbox, peer, pair, raws, memories, _service: service })
    }

    /// All sides in turns, so that a row's two figures, and those of other rows, are from the same rounds. A row is a name, whose the
    /// figure is and who is beside it.
    fn measure<const SIDES: usize>(
        &self,
        arguments: &Arguments,
        sides: [Side; SIDES],
        size: usize,
        rows: &[(&str, usize, usize)],
    ) -> Result<Vec<Figure>> {
        // As many messages as a round's time is enough for, by the first few of the kit.
        let first = Instant::now();
        self.round(sides[0], size, 1)?;
        let start = Instant::now();
        self.round(sides[0], size, 1)?;
        let each = start.elapsed().min(first.elapsed() / 2);
        let messages = (arguments.round.as_nanos() / each.as_nanos().max(1))
            .clamp(sides[0].counts()[1] as u128, 100) as usize;
        let rounds =
            in_turns::<_, SIDES>(arguments.rounds, |side| self.round(sides[side], size, messages))?;
        let times = rounds.map(|rounds| median(&rounds));
        rows.iter()
            .map(|&(what, ours, peer)| {
                let (ours, time) = times[ours].zip(times[peer]).context("no round was measured")?;
                let name = format!("{NAME}/{what}/{}/{size}", arguments.transport.name());
                Ok(Figure::new(name, "ns", ours).against(sides[peer].name(), time))
            })
            .collect()
    }

    /// The median of the messages of a round, in nanoseconds. Inline ones are sent in batches.
    fn round(&self, side: Side, size: usize, count: usize) -> Result<f64> {
        let mut times = Vec::new();
        match side {
            Side::Inline | Side::Registered => {
                for count in [side.counts()[0], count] {
                    times.clear();
                    for _ in 0..count {
                        match side {
                            Side::Inline => self.pair.batch(&self.sandbox, size, &mut times)?,
                            _ => times.push(self.registered(size)?),
                        }
                    }
                }
            }
            _ => times = self.raw(side, size, count)?,
        }
        median(&times).context("no message was sent")
    }

    fn registered(&self, size: usize) -> Result<f64> {
        let [from, to] = self.memories;
        let from = Registered { memory: from.try_into()?, address: BASE, len: size as u64 };
        let start = Instant::now();
        let receive = self.sandbox.task_tag_recv(&self.pair.receiver, size as u64, TAG, u64::MAX);
        let receive = receive.memh_id(to).buffer(BASE).submit()?;
        let sent = self.sandbox.task_tag_send(&self.pair.sender, 1, TAG).data(from).submit()?;
        let (sent, received) = (self.yielding(sent)??, self.yielding(receive)??);
        let time = start.elapsed().as_nanos() as f64;
        ensure!(
            (sent.status, received.status) == (0, 0),
            "UCX statuses {} and {}",
            sent.status,
            received.status
        );
        ensure!(
            matches!(received.data, Received::Registered { len } if len == size as u64),
            "not all came"
        );
        Ok(time)
    }

    /// Waits, and lets the receiver have the core they share.
    fn yielding<F: Future>(&self, future: F) -> Result<F::Output> {
        let mut future = pin!(future);
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Poll::Ready(output) =
                future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()))
            {
                return Ok(output);
            }
            if !self.pair.sender.engine().progress() {
                std::thread::yield_now();
                ensure!(Instant::now() < deadline, "a message is on its way for a minute");
            }
        }
    }

    /// The times of raw UCX.
    fn raw(&self, side: Side, size: usize, count: usize) -> Result<Vec<f64>> {
        let serving = self.serve(side, size)?;
        let raw = &self.raws[usize::from(side.raw_kind().same_settings)];
        raw.keep(1, side.relays());
        let mut times = Vec::new();
        // The first waits for the workers to take their commands, too.
        for count in [side.counts()[0], count] {
            times.clear();
            for _ in 0..count {
                match side {
                    Side::RawRegistered => times.push(raw_registered(raw)),
                    _ => raw_batch(raw, side, size, &mut times),
                }
            }
        }
        for (to, serving) in serving.into_iter().enumerate() {
            raw.send_to(to, STOP);
            raw.progress();
            serving.wait()?;
        }
        Ok(times)
    }

    /// Gives both workers' threads to raw UCX: first the sender's.
    fn serve(&self, side: Side, size: usize) -> Result<[Serving; 2]> {
        let kind = side.raw_kind().number();
        let (head, bytes) = (HEAD as u64, size as u64);
        let serving = if side.relays() {
            [
                Serving::Relay(
                    self.peer.task_relay(&self.pair.sender, head, bytes, kind).submit()?,
                ),
                Serving::HandOn(self.peer.task_hand_on(&self.pair.receiver, bytes, kind).submit()?),
            ]
        } else {
            [
                Serving::Forward(self.peer.task_forward(&self.pair.sender, bytes, kind).submit()?),
                Serving::Take(self.peer.task_take(&self.pair.receiver, bytes, kind).submit()?),
            ]
        };
        // From here on only raw UCX has its turn, and commands may still wait to leave.
        self.pair.sender.engine().progress();
        Ok(serving)
    }
}

fn raw_registered(raw: &Peer) -> f64 {
    let start = Instant::now();
    let (sent, received) = (raw.received(0), raw.received(1));
    raw.send(&REQUEST[..HEAD]);
    raw_wait(raw, 0, sent + 1);
    raw_wait(raw, 1, received + 1);
    start.elapsed().as_nanos() as f64
}

fn raw_batch(raw: &Peer, side: Side, size: usize, times: &mut Vec<f64>) {
    let received = raw.received(1);
    for _ in 0..BATCH {
        let sent = raw.received(0);
        let start = Instant::now();
        if side.relays() {
            // SAFETY: the one before was waited for, below.
            unsafe { raw.send_copied(&REQUEST[..HEAD + size]) }
        } else {
            raw.send(&REQUEST[..HEAD + size]);
        }
        while raw.received(0) == sent {
            raw.progress();
        }
        times.push(start.elapsed().as_nanos() as f64);
    }
    raw_wait(raw, 1, received + BATCH as u64);
}

/// Waits for messages from one of the workers, and lets the receiver have the core they share.
fn raw_wait(raw: &Peer, from: usize, count: u64) {
    while raw.received(from) < count {
        if !raw.progress() {
            std::thread::yield_now();
        }
    }
}

/// A worker's thread that is raw UCX's.
enum Serving {
    Forward(Completion<bench_protocol::Forward>),
    Relay(Completion<bench_protocol::Relay>),
    Take(Completion<bench_protocol::Take>),
    HandOn(Completion<bench_protocol::HandOn>),
}

impl Serving {
    fn wait(self) -> urom_host::Result<()> {
        match self {
            Serving::Forward(task) => task.wait().map(drop),
            Serving::Relay(task) => task.wait().map(drop),
            Serving::Take(task) => task.wait().map(drop),
            Serving::HandOn(task) => task.wait().map(drop),
        }
    }
}

/// Connects raw UCX of this process with that of both workers, and the sender's with the receiver's.
fn connect(peer: &RawClient, pair: &Pair, kind: Kind) -> Result<Peer> {
    let Pair { sender, receiver, .. } = pair;
    let raw_error = |what: String| anyhow!(what);
    let mut raw = Peer::new(0, kind).map_err(raw_error)?;
    let mut addresses = Vec::new();
    for (number, worker) in [(0, sender), (1, receiver)] {
        let theirs = peer.task_prepare(worker, number, kind.number()).submit()?.wait()?;
        let theirs = theirs.address[..theirs.length as usize].to_vec();
        raw.connect(&theirs).map_err(raw_error)?;
        addresses.push(theirs);
    }
    let ours = raw.address().map_err(raw_error)?;
    let [_, of_receiver] = &addresses[..] else { return Err(anyhow!("there are two workers")) };
    for (worker, address) in [(sender, &ours), (receiver, &ours), (sender, of_receiver)] {
        let (address, length) = padded(address)?;
        peer.task_connect(worker, address, length, kind.number()).submit()?.wait()?;
    }
    Ok(raw)
}
