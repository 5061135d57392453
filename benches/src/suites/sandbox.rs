//! Messages through the sandbox plugin against the same work of raw UCX: a host asks one worker to
//! send, and another receives.
//!
//! *Inline*: the bytes travel with the command. The time is from the host's send to its answer;
//! receives are started before. Raw UCX's host sends as many bytes to a loop in the same worker,
//! which forwards them and answers. *Same settings* is raw UCX with the plugin's settings and its
//! kind of shared memory.
//!
//! *Registered*: the fresh bytes are in memory of the host that both workers reach, and the time
//! ends when both have answered. *Asleep*: the same after a pause, with the host, both workers and
//! all three ends of raw UCX asleep.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench_raw::Peer;
use sandbox_protocol::{MapParams, TagReceived, TagSent};
use urom_host::gather::InProcess;
use urom_host::memory::{Access, MemoryShare, Mmap, Share};
use urom_host::{Domain, Host, Registered, block_on};

use super::two_workers::{Operations, TwoWorkers, await_yielding, relay, write_fresh, yielding};
use crate::figure::Figure;
use crate::launch::Launch;

/// Sizes of inline messages. The budget and the settings are about the last.
const INLINE: [usize; 6] = [8, 64, 512, 1024, 2048, 4000];
const REGISTERED: [usize; 7] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

/// Messages sent in a row while their receiver need not run: UCX's capacity between two processes.
const BATCH: usize = 16;
const TAG: u64 = 9;
const RECEIVER: u64 = 1;
/// Bytes of a sandbox command without its data, with DOCA's header.
const HEAD: usize = 72 + 24;
static DATA: [u8; 4096] = [0x5a; 4096];
/// The host's address of the first byte of registered memory.
const BASE: u64 = 0x1000;
const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// The bytes travel with the command, in batches of messages.
    Inline,
    Registered,
    Asleep,
}

impl Sending {
    /// Warm-up and minimum of a round, in messages or batches; names of the figure and the peer.
    fn parameters(self) -> ([usize; 2], &'static str, &'static str) {
        match self {
            Sending::Inline => ([4, 8], "inline", "raw UCX round trip and tag send"),
            Sending::Registered => ([1, 3], "registered", "raw UCX tag send and receive"),
            Sending::Asleep => {
                ([1, 3], "registered-asleep", "raw UCX tag send and receive, asleep")
            }
        }
    }
}

struct SandboxWorkers {
    sandbox: sandbox_protocol::Client<Host>,
    // Stopped before the workers.
    _domain: Domain,
    /// Memory for all sizes, shared with sender and receiver, and the handles.
    memories: [(Mmap, MemoryShare, u64); 2],
    two: TwoWorkers,
}

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let party = SandboxWorkers::start(launch)?;
    let mut figures = Vec::new();
    // Inline messages come last: the host is busy while it sends them, and a worker that finds a
    // busy process on its core then sleeps for up to a second without yielding.
    let ways = [
        (Sending::Registered, &REGISTERED[..]),
        (Sending::Asleep, &REGISTERED[..1]),
        (Sending::Inline, &INLINE),
    ];
    for (way, sizes) in ways {
        for &size in sizes {
            figures.push(party.measure(launch, way, size).with_context(|| size.to_string())?);
        }
    }
    Ok(figures)
}

pub(super) fn same_settings(launch: &Launch) -> Result<Vec<Figure>> {
    let longest = INLINE[INLINE.len() - 1];
    let figure = SandboxWorkers::start(launch)?.measure(launch, Sending::Inline, longest)?;
    let name = figure.name.replace("/inline/", "/inline-same-settings/");
    Ok(vec![Figure { name, ..figure }])
}

impl SandboxWorkers {
    fn start(launch: &Launch) -> Result<SandboxWorkers> {
        let daemon = launch.daemon(&["worker_sandbox", "worker_benchpeer"])?;
        let service = daemon.connect()?;
        let sandbox = service.plugin::<sandbox_protocol::Protocol>()?;
        let two = TwoWorkers::start(launch, daemon, service, sandbox.plugin())?;
        let [sender, receiver] = &two.workers;
        let domain = two.service.domain().gather(InProcess::alone());
        let domain = domain.worker(0, sender).worker(RECEIVER, receiver);
        let domain = block_on(domain.start())?;
        let most = REGISTERED.iter().copied().max().unwrap_or_default();
        let map = |worker| -> Result<(Mmap, MemoryShare, u64)> {
            let memory = Mmap::allocate(most, BOTH)?;
            let shared = memory.share(worker).wait()?;
            let map = sandbox.task_mem_map(worker, MapParams::exported(BASE));
            let handle = map.exported_memh(&memory.export()?[..]).submit()?.wait()?.memh_id;
            Ok((memory, shared, handle))
        };
        let memories = [map(sender)?, map(receiver)?];
        Ok(SandboxWorkers { sandbox, _domain: domain, memories, two })
    }

    fn measure(&self, launch: &Launch, way: Sending, size: usize) -> Result<Figure> {
        let ([warm_up, least], what, peer) = way.parameters();
        let round = |count| Operations { warm_up, count, asleep: way == Sending::Asleep };
        // The first few messages determine the number of messages in a round.
        let first = Instant::now();
        self.round(way, round(1), size)?;
        let start = Instant::now();
        self.round(way, round(1), size)?;
        let each = start.elapsed().min(first.elapsed() / 2).as_nanos() as f64;
        let round = round(launch.trips(each, least as u64).min(100) as usize);

        let name = format!("sandbox/{what}/{}/{size}", launch.transport.name());
        let figure = launch.compare(name, peer, |side| match (side, way) {
            (0, _) => self.round(way, round, size),
            (_, Sending::Inline) => self.two.raw_round(round, size, |raw, times| {
                raw_inline(raw, size, times);
                Ok(())
            }),
            _ => self.two.raw_round(round, size, |raw, times| {
                times.push(relay(raw, &DATA[..HEAD])?);
                Ok(())
            }),
        })?;
        let shares_core = launch.cores.host(0) == launch.cores.host(1);
        let note = "the receiving worker shares the host's core: a figure is the median of single \
                    messages, most of which it does not disturb";
        Ok(Figure { note: shares_core.then(|| note.to_owned()), ..figure })
    }

    fn round(&self, way: Sending, round: Operations, size: usize) -> Result<f64> {
        self.two.round(round, |number, times| match way {
            Sending::Inline => self.inline(size, times),
            _ => {
                times.push(self.registered(size, number, round.asleep)?);
                Ok(())
            }
        })
    }

    /// Sends a batch, whose receives are started before.
    fn inline(&self, size: usize, times: &mut Vec<f64>) -> Result<()> {
        let [sender, receiver] = &self.two.workers;
        let receive = |_| self.sandbox.task_tag_recv(receiver, size as u64, TAG, u64::MAX).submit();
        let receives = (0..BATCH).map(receive).collect::<urom_host::Result<Vec<_>>>()?;
        for _ in 0..BATCH {
            let start = Instant::now();
            let send = self.sandbox.task_tag_send(sender, RECEIVER, TAG).data(&DATA[..size]);
            let sent = send.submit()?.wait()?;
            times.push(start.elapsed().as_nanos() as f64);
            was_sent(&sent)?;
        }
        receives.into_iter().try_for_each(|receive| has_come(&receive.wait()?, size))
    }

    /// Sends a registered message; this thread sleeps meanwhile if `asleep`.
    fn registered(&self, size: usize, number: usize, asleep: bool) -> Result<f64> {
        let [sender, receiver] = &self.two.workers;
        let [(memory, _, from), (.., to)] = &self.memories;
        let from = Registered { memory: (*from).try_into()?, address: BASE, len: size as u64 };
        write_fresh(&memory.view().slice(0..size as u64)?, number)?;
        let start = Instant::now();
        let receive = self.sandbox.task_tag_recv(receiver, size as u64, TAG, u64::MAX);
        let receive = receive.memh_id(*to).buffer(BASE).submit()?;
        let sent = self.sandbox.task_tag_send(sender, RECEIVER, TAG).data(from).submit()?;
        let (sent, received) = match asleep {
            true => (sent.wait()?, receive.wait()?),
            false => (yielding(sender, sent)??, yielding(sender, receive)??),
        };
        let time = start.elapsed().as_nanos() as f64;
        was_sent(&sent)?;
        has_come(&received, size)?;
        Ok(time)
    }
}

fn raw_inline(raw: &Peer, size: usize, times: &mut Vec<f64>) {
    let received = raw.received(1);
    for _ in 0..BATCH {
        let sent = raw.received(0);
        let start = Instant::now();
        raw.send(&DATA[..HEAD + size]);
        while raw.received(0) == sent {
            raw.progress();
        }
        times.push(start.elapsed().as_nanos() as f64);
    }
    await_yielding(raw, 1, received + BATCH as u64);
}

fn was_sent(sent: &TagSent) -> Result<()> {
    ensure!(sent.status == 0, "a send ended with UCX status {}", sent.status);
    Ok(())
}

fn has_come(received: &TagReceived, size: usize) -> Result<()> {
    let (length, status) = (received.data.len(), received.status);
    ensure!(
        status == 0 && length == size as u64,
        "received {length} bytes instead of {size}, with UCX status {status}"
    );
    Ok(())
}
