//! A host program for the sandbox plugin: says what `tests/c/sandbox_host.c` says, but for what DOCA's C interface alone
//! shows.
//!
//! Argument: the device, `mlx5_0` unless given. The service is the one that the environment names.

mod common;

use anyhow::{Result, ensure};
use common::{LIMIT, code, say_quiet, say_raw};
use sandbox_protocol::{Client, MapParams, Protocol, TagReceived, TagRecv, TagSend};
use urom_host::gather::InProcess;
use urom_host::{
    Completion, Data, Domain, Host, Received, Registered, Service, Worker, block_on, block_on_for,
};

const TASKS: u32 = 64;
const ALL: u64 = u64::MAX;
const MOST_DATA: usize = 4000;
/// What the host calls the first byte of registered memory.
const NAME: u64 = 0x10000;
const LARGE: usize = 16 * MOST_DATA;

/// The two workers, which are members 0 and 1.
struct Pair {
    sandbox: Client<Host>,
    workers: [Worker; 2],
}

fn main() -> Result<()> {
    let service = common::connect()?;
    let sandbox = service.plugin::<Protocol>()?;
    common::say_service(&service, "worker_sandbox")?;
    let worker = |id| service.worker().id(id).plugin(&sandbox).max_inflight(TASKS).start().wait();
    let pair = Pair { workers: [worker(0)?, worker(1)?], sandbox };
    println!("workers {} and {} run", pair.workers[0].id(), pair.workers[1].id());
    let early = pair.sandbox.task_tag_send(&pair.workers[0], 1, 1).data(b"early").submit()?;
    println!("a message before the domain: {}", code(&block_on_for(LIMIT, early)?).name());

    let domains = start_domains(&service, &pair)?;
    println!("a domain of {} participants runs", domains.len());
    say_quiet(service.engine());

    messages(&pair)?;
    many(&pair)?;
    registered(&pair)?;
    bad_commands(&pair)?;

    let left = pair.begin_receive(1, 100, 0x999, ALL)?;
    for domain in domains {
        domain.stop()?;
    }
    let [first, second] = pair.workers;
    second.stop().wait()?;
    println!("a receive whose worker stops: {}", code(&block_on_for(LIMIT, left)?).name());
    first.stop().wait()?;
    println!("the workers are stopped");
    Ok(())
}

/// Two participants in this thread, each with one of the workers.
fn start_domains(service: &Service, pair: &Pair) -> Result<Vec<Domain>> {
    let starting: Vec<_> = (0..)
        .zip(&pair.workers)
        .zip(InProcess::group(2))
        .map(|((id, worker), gather)| service.domain().worker(id, worker).gather(gather).start())
        .collect();
    // Both are under way already.
    starting.into_iter().map(|domain| Ok(block_on_for(LIMIT, domain)??)).collect()
}

/// Bytes that tell their place.
fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|at| ((at % 251) ^ (at >> 8)) as u8).collect()
}

impl Pair {
    fn begin_send<'a>(
        &self,
        from: usize,
        dest: u64,
        data: impl Into<Data<'a>>,
        tag: u64,
    ) -> Result<Completion<TagSend<'static>>> {
        let send = self.sandbox.task_tag_send(&self.workers[from], dest, tag);
        Ok(send.data(data.into()).context(0xdead).submit()?)
    }

    fn begin_receive(
        &self,
        at: usize,
        count: u64,
        tag: u64,
        mask: u64,
    ) -> Result<Completion<TagRecv>> {
        Ok(self
            .sandbox
            .task_tag_recv(&self.workers[at], count, tag, mask)
            .context(0xbeef)
            .submit()?)
    }

    /// Sends from one worker to the other, and fails unless it went.
    fn send(&self, from: usize, data: &[u8], tag: u64) -> Result<()> {
        let sent = block_on_for(LIMIT, self.begin_send(from, 1 - from as u64, data, tag)?)??;
        ensure!(sent.status == 0, "status {}", sent.status);
        Ok(())
    }

    fn receive(&self, at: usize, count: u64, tag: u64) -> Result<urom_host::Result<TagReceived>> {
        Ok(block_on_for(LIMIT, self.begin_receive(at, count, tag, ALL)?)?)
    }

    /// Waits until everything sent before has arrived: messages between two workers keep their order.
    fn settle(&self, from: usize) -> Result<()> {
        self.send(from, b"", 0xfe4ce)?;
        self.receive(1 - from, 0, 0xfe4ce)??;
        Ok(())
    }
}

/// What came into the answer.
fn inline(received: &TagReceived) -> &[u8] {
    match &received.data {
        Received::Inline(data) => data,
        Received::Registered { .. } => &[],
    }
}

/// The library has found the context to be the command's.
fn say_received(what: &str, result: &urom_host::Result<TagReceived>) {
    let (status, count, tag) = result.as_ref().map_or((0, 0, 0), |came| {
        let count = match &came.data {
            Received::Inline(data) => data.len() as u64,
            Received::Registered { len } => *len,
        };
        (came.status, count, came.sender_tag)
    });
    let code = code(result).name();
    println!("{what}: {code}, status {status}, {count} bytes, tag {tag:#x}, context 0xbeef");
}

fn messages(pair: &Pair) -> Result<()> {
    let hello = b"hello world\0";
    for from in 0..2 {
        let to = 1 - from;
        println!("from worker {from} to worker {to}");
        let waiting = pair.begin_receive(to, 100, 0x1234, 0xffff)?;
        // A worker takes the commands of one host in their order, so this one waits before the message is there.
        pair.settle(from)?;
        ensure!(!waiting.is_complete(), "nothing was sent");
        pair.send(from, hello, 0x51234)?;
        let came = block_on_for(LIMIT, waiting)?;
        say_received("a receive, then its message", &came);
        ensure!(inline(&came?) == hello, "another message");

        pair.send(from, hello, 0x5678)?;
        pair.settle(from)?;
        let came = pair.receive(to, 100, 0x5678)?;
        say_received("a message, then its receive", &came);
        ensure!(inline(&came?) == hello, "another message");

        pair.send(from, b"", 1)?;
        say_received("no bytes", &pair.receive(to, 0, 1)?);

        let data = pattern(0, MOST_DATA);
        pair.send(from, &data, 2)?;
        let came = pair.receive(to, MOST_DATA as u64, 2)?;
        say_received("as many as fit", &came);
        ensure!(inline(&came?) == data, "another message");

        pair.send(from, &data[..11], 3)?;
        pair.settle(from)?;
        say_received("too long, before its receive", &pair.receive(to, 10, 3)?);
        let waiting = pair.begin_receive(to, 10, 3, ALL)?;
        pair.settle(from)?;
        pair.send(from, &data, 3)?;
        say_received("too long, after its receive", &block_on_for(LIMIT, waiting)?);
    }
    Ok(())
}

fn many(pair: &Pair) -> Result<()> {
    let mut flights = Vec::new();
    for number in 0..24 {
        let (to, tag, data) = (number % 2, 0x100 + number as u64, pattern(number, number * 150));
        let receive = pair.begin_receive(to, MOST_DATA as u64, tag, ALL)?;
        let send = pair.begin_send(1 - to, to as u64, &data[..], tag)?;
        flights.push((send, receive, data));
    }
    let in_flight = pair.workers[0].in_flight()? + pair.workers[1].in_flight()?;
    let mut intact = 0;
    for (send, receive, data) in flights {
        let (sent, came) = (block_on_for(LIMIT, send)??, block_on_for(LIMIT, receive)??);
        intact += u32::from(sent.status == 0 && came.status == 0 && inline(&came) == data);
    }
    println!("{in_flight} in flight: {intact} messages intact");
    Ok(())
}

fn map(pair: &Pair, at: usize, params: MapParams, exported: &[u8], what: &str) -> Result<u64> {
    let map = pair
        .sandbox
        .task_mem_map(&pair.workers[at], params)
        .exported_memh(exported)
        .context(0xfeed);
    let mapped = block_on_for(LIMIT, map.submit()?)?;
    let memh_id = mapped.as_ref().map_or(0, |mapped| mapped.memh_id);
    println!("{what}: {}, {} handle", code(&mapped).name(), if memh_id != 0 { "a" } else { "no" });
    Ok(memh_id)
}

fn registered(pair: &Pair) -> Result<()> {
    let own = MapParams::allocate(NAME, LARGE as u64);
    let memh_ids = [
        map(pair, 0, own, &[], "memory of worker 0")?,
        map(pair, 1, own, &[], "memory of worker 1")?,
    ];
    map(pair, 0, MapParams::exported(NAME), &[0xff; 40], "an exported handle that is none")?;
    map(pair, 0, MapParams::exported(NAME), &[], "nothing")?;

    let begin_receive = |at: usize, address, count: usize, tag, memh_id| {
        let receive = pair.sandbox.task_tag_recv(&pair.workers[at], count as u64, tag, ALL);
        receive.buffer(address).memh_id(memh_id).context(0xbeef).submit()
    };
    let begin_send = |at: usize, address, count: usize, tag, memh_id: u64| -> Result<_> {
        let part = Registered { memory: memh_id.try_into()?, address, len: count as u64 };
        pair.begin_send(at, 1 - at as u64, part, tag)
    };
    // The host's bytes into the memory of worker 1, in pieces.
    let pieces = || (0..LARGE).step_by(MOST_DATA).map(|at| (at, NAME + at as u64));
    for (at, address) in pieces() {
        let tag = 0x200 + at as u64;
        let receive = begin_receive(1, address, MOST_DATA, tag, memh_ids[1])?;
        pair.send(0, &pattern(at, MOST_DATA), tag)?;
        let came = block_on_for(LIMIT, receive)??;
        let whole = Received::Registered { len: MOST_DATA as u64 };
        ensure!(came.status == 0 && came.data == whole, "{came:?}");
    }
    // All of it from worker 1 to worker 0.
    let receive = begin_receive(0, NAME, LARGE, 0x300, memh_ids[0])?;
    let send = begin_send(1, NAME, LARGE, 0x300, memh_ids[1])?;
    block_on_for(LIMIT, send)??;
    say_received("between registered memory", &block_on_for(LIMIT, receive)?);
    // And back to the host.
    let mut intact = 0;
    for (at, address) in pieces() {
        let tag = 0x400 + at as u64;
        let send = begin_send(0, address, MOST_DATA, tag, memh_ids[0])?;
        let came = pair.receive(1, MOST_DATA as u64, tag)??;
        block_on_for(LIMIT, send)??;
        intact += u32::from(came.status == 0 && inline(&came) == pattern(at, MOST_DATA));
    }
    println!("{intact} pieces intact");

    let out = block_on(begin_send(0, NAME + 1, LARGE, 1, memh_ids[0])?);
    println!("bytes that stick out: {}", code(&out).name());
    let before = block_on(begin_send(0, NAME - 1, 1, 1, memh_ids[0])?);
    println!("bytes before it: {}", code(&before).name());
    let nothing = block_on(begin_receive(0, NAME, 1, 1, u64::MAX)?);
    println!("a handle of nothing: {}", code(&nothing).name());
    Ok(())
}

fn bad_commands(pair: &Pair) -> Result<()> {
    let (worker, plugin) = (&pair.workers[0], pair.sandbox.as_ref());
    // TAG_SEND, context, dest, buffer, count, tag, memh_id.
    let command = |kind: u64, count: u64| -> Vec<u8> {
        let words = [kind, 0, 1, 1, count, 9, 0, 0, 0, 0];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    };
    say_raw("71 bytes", worker, plugin, &command(1, 8)[..71])?;
    say_raw("no bytes", worker, plugin, &[])?;
    say_raw("a byte less than it says", worker, plugin, &command(1, 8)[..79])?;
    say_raw("a length that wraps", worker, plugin, &command(1, u64::MAX - 63))?;
    say_raw("an unknown type", worker, plugin, &command(3, 8)[..72])?;

    let stray = block_on_for(LIMIT, pair.begin_send(0, 99, b"?", 1)?)?;
    println!("a member that nobody is: {}", code(&stray).name());
    println!("more than any answer holds: {}", code(&pair.receive(0, 1 << 24, 1)?).name());
    pair.send(0, b"good", 9)?;
    say_received("a good one after them", &pair.receive(1, 8, 9)?);
    Ok(())
}
