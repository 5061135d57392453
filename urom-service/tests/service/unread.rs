//! Hosts that do not read: the worker's memory for them, and the end of their connections.

use std::time::Instant;

use urom_wire::control::StartWorker;

use crate::support::TIMEOUT;
use crate::support::client::{Client, Connection, any, op};
use crate::support::plugins::Plugins;
use crate::support::uromd::Uromd;

const MIB: usize = 1 << 20;

/// Limit of a host's unread bytes.
const MAX_UNREAD: usize = 8 * MIB;

/// Other memory of the worker for them: rings, slots, commands and answers in flight.
const MARGIN: usize = 8 * MIB;

/// Tasks in flight: their answers are 80 MiB.
const SLOTS: u16 = 20_000;

const LONGEST: u64 = 4096 - 32;

fn resident(pid: u64) -> usize {
    status(pid, "VmRSS:")
}

fn peak(pid: u64) -> usize {
    status(pid, "VmHWM:")
}

fn status(pid: u64, name: &str) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kib =
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")).unwrap();
    kib.parse::<usize>().unwrap() << 10
}

/// Requests the longest answers in all slots without reading. Stops when the host is refused.
fn ask_without_reading(host: &Connection) {
    for slot in 0..SLOTS {
        host.ask(slot, op::BIG, LONGEST);
        if host.is_refused() {
            return;
        }
    }
}

struct Setting {
    good: Connection,
    rude: Vec<Connection>,
    uromd: Uromd,
    _plugins: Plugins,
}

fn setting(max_unread: usize) -> Setting {
    let plugins = Plugins::obedient();
    let most = max_unread.to_string();
    let uromd = Uromd::start_with(&[plugins.path().to_str().unwrap()], &["--max-unread", &most]);
    let mut client = Client::connect(uromd.address);
    let good = client.attach(any(), 4);
    let worker = StartWorker { id: good.started.id, ..any() };
    let rude = (0..2).map(|_| client.attach(worker.clone(), SLOTS.into())).collect();
    Setting { good, rude, uromd, _plugins: plugins }
}

/// Waits until a worker's memory shrinks to `most` bytes, while a host keeps using it.
fn shrinks_to(most: usize, pid: u64, good: &Connection) {
    let deadline = Instant::now() + TIMEOUT;
    while resident(pid) > most {
        assert!(Instant::now() < deadline, "{} bytes, where {most} are the most", resident(pid));
        good.call(op::ECHO, 1);
    }
}

#[test]
fn hosts_that_do_not_read_cost_at_most_the_unread_limit_and_are_disconnected() {
    let Setting { good, rude, uromd, _plugins } = setting(MAX_UNREAD);
    let pid = good.pid();
    let before = resident(pid);
    for host in &rude {
        ask_without_reading(host);
        let failure = host.refusal();
        assert!(
            failure.text.contains("has not read 8 MiB") && failure.text.contains("--max-unread")
        );
        good.call(op::ECHO, 1);
    }
    uromd.logged(&["closed the connection", "has not read 8 MiB", "--max-unread"]);
    let (most, peak) = (before + rude.len() * MAX_UNREAD + MARGIN, peak(pid));
    assert!(peak <= most, "{peak} bytes, where {most} are the most");
    shrinks_to(before + MARGIN, pid, &good);
    println!("{before} bytes before, {peak} at most, {} after", resident(pid));
}

#[test]
fn memory_of_unread_answers_returns_to_the_system_when_their_host_leaves() {
    let Setting { good, rude, uromd: _uromd, _plugins } = setting(1 << 30);
    let pid = good.pid();
    let before = resident(pid);
    rude.iter().for_each(ask_without_reading);
    let peak = peak(pid);
    assert!(peak > before + 100 * MIB, "{before} bytes before, {peak} at most");
    drop(rude);
    shrinks_to(before + peak / 5, pid, &good);
    println!("{before} bytes before, {peak} at most, {} after", resident(pid));
}
