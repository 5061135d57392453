//! Operators' commands to a running service: status, drain, reload.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::DaemonToHost;

use crate::support::client::{Client, any, first_message, op};
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command};

struct Operated {
    uromd: Uromd,
    directory: TempDir,
}

impl Operated {
    fn start() -> Operated {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("control");
        let uromd = Uromd::obedient(&["--control", socket.to_str().unwrap()]);
        Operated { uromd, directory }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("control")
    }

    fn begin(&self, words: &[&str]) -> Child {
        let mut command = command();
        command.args(words).arg("--control").arg(self.socket());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.begin(words).wait_with_output().unwrap()
    }

    fn prints(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn is_refused(&self) -> bool {
        let refused = first_message(&self.uromd).1;
        let DaemonToHost::Refused(failure) = refused else { return false };
        assert_eq!(failure.code, DocaError::AGAIN, "{failure}");
        assert!(failure.text.contains("drained"), "{failure}");
        true
    }
}

#[test]
fn status_shows_workers_and_commands_as_a_table_and_as_json() {
    let service = Operated::start();
    let host = Client::connect(service.uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    let table = service.prints(&["status"]);
    let row = |first: &str| -> Vec<String> {
        let line = table.lines().find(|line| line.starts_with(first));
        let line = line.unwrap_or_else(|| panic!("{table}"));
        line.split_ascii_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("auto-1")[1], "ready");
    assert_eq!(row("obedient")[..5], ["obedient", "0", "1", "0", "0"]);
    assert!(table.starts_with("uromd ") && table.contains("serves"), "{table}");
    let json = service.prints(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(status["commands"][0]["received"], 1);
}

#[test]
fn a_drain_waits_for_hosts_refuses_new_ones_and_ends_with_a_reload() {
    let service = Operated::start();
    let client = Client::connect(service.uromd.address);
    let drain = service.begin(&["drain"]);
    service.uromd.logged(&["draining: 1 host left"]);
    assert!(service.is_refused());
    assert!(service.prints(&["status"]).contains(" drains "));
    drop(client);
    let output = drain.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "drained: no host is left\n");
    assert_eq!(service.prints(&["drain"]), "drained: no host is left\n");
    assert!(service.is_refused());
    assert_eq!(service.prints(&["reload"]), "reloaded: 1 plugin found\n");
    let host = Client::connect(service.uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
}

#[test]
fn a_host_that_never_leaves_is_disconnected_at_the_deadline() {
    let service = Operated::start();
    let mut client = Client::connect(service.uromd.address);
    let host = client.attach(any(), 1);
    let output = service.run(&["drain", "--deadline", "1"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("1 host did not leave within 1 s") && text.contains("127.0.0.1:"),
        "{text}"
    );
    assert_eq!(host.refusal().code, DocaError::SHUTDOWN);
    assert!(service.is_refused());
}

#[test]
fn a_reload_ends_a_drain_that_still_waits() {
    let service = Operated::start();
    let client = Client::connect(service.uromd.address);
    let drain = service.begin(&["drain", "--deadline", "1"]);
    service.uromd.logged(&["draining"]);
    service.prints(&["reload"]);
    let output = drain.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("takes hosts again"));
    assert!(service.prints(&["status"]).contains("with 1 hosts"));
    drop(client);
}

#[test]
fn sighup_reloads_a_service_and_leaves_its_commands_alone() {
    let service = Operated::start();
    let host = Client::connect(service.uromd.address).attach(any(), 1);
    for time in 1..=3 {
        service.uromd.signal(Signal::HUP);
        service.uromd.logged_times(time, "reloaded: 1 plugin found");
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    }
}

#[test]
fn sighup_makes_a_control_socket_again_that_was_removed() {
    let service = Operated::start();
    fs::remove_file(service.socket()).unwrap();
    let failed = service.run(&["status"]);
    let text = String::from_utf8(failed.stderr).unwrap();
    assert!(!failed.status.success() && text.contains("SIGHUP"), "{text}");
    service.uromd.signal(Signal::HUP);
    service.uromd.logged(&["made ", "/control again"]);
    assert!(service.prints(&["status"]).contains("serves"));
}

#[test]
fn sighup_of_a_terminal_that_is_closed_ends_the_service() {
    let terminal = rustix::pty::openpt(rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&terminal).unwrap();
    rustix::pty::unlockpt(&terminal).unwrap();
    let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap();
    let script = format!("exec \"$0\" \"$@\" <'{}'", name.to_str().unwrap());
    let mut uromd = Uromd::start_behind(&["sh", "-c", &script], &[], &[]);
    uromd.signal(Signal::HUP);
    assert!(uromd.wait().success());
}

#[test]
fn a_service_that_is_stopped_is_named_after_a_while() {
    let service = Operated::start();
    service.uromd.signal(Signal::STOP);
    let output = service.run(&["status"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("does not reply"), "{text}");
    service.uromd.signal(Signal::CONT);
    assert!(service.prints(&["status"]).contains("serves"));
}

#[test]
fn a_reload_without_plugins_or_log_fails_and_the_service_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (socket, logs) = (directory.path().join("control"), directory.path().join("logs"));
    fs::create_dir(&logs).unwrap();
    let log = logs.join("log");
    let args = ["--control", socket.to_str().unwrap(), "--log-file", log.to_str().unwrap()];
    let plugins = Plugins::obedient();
    let uromd = Uromd::start_with(&[plugins.path().to_str().unwrap()], &args);
    let service = Operated { uromd, directory };
    fs::rename(&logs, service.directory.path().join("moved")).unwrap();
    let failed = service.run(&["reload"]);
    let text = String::from_utf8(failed.stderr).unwrap();
    assert!(!failed.status.success() && text.contains("log file"), "{text}");
    // Also in a worker, whose lines go to standard error.
    let host = Client::connect(service.uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    fs::create_dir(&logs).unwrap();
    fs::remove_file(plugins.path().join("obedient.so")).unwrap();
    let failed = service.run(&["reload"]);
    let text = String::from_utf8(failed.stderr).unwrap();
    assert!(!failed.status.success() && text.contains("0 plugins found"), "{text}");
}

#[test]
fn what_is_not_a_command_is_refused_and_the_socket_goes_on() {
    let service = Operated::start();
    for bytes in [&b"stop\n"[..], b"{\"halt\":null}\n", b"\xff\xfe\n", &[b'['; 20_000]] {
        let mut stream = UnixStream::connect(service.socket()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut reply = String::new();
        match BufReader::new(&stream).read_line(&mut reply) {
            Ok(0) => assert!(bytes.starts_with(b"\xff"), "a line that is not text has no reply"),
            Ok(_) => assert!(reply.contains("this is not a command"), "{reply}"),
            // The service has closed the connection before it read all.
            Err(error) => assert!(bytes.len() > 16 << 10, "{error}"),
        }
    }
    let _silent = UnixStream::connect(service.socket()).unwrap();
    assert!(service.prints(&["status"]).contains("serves"));
}

#[test]
fn each_command_prints_its_own_help() {
    for (name, option) in [
        ("status", "--json"),
        ("top", "--sort"),
        ("drain", "--deadline"),
        ("reload", "--control"),
        ("check-config", "--config"),
    ] {
        for help in ["--help", "-h"] {
            let output = command().args([name, help]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{name} {help}");
            assert!(text.starts_with(&format!("uromd {name} [OPTIONS]\n")), "{text}");
            assert!(text.contains(option) && !text.contains("--max-msg-size"), "{text}");
        }
    }
}

#[test]
fn a_command_without_a_service_or_with_wrong_words_says_what_to_do() {
    for (words, code, parts) in [
        (&["status", "--control", "/no/socket"][..], 1, &["/no/socket", "--control"][..]),
        (&["drain", "--deadline", "soon"], 2, &["soon", "--help"]),
        (&["reload", "now"], 2, &["now"]),
        (&["status", "--bogus"], 2, &["--bogus", "See uromd status --help"]),
    ] {
        let output = command().args(words).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{words:?}: {text}");
    }
    let service = Operated::start();
    let socket = service.socket();
    let args = ["--listen", "127.0.0.1:0", "--control", socket.to_str().unwrap()];
    let mut second = command().args(args).stderr(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    second.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(!second.wait().unwrap().success() && text.contains("another uromd"), "{text}");
}
