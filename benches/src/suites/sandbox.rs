//! Messages through the sandbox plugin against raw UCX that does the same: a host tells one worker
//! to send, and another receives.
//!
//! *Inline*: the bytes travel with the command. The time is that of the send, from the host's call
//! to its answer; receives are started before. The host of raw UCX sends as many bytes to a loop in
//! the same worker, which sends them on and answers. *Same settings* is raw UCX with the kit's
//! settings and its kind of shared memory.
//!
//! *Registered*: the bytes lie in memory of the workers, and the time ends when both have answered.

use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bench_raw::{Kind, Peer, STOP, Style};
use sandbox_protocol::MapParams;
use urom_host::{Host, Received, Registered};

use super::inline::{BATCH, Pair, TAG};
use super::loopback::host::{introduce, prepare};
use super::{Part, Suite};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Launch, worker};
use crate::statistics::{in_turns, of_rounds};
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "messages through the sandbox plugin against raw UCX tag messages",
    parts: &[Part {
        // UCX may use TCP besides shared memory, as at a user's, and does not.
        transports: &[(Transport::SharedMemory, "self,sm,tcp"), Transport::TCP_ALONE],
        ..Part::new(measure)
    }],
    process: None,
};

const NAME: &str = "sandbox";

/// The sizes that travel inline. The budget is about the last.
const INLINE: [usize; 6] = [8, 64, 512, 1024, 2048, 4000];
const REGISTERED: [usize; 7] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
/// Where raw UCX is measured with the kit's settings, too.
const SAME_SETTINGS: (Transport, usize) = (Transport::SharedMemory, 4000);

/// The messages in registered memory, or batches of inline ones, that come first in a round, so
/// that the other side's data leaves the caches; and the fewest that count.
const REGISTERED_MESSAGES: [usize; 2] = [1, 3];
const INLINE_BATCHES: [usize; 2] = [4, 8];
/// The bytes of a sandbox command without its data, and DOCA's header.
const HEAD: usize = 72 + 24;
static REQUEST: [u8; 4096] = [0x5a; 4096];
/// The host's address of the first byte of registered memory.
const BASE: u64 = 0x1000;

type RawClient = bench_protocol::Client<Host>;

struct Party {
    sandbox: sandbox_protocol::Client<Host>,
    bench: RawClient,
    pair: Pair,
    /// With UCX's settings, and with the kit's. Each is connected to the sender first and the
    /// receiver second.
    raws: [Peer; 2],
    /// The same memory for all sizes, registered by the sender and by the receiver.
    memories: [u64; 2],
}

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let [host, sender, receiver] =
        [launch.cores.host(0), launch.cores.worker(), launch.cores.host(1)];
    let daemon = launch.daemon(&["worker_sandbox", "worker_benchpeer"])?;
    let service = daemon.connect()?;
    let sandbox = service.plugin::<sandbox_protocol::Protocol>()?;
    let bench = service.plugin::<bench_protocol::Protocol>()?;
    let start = |core| worker(&service, &[sandbox.plugin(), bench.plugin()], core);
    let pair = Pair::of(&service, start(sender)?, start(receiver)?)?;
    pin(host)?;
    let raws = [connect(&bench, &pair, false)?, connect(&bench, &pair, true)?];
    let most = REGISTERED.iter().copied().max().unwrap_or_default() as u64;
    let map = |worker| -> Result<u64> {
        let map = sandbox.task_mem_map(worker, MapParams::allocate(BASE, most));
        Ok(map.submit()?.wait()?.memh_id)
    };
    let memories = [map(&pair.sender)?, map(&pair.receiver)?];
    let party = Party { sandbox, bench, pair, raws, memories };
    let mut figures = Vec::new();
    for size in REGISTERED {
        let sides = [Side::Registered, Side::RawRegistered];
        figures.extend(party.measure(launch, &sides, size).with_context(|| size.to_string())?);
    }
    // Last: for a second, a worker that finds a busy process on its core sleeps instead of
    // yielding, and the host is busy while it sends inline.
    for size in INLINE {
        let sides = [Side::Inline, Side::RawInline, Side::RawSameSettings];
        let count = if (launch.transport, size) == SAME_SETTINGS { 3 } else { 2 };
        let measured = party.measure(launch, &sides[..count], size);
        figures.extend(measured.with_context(|| size.to_string())?);
    }
    if receiver == host {
        let note = "the receiving worker shares the host's core: a figure is the median of single \
                    messages, most of which it does not disturb";
        figures = figures.into_iter().map(|figure| figure.note(note)).collect();
    }
    Ok(figures)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The sandbox plugin sends the bytes of the command.
    Inline,
    /// The sandbox plugin sends from memory of one worker to memory of the other.
    Registered,
    /// Raw UCX sends bytes of its own, for a request as long as the command.
    RawInline,
    /// The same with the kit's settings.
    RawSameSettings,
    /// Raw UCX sends from memory of one worker to memory of the other.
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

    /// The figure of the kit's messages beside this peer, and the peer's name.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Side::RawSameSettings => {
                ("inline-same-settings", "raw UCX round trip and tag send, with the kit's settings")
            }
            Side::RawRegistered => ("registered", "raw UCX tag send and receive"),
            _ => ("inline", "raw UCX round trip and tag send"),
        }
    }
}

impl Party {
    /// All sides in turns: the kit's, then its peers.
    fn measure(&self, launch: &Launch, sides: &[Side], size: usize) -> Result<Vec<Figure>> {
        // As many messages as a round has time for, measured with the first few.
        let first = Instant::now();
        self.round(sides[0], size, 1)?;
        let start = Instant::now();
        self.round(sides[0], size, 1)?;
        let each = start.elapsed().min(first.elapsed() / 2).as_nanos() as f64;
        let messages = launch.trips(each, sides[0].counts()[1] as u64).min(100) as usize;
        let round = |side: usize| self.round(sides[side], size, messages);
        let rounds = in_turns(launch.rounds(), sides.len(), round)?;
        let kit = of_rounds(&rounds[0])?;
        let peers = sides.iter().zip(&rounds).skip(1).map(|(side, rounds)| {
            let (what, peer) = side.names();
            let name = format!("{NAME}/{what}/{}/{size}", launch.transport.name());
            Ok(Figure::new(name, "ns", kit).against(peer, of_rounds(rounds)?))
        });
        peers.collect()
    }

    /// The median of the messages of a round, in nanoseconds. Inline ones are sent in batches.
    fn round(&self, side: Side, size: usize, count: usize) -> Result<f64> {
        let same_settings = side == Side::RawSameSettings;
        let raw = &self.raws[usize::from(same_settings)];
        let is_raw = !matches!(side, Side::Inline | Side::Registered);
        let serving = if is_raw { Some(self.serve(kind(same_settings), size)?) } else { None };
        let mut times = Vec::new();
        // Of raw UCX, the first waits for the workers to take their commands, too.
        for count in [side.counts()[0], count] {
            times.clear();
            for _ in 0..count {
                match side {
                    Side::Inline => self.pair.batch(&self.sandbox, size, &mut times)?,
                    Side::Registered => times.push(self.registered(size)?),
                    Side::RawRegistered => times.push(raw_registered(raw)),
                    Side::RawInline | Side::RawSameSettings => raw_batch(raw, size, &mut times),
                }
            }
        }
        for (to, serving) in serving.into_iter().flatten().enumerate() {
            raw.send_to(to, STOP);
            raw.progress();
            serving.wait()?;
        }
        of_rounds(&times)
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
        let all = matches!(received.data, Received::Registered { len } if len == size as u64);
        ensure!(all, "not all came");
        Ok(time)
    }

    /// Waits, and lets the receiver have the core they share.
    fn yielding<F: Future>(&self, future: F) -> Result<F::Output> {
        let mut future = std::pin::pin!(future);
        let mut context = TaskContext::from_waker(Waker::noop());
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Ok(output);
            }
            if !self.pair.sender.engine().progress() {
                std::thread::yield_now();
                ensure!(Instant::now() < deadline, "a message is on its way for a minute");
            }
        }
    }

    /// Gives the threads of both workers to raw UCX: first the sender's.
    fn serve(
        &self,
        kind: Kind,
        size: usize,
    ) -> Result<[urom_host::Completion<bench_protocol::Served>; 2]> {
        let serve =
            |worker, style| self.bench.task_serve(worker, kind, style, size as u64).submit();
        let serving = [
            serve(&self.pair.sender, Style::Forward)?,
            serve(&self.pair.receiver, Style::Receive)?,
        ];
        // The commands may still wait to leave.
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

fn raw_batch(raw: &Peer, size: usize, times: &mut Vec<f64>) {
    let received = raw.received(1);
    for _ in 0..BATCH {
        let sent = raw.received(0);
        let start = Instant::now();
        raw.send(&REQUEST[..HEAD + size]);
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

fn kind(same_settings: bool) -> Kind {
    Kind { tags: true, same_settings, ..Kind::default() }
}

/// Connects raw UCX of this process with that of both workers, and the sender's with the
/// receiver's.
fn connect(bench: &RawClient, pair: &Pair, same_settings: bool) -> Result<Peer> {
    let (kind, Pair { sender, receiver, .. }) = (kind(same_settings), pair);
    let mut raw = Peer::new(0, kind)?;
    let theirs = [prepare(bench, sender, 0, kind)?, prepare(bench, receiver, 1, kind)?];
    theirs.iter().try_for_each(|address| raw.connect(address))?;
    let ours = raw.address()?;
    introduce(bench, sender, &ours, kind)?;
    introduce(bench, receiver, &ours, kind)?;
    introduce(bench, sender, &theirs[1], kind)?;
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use ucx::{Context, Features};

    #[test]
    fn raw_ucx_with_the_same_settings_has_those_of_the_kit() {
        let builder = || Context::builder(Features::AM);
        let same = bench_raw::SETTINGS
            .iter()
            .fold(builder(), |builder, (name, value)| builder.config(*name, *value));
        assert_eq!(format!("{same:?}"), format!("{:?}", builder().watched_shared_memory()));
    }
}
