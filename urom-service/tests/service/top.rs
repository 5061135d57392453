//! `uromd top`: once as text, and the live view in a pseudo-terminal.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use urom_abi::DocaStatus;

use crate::support::client::{Client, any, op};
use crate::support::uromd::{Uromd, command};

#[cfg(feature = "top")]
#[path = "live_view.rs"]
mod live_view;

struct Watched {
    uromd: Uromd,
    directory: TempDir,
    /// Of HTTP.
    address: String,
}

impl Watched {
    fn start() -> Watched {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("control");
        let options = ["--control", socket.to_str().unwrap(), "--metrics", "127.0.0.1:0"];
        let uromd = Uromd::obedient(&options);
        let line = uromd.logged(&["serving metrics on http://"]);
        let (_, rest) = line.split_once("http://").unwrap();
        Watched { address: rest.split('/').next().unwrap().to_owned(), uromd, directory }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("control")
    }

    /// `uromd top` of the control socket.
    fn top(&self) -> Command {
        let mut top = command();
        top.args(["top", "--interval", "0.1", "--control"]).arg(self.socket());
        top
    }
}

fn printed(top: &mut Command) -> String {
    text(&top.output().unwrap())
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The cells of the row that begins with this word.
fn row(table: &str, first: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.starts_with(first));
    let line = line.unwrap_or_else(|| panic!("no {first} in {table}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

#[test]
fn once_prints_rates_from_the_socket_and_from_http() {
    let service = Watched::start();
    let mut client = Client::connect(service.uromd.address);
    let host = client.attach(any(), 8);
    host.ask(3, op::HOLD, 0);
    let mut from_http = command();
    from_http.args(["top", "--interval=0.1", "--service", &service.address]);
    for mut top in [service.top(), from_http] {
        let mut top = top.arg("--once").stdout(Stdio::piped()).spawn().unwrap();
        while top.try_wait().unwrap().is_none() {
            assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
        }
        let table = text(&top.wait_with_output().unwrap());
        let echo = row(&table, &format!("obedient  {} ", op::ECHO));
        assert!(echo[2].parse::<f64>().unwrap() > 0.0, "{table}");
        assert_eq!((echo.len(), echo[5].as_str()), (8, "0"), "{table}");
        assert_eq!(row(&table, &format!("obedient  {} ", op::HOLD))[3], "1", "{table}");
        let worker = row(&table, "auto-1");
        assert_eq!((worker[1].as_str(), worker[6].as_str()), ("ready", "obedient"), "{table}");
        assert!(worker[3].parse::<f64>().unwrap() > 0.0, "{table}");
        assert!(table.contains("hosts: 1; workers: 1, 1 ready;"), "{table}");
    }
}

#[test]
fn once_filters_and_sorts() {
    let service = Watched::start();
    let host = Client::connect(service.uromd.address).attach(any(), 8);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    assert_ne!(host.call(op::STATUS, 6).status, DocaStatus::SUCCESS);
    let table = printed(service.top().args(["--once", "--sort", "failed"]));
    assert_eq!(row(&table, "obedient")[1], op::STATUS.to_string(), "{table}");
    let table = printed(service.top().args(["--once", "--filter", "AUTO-1"]));
    assert!(table.contains("auto-1") && !table.contains("\nobedient"), "{table}");
    let table = printed(service.top().args(["--once", "--filter", "nothing"]));
    assert!(table.starts_with("uromd ") && !table.contains("PLUGIN"), "{table}");
}

#[test]
fn services_that_are_not_there_and_wrong_words_are_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for (words, code, parts) in [
        (&["--control", "/no/socket"][..], 1, &["/no/socket", "--control"][..]),
        (&["--service", &free], 1, &[&free, "--metrics"]),
        (&["--service", "no-such-host.invalid"], 1, &["no-such-host.invalid"]),
        (&["--service", "::1:x"], 1, &["[::1]"]),
        (&["--sort", "speed"], 2, &["speed", "p99", "uromd top --help"]),
        (&["--interval", "-1"], 2, &["-1", "0.1"]),
        (&["--json"], 2, &["--json"]),
    ] {
        let output = command().args(["top", "--once"]).args(words).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{words:?}: {text}");
    }
}

#[test]
fn garbage_from_the_address_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let top = command()
        .args(["top", "--once", "--service", &address])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = [0; 16];
    stream.read_exact(&mut request).unwrap();
    assert_eq!(&request, b"GET /status HTTP");
    stream.write_all(b"\x16\x03\x01 not HTTP\xff\xff").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let output = top.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(&address) && text.contains("HTTP"), "{text}");
}

#[test]
fn without_the_feature_or_a_terminal_the_live_view_names_once() {
    let service = Watched::start();
    let output = service.top().output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let code = if cfg!(feature = "top") { 1 } else { 2 };
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains("--once"), "{text}");
    assert!(output.stdout.is_empty());
}
