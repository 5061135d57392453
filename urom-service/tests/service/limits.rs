//! Limits of a daemon: connections, hosts, workers, lengths, time.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::{DaemonToHost, PEER_TIMEOUT as SILENCE, StartWorker};
use urom_wire::hello::{HELLO_LEN, Hello, Role};
use urom_wire::plain::Plain;
use urom_wire::proof::OPENING_LEN;

use crate::support::TIMEOUT;
use crate::support::client::{Client, Connection, any, attached, first_message, op, served_with};
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command};

/// Limit of connections that have not completed their handshake.
const MAX_HANDSHAKES: usize = 256;

fn descriptors(pid: impl std::fmt::Display) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn descriptor_limit(pid: impl std::fmt::Display) -> usize {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Opens connections from a foreign address, and keeps the last few hundred open.
fn flood(to: SocketAddr, count: usize, mut meanwhile: impl FnMut(usize)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut open = VecDeque::new();
    for number in 0..count {
        let stream = runtime.block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
            socket.connect(to).await.unwrap()
        });
        open.push_back(stream);
        if open.len() > 300 {
            open.pop_front();
        }
        meanwhile(number);
    }
}

#[test]
fn ten_thousand_connections_keep_no_host_out() {
    let (uromd, mut client, host) = attached(1);
    let before = descriptors(uromd.pid());
    let mut most = 0;
    flood(uromd.address, 10_000, |number| {
        if number % 1000 == 999 {
            assert_eq!(Client::connect(uromd.address).plugins.len(), 1, "after {number}");
            most = most.max(descriptors(uromd.pid()));
        }
    });
    assert!(most <= before + MAX_HANDSHAKES + 8, "{most} descriptors, and {before} before");
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    // The worker's own port.
    let pid = host.pid();
    let before = descriptors(pid);
    let id = host.started.id;
    flood(host.started.address, 2_000, |number| {
        if number % 500 == 499 {
            let again = client.attach(StartWorker { id, ..any() }, 1);
            assert_eq!(again.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
            assert!(descriptors(pid) <= before + MAX_HANDSHAKES + 16);
        }
    });
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
}

/// Sends bytes of a handshake's length, and waits until the connection closes.
fn handshake_with(to: SocketAddr, hello: &[u8]) {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(&[hello, &[0; OPENING_LEN]].concat()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn unknown_peers_do_not_fill_the_log_and_hide_no_other_lines() {
    const AT_ONCE: usize = 16;
    let uromd = Uromd::obedient(&[]);
    let host = Client::connect(uromd.address).attach(any(), 1);
    let mut before = 0;
    for (to, who) in [(uromd.address, "[uromd]"), (host.started.address, "[worker ")] {
        let begin = Instant::now();
        for _ in 0..100 {
            handshake_with(to, &[b'x'; HELLO_LEN]);
        }
        // A refused host, whose log line has its own limit, comes last.
        handshake_with(to, Hello::new(Role::Worker).as_bytes());
        uromd.logged(&[who, "refused host"]);
        let lines = uromd.lines_with("closed the connection") - before;
        let more = begin.elapsed().as_secs() as usize / 10;
        assert!((AT_ONCE..=AT_ONCE + more).contains(&lines), "{lines} lines");
        before += lines;
    }
    // Peers with a valid handshake, but without a token.
    let begin = Instant::now();
    for _ in 0..100 {
        let mut stream = after_handshake(host.started.address);
        stream.write_all(&[0xff; 4]).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let (lines, more) =
        (uromd.lines_with("lost the connection to host"), begin.elapsed().as_secs() as usize / 10);
    assert!((AT_ONCE..=AT_ONCE + more).contains(&lines), "{lines} lines");
    // The end of an admitted host is always logged.
    drop(host);
    uromd.logged(&["[worker ", " disconnected"]);
    // Hosts above the limit.
    let uromd = Uromd::start_with(&[], &["--max-hosts", "1"]);
    let _first = Client::connect(uromd.address);
    let begin = Instant::now();
    for _ in 0..100 {
        assert!(matches!(first_message(&uromd).1, DaemonToHost::Refused(_)));
    }
    let (lines, more) = (uromd.lines_with("refused host"), begin.elapsed().as_secs() as usize / 10);
    assert!((AT_ONCE..=AT_ONCE + more).contains(&lines), "{lines} lines");
}

#[test]
fn daemon_and_workers_may_open_what_their_limits_ask_for() {
    let plugins = Plugins::obedient();
    let directory = plugins.path().to_str().unwrap();
    let sizes = ["--max-hosts", "100", "--max-workers", "10"];
    let uromd = Uromd::start_limited("-Sn 100", &[directory], &sizes);
    let host = Client::connect(uromd.address).attach(any(), 1);
    let pid = host.pid();
    for limit in [descriptor_limit(uromd.pid()), descriptor_limit(pid)] {
        assert!((500..1000).contains(&limit), "{limit}");
    }
    // A higher limit stays; a hard limit that is too low is logged.
    let uromd = Uromd::start_limited("-n 1000", &[], &sizes);
    assert_eq!(descriptor_limit(uromd.pid()), 1000);
    let uromd = Uromd::start_limited("-n 200", &[], &sizes);
    uromd.logged(&["200 files", "100 hosts", "ulimit -n", "--max-hosts"]);
    assert_eq!(descriptor_limit(uromd.pid()), 200);
}

#[test]
fn a_daemon_that_may_open_too_few_files_says_so_and_does_not_start() {
    for limit in 10..=40 {
        let script = format!("ulimit -n {limit} && exec \"$0\" --listen 127.0.0.1:0");
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &script]).arg(command().get_program()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{limit}: {said}");
        let limit = format!("may have {limit} open");
        for part in ["too many open files", &limit, "needs 64", "ulimit -n"] {
            assert!(said.contains(part), "no {part} in {said}");
        }
    }
}

#[test]
fn a_daemon_that_may_write_no_file_says_why_it_serves_no_plugin() {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start_limited("-f 0", &[plugins.path().to_str().unwrap()], &[]);
    assert!(Client::connect(uromd.address).plugins.is_empty());
    uromd.logged(&["obedient.so is not served", "ulimit -f"]);
}

#[test]
fn hosts_of_a_daemon_with_few_descriptors_are_told_or_served() {
    for limit in (72..=136).step_by(8) {
        let plugins = Plugins::obedient();
        let directory = plugins.path().to_str().unwrap();
        let uromd = Uromd::start_limited(&format!("-n {limit}"), &[directory], &[]);
        let mut client = Client::connect(uromd.address);
        let workers = (0..16).map(|id| client.start(StartWorker { id, ..any() }));
        let failed = workers.filter_map(Result::err).collect::<Vec<_>>();
        for failure in &failed {
            let text = failure.text.to_lowercase();
            assert!(text.contains("too many open files"), "{limit}: {failure}");
        }
    }
}

#[test]
fn a_daemon_without_descriptors_answers_the_hosts_it_has_and_lets_others_in_later() {
    let uromd = Uromd::start_limited("-n 80", &[], &[]);
    let mut client = Client::connect(uromd.address);
    let connections: Vec<TcpStream> =
        (0..120).map(|_| TcpStream::connect(uromd.address).unwrap()).collect();
    uromd.logged(&["no host can connect"]);
    let begin = Instant::now();
    for _ in 0..100 {
        assert!(client.group(0).is_empty());
    }
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(3), "100 answers in {took:?}");
    drop(connections);
    assert!(Client::connect(uromd.address).plugins.is_empty());
    let most = 16 + begin.elapsed().as_secs() as usize / 10;
    assert!(uromd.lines_with("no host can connect") <= most);
}

#[test]
fn silent_and_slow_peers_are_disconnected_in_time() {
    let uromd = Uromd::start_with(&[], &[]);
    let begin = Instant::now();
    let mut silent = TcpStream::connect(uromd.address).unwrap();
    let mut drips = TcpStream::connect(uromd.address).unwrap();
    let mut dripped = 0;
    // The start of a valid handshake, byte by byte.
    let hello = Hello::new(Role::Host);
    for byte in hello.as_bytes() {
        if drips.write_all(&[*byte]).is_err() {
            break;
        }
        dripped += 1;
        std::thread::sleep(SILENCE / 8);
    }
    assert!(dripped >= 8 && dripped < hello.as_bytes().len(), "{dripped} bytes");
    assert!(begin.elapsed() < SILENCE * 3, "{:?}", begin.elapsed());
    silent.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut heard = Vec::new();
    silent.read_to_end(&mut heard).unwrap();
    assert_eq!(heard.len(), HELLO_LEN + OPENING_LEN);
    let took = begin.elapsed();
    assert!(took + Duration::from_millis(100) >= SILENCE && took < SILENCE * 3, "{took:?}");
    uromd.logged(&["handshake"]);
}

#[test]
fn one_host_too_many_is_refused_and_admitted_when_another_has_left() {
    let uromd = Uromd::start_with(&[], &["--max-hosts", "2"]);
    let first = Client::connect(uromd.address);
    let _second = Client::connect(uromd.address);
    let (_, message) = first_message(&uromd);
    let DaemonToHost::Refused(failure) = message else { panic!("a refusal, not {message:?}") };
    assert_eq!(failure.code, DocaError::FULL);
    assert!(failure.text.contains("2 hosts") && failure.text.contains("--max-hosts"), "{failure}");
    uromd.logged(&["refused host", "--max-hosts"]);
    drop(first);
    let deadline = Instant::now() + TIMEOUT;
    while !matches!(first_message(&uromd).1, DaemonToHost::Welcome { .. }) {
        assert!(Instant::now() < deadline, "its slot does not become free");
    }
}

#[test]
fn a_host_that_asks_for_too_many_workers_gets_those_it_may_have() {
    let (uromd, mut client) = served_with(&["--max-workers-per-host", "2", "--max-workers", "3"]);
    for _ in 0..50 {
        client.ask(any());
    }
    let mut started = Vec::new();
    for _ in 0..50 {
        match client.answer().1 {
            Ok(worker) => started.push(worker),
            Err(failure) => {
                assert_eq!(failure.code, DocaError::FULL);
                assert!(failure.text.contains("--max-workers-per-host"), "{failure}");
            }
        }
    }
    assert_eq!(started.len(), 2);
    let mut hosts: Vec<_> = started.into_iter().map(|worker| client.enter(worker, 1)).collect();
    let again = client.start(StartWorker { id: hosts[0].started.id, ..any() }).err().unwrap();
    assert_eq!(again.code, DocaError::FULL);
    // Another host has its own limit, up to the common one.
    let mut other = Client::connect(uromd.address);
    let _third = other.attach(any(), 1);
    let failure = other.start(any()).err().unwrap();
    assert_eq!(failure.code, DocaError::FULL);
    assert!(failure.text.ends_with("--max-workers"), "{failure}");
    let joined = other.attach(StartWorker { id: hosts[0].started.id, ..any() }, 1);
    assert_eq!(joined.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    // A host that leaves a worker may use another.
    drop((hosts.pop(), joined));
    let deadline = Instant::now() + TIMEOUT;
    while client.start(any()).is_err() {
        assert!(Instant::now() < deadline, "its slot does not become free");
    }
}

#[test]
fn a_worker_takes_so_many_hosts_however_often_they_connect_to_the_daemon() {
    let (uromd, mut client) = served_with(&["--max-hosts", "2"]);
    let first = client.attach(any(), 1);
    let worker = StartWorker { id: first.started.id, ..any() };
    let second = client.attach(worker.clone(), 1);
    // The daemon's count ends with the connection.
    drop(client);
    let mut client = Client::connect(uromd.address);
    let failure = Connection::attach(client.start(worker.clone()).unwrap(), 1).err().unwrap();
    assert_eq!(failure.code, DocaError::FULL);
    assert!(failure.text.contains("2 hosts") && failure.text.contains("--max-hosts"), "{failure}");
    uromd.logged(&["closed the connection to host", "--max-hosts"]);
    for host in [&first, &second] {
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    }
    drop(first);
    // The worker detects the end later; until then each attempt uses up a token.
    let deadline = Instant::now() + TIMEOUT;
    while Connection::attach(client.start(worker.clone()).unwrap(), 1).is_err() {
        assert!(Instant::now() < deadline, "its slot does not become free");
    }
}

/// Returns a host's stream after the handshake.
fn after_handshake(to: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(Hello::new(Role::Host).as_bytes()).unwrap();
    stream.write_all(&[0; OPENING_LEN]).unwrap();
    stream.read_exact(&mut [0; HELLO_LEN + OPENING_LEN]).unwrap();
    stream
}

#[test]
fn a_message_over_the_limit_ends_its_stream_and_no_other() {
    let (uromd, mut client, host) = attached(1);
    for to in [uromd.address, host.started.address] {
        for len in [(1 << 20) + 1, 1 << 31, u32::MAX] {
            let mut stream = after_handshake(to);
            stream.write_all(&u32::to_le_bytes(len)).unwrap();
            // The stream ends after any messages.
            let _ = stream.read_to_end(&mut Vec::new());
            uromd.logged(&["lost the connection to host", &format!("a message of {len} bytes")]);
        }
    }
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    assert_eq!(client.group(0), [host.started.id]);
}
