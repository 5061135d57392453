//! Metrics, health and status over HTTP, and requests that are not HTTP.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use urom_abi::DocaStatus;
use urom_wire::control::StartWorker;

use crate::support::TIMEOUT;
use crate::support::client::{Client, Connection, Started, any, op};
use crate::support::uromd::{Uromd, command, wait_gone};

const OPTIONS: [&str; 2] = ["--metrics", "127.0.0.1:0"];

struct Watched {
    uromd: Uromd,
    address: String,
}

impl Watched {
    fn start() -> Watched {
        let uromd = Uromd::obedient(&OPTIONS);
        let line = uromd.logged(&["serving metrics on http://"]);
        let (_, rest) = line.split_once("http://").unwrap();
        Watched { address: rest.split('/').next().unwrap().to_owned(), uromd }
    }

    fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> (String, String) {
        let answer = self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn metrics(&self) -> HashMap<String, f64> {
        let (head, body) = self.get("/metrics");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain"), "{head}");
        let values = body.lines().filter(|line| !line.starts_with('#'));
        let value = |line: &str| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        };
        values.map(value).collect()
    }

    /// Waits until a metric has a value: workers update gauges before they sleep.
    fn wait_for(&self, name: &str, wanted: f64) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let metrics = self.metrics();
            if metrics.get(name) == Some(&wanted) {
                return;
            }
            assert!(Instant::now() < deadline, "{name} is {:?}: {metrics:#?}", metrics.get(name));
        }
    }
}

/// The obedient plugin has no description, so its commands are named by their tags.
fn of(name: &str, command: u64) -> String {
    format!("{name}{{command=\"{command}\",plugin=\"obedient\"}}")
}

fn answers(code: &str, command: u64) -> String {
    format!("urom_answers_total{{code=\"{code}\",command=\"{command}\",plugin=\"obedient\"}}")
}

#[test]
fn commands_are_counted_by_plugin_command_and_code_also_after_their_worker_has_crashed() {
    let watched = Watched::start();
    let mut client = Client::connect(watched.uromd.address);
    let host = client.attach(any(), 8);
    for _ in 0..70 {
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    }
    assert_ne!(host.call(op::STATUS, 6).status, DocaStatus::SUCCESS);
    host.ask(3, op::HOLD, 0);
    watched.wait_for(&of("urom_commands_in_flight", op::HOLD), 1.0);
    let metrics = watched.metrics();
    for (name, value) in [
        (of("urom_commands_total", op::ECHO), 70.0),
        (answers("SUCCESS", op::ECHO), 70.0),
        (of("urom_command_duration_seconds_count", op::ECHO), 70.0),
        (answers("INVALID_VALUE", op::STATUS), 1.0),
        (of("urom_commands_total", op::HOLD), 1.0),
        ("urom_hosts".to_owned(), 1.0),
        ("urom_workers{state=\"ready\"}".to_owned(), 1.0),
        ("urom_worker_starts_total".to_owned(), 1.0),
        ("urom_worker_failures_total".to_owned(), 0.0),
        ("urom_log_lines_lost_total".to_owned(), 0.0),
    ] {
        assert_eq!(metrics.get(&name), Some(&value), "{name}: {metrics:#?}");
    }
    watched.wait_for("urom_connections", 1.0);
    assert!(watched.metrics()["urom_received_bytes_total"] >= 72.0 * 16.0);

    let worker = host.pid();
    kill_process(Pid::from_raw(worker as _).unwrap(), Signal::KILL).unwrap();
    wait_gone(worker);
    watched.wait_for("urom_worker_failures_total", 1.0);
    let metrics = watched.metrics();
    assert_eq!(metrics[&of("urom_commands_total", op::ECHO)], 70.0);
    assert_eq!(metrics[&of("urom_commands_in_flight", op::HOLD)], 0.0);
    assert_eq!(metrics[&answers("CONNECTION_RESET", op::HOLD)], 1.0);
}

#[test]
fn commands_of_a_host_that_leaves_are_no_longer_in_flight() {
    let watched = Watched::start();
    let mut client = Client::connect(watched.uromd.address);
    let _stays = client.attach(any(), 1);
    let host = Client::connect(watched.uromd.address).attach(any(), 8);
    host.ask(0, op::HOLD, 0);
    watched.wait_for(&of("urom_commands_in_flight", op::HOLD), 1.0);
    drop(host);
    watched.wait_for(&of("urom_commands_in_flight", op::HOLD), 0.0);
    assert_eq!(watched.metrics()[&answers("CONNECTION_ABORTED", op::HOLD)], 1.0);
}

#[test]
fn refused_hosts_are_counted_by_reason() {
    let watched = Watched::start();
    let mut stranger = TcpStream::connect(watched.uromd.address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: this is not a host\r\n\r\n").unwrap();
    let refused = |process: &str, reason: &str| {
        format!("urom_refused_hosts_total{{process=\"{process}\",reason=\"{reason}\"}}")
    };
    watched.wait_for(&refused("daemon", "not_urom"), 1.0);
    let mut client = Client::connect(watched.uromd.address);
    let host = client.attach(any(), 1);
    let worker = host.started;
    let mut stranger = TcpStream::connect(worker.address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: this is not a host\r\n\r\n").unwrap();
    let wrong_token = Started { token: worker.token ^ 1, ..worker };
    assert!(Connection::attach(wrong_token, 1).is_err());
    let other = client.start(StartWorker { id: worker.id, ..any() }).unwrap();
    assert!(Connection::attach_with(other, 1, 1).is_err());
    for reason in ["not_urom", "token", "limits"] {
        watched.wait_for(&refused("worker", reason), 1.0);
    }
    drop((host, client));
    watched.wait_for("urom_workers{state=\"ready\"}", 0.0);
    assert_eq!(watched.metrics()[&refused("worker", "token")], 1.0);
}

#[test]
fn health_readiness_and_status_have_pages() {
    let watched = Watched::start();
    let _host = Client::connect(watched.uromd.address).attach(any(), 1);
    for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let (head, found) = watched.get(path);
        assert!(head.starts_with("HTTP/1.1 200 OK") && found == body, "{head} {found}");
    }
    let status: serde_json::Value = serde_json::from_str(&watched.get("/status").1).unwrap();
    assert_eq!(status["address"], watched.uromd.address.to_string());
    assert_eq!(status["workers"][0]["plugins"][0], "obedient");
    assert_eq!(status["workers"][0]["state"], "ready");
}

#[test]
fn requests_that_are_wrong_or_not_http_are_refused_and_others_go_on() {
    let watched = Watched::start();
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(10_000));
    for (request, status) in [
        (&b"GET /nothing HTTP/1.1\r\n\r\n"[..], "404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"UROM\x0e\0\x01\0\r\n\r\n", "400"),
        (long.as_bytes(), "431"),
    ] {
        let answer = watched.send(request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    let head = watched.send(b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    let _silent = TcpStream::connect(&watched.address).unwrap();
    assert_eq!(watched.get("/healthz").1, "ok\n");
}

#[test]
fn silent_connections_do_not_keep_others_from_the_health_check() {
    let watched = Watched::start();
    let silent: Vec<_> = (0..400).map(|_| TcpStream::connect(&watched.address).unwrap()).collect();
    let begin = Instant::now();
    assert_eq!(watched.get("/healthz").1, "ok\n");
    assert!(begin.elapsed() < TIMEOUT / 4, "{:?}", begin.elapsed());
    drop(silent);
}

#[test]
fn an_address_that_is_in_use_is_named_with_its_option() {
    let watched = Watched::start();
    let args = ["--listen", "127.0.0.1:0", "--metrics", &watched.address];
    let second = command().args(args).output().unwrap();
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && text.contains("--metrics"), "{text}");
    assert!(text.contains(&watched.address), "{text}");
}

/// Debian's package `prometheus` has the program; `.ci/full` installs it.
#[test]
fn promtool_has_no_remarks() {
    if Command::new("promtool").arg("--version").output().is_err() {
        return eprintln!("left out: no promtool");
    }
    let watched = Watched::start();
    let host = Client::connect(watched.uromd.address).attach(any(), 1);
    host.call(op::ECHO, 1);
    host.call(op::STATUS, 6);
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(watched.get("/metrics").1.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let remarks = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && remarks.is_empty(), "{remarks}");
}
