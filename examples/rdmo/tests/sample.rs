//! Both ends, with what they print, on an embedded service and on `uromd`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use anyhow::{Context, Result};
use urom_tests::{PluginDirectory, Uromd};

const SERVER: [&str; 11] = [
    "Created server UCP Worker",
    "Initialized RDMO client (host addr len: N, dev addr len: N)",
    "Server received remote data, length: N",
    "Received host addr (len: N)",
    "Created RQ: 0",
    "Allocated rkey: N",
    "Sent rkey N and queue pointer P",
    "Append operation was finished successfully",
    "Scatter operation was finished successfully",
    "Deallocated rkey: N",
    "Destroyed RQ for ID: 0",
];

const CLIENT: [&str; 15] = [
    "Created client UCP Worker",
    "Client received remote data, length: N",
    "Received dev addr (len: N)",
    "Created initiator EP: P",
    "Client received remote data, length: 16",
    "Received rkey N and queue pointer P",
    "Send buffer contains [3] char",
    "RDMO Append complete",
    "Sent flush request",
    "Received AM Reply, ID: 0xbeef",
    "Flush complete",
    "RDMO Scatter complete",
    "Sent flush request",
    "Received AM Reply, ID: 0xbeef",
    "Flush complete",
];

/// A server, which is killed when the test is over.
struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    port: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmo"));
    command.env_remove("DOCA_UROM_SERVICE_FILE").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Server {
    fn start(plugins: &PluginDirectory, arguments: &[&str]) -> Result<Server> {
        let mut command = program();
        command.args(["-m", "server", "--port", "0"]).args(arguments);
        let mut child = command.env("UROM_PLUGIN_PATH", plugins.variable()).spawn()?;
        let output = child.stdout.take().context("it is piped")?;
        let mut server = Server { child, output: BufReader::new(output), port: String::new() };
        let mut line = String::new();
        while server.port.is_empty() {
            line.clear();
            if server.output.read_line(&mut line)? == 0 {
                let mut why = String::new();
                server.child.stderr.take().context("piped")?.read_to_string(&mut why)?;
                anyhow::bail!("it never listens: {why}");
            }
            let port = line.trim().strip_prefix("Listening on port ");
            server.port = port.unwrap_or_default().to_owned();
        }
        Ok(server)
    }

    fn client(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = program();
        command.args(["-m", "client", "-s", "localhost", "-p", &self.port]);
        Ok(command.args(arguments).output()?)
    }

    /// What it printed after it listened.
    fn end(mut self) -> Result<(Option<i32>, String)> {
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        Ok((self.child.wait()?.code(), text))
    }
}

/// Whether a line is as expected: `N` is a number, `P` a pointer.
fn is_like(line: &str, expected: &str) -> bool {
    let number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut words = line.split_whitespace();
    let alike = expected.split_whitespace().all(|expected| {
        let word = words.next().unwrap_or_default();
        let (word, end) = match expected.strip_prefix('N') {
            Some(end) => (word.strip_suffix(end).unwrap_or_default(), true),
            None => (word, false),
        };
        match expected {
            "P" => word.starts_with("0x"),
            _ if end => number(word),
            _ => word == expected,
        }
    });
    alike && words.next().is_none()
}

fn are_like(text: &str, expected: &[&str]) {
    // UCX logs to standard output.
    let lines: Vec<_> = text.lines().filter(|line| !line.contains(" UCX  ")).collect();
    assert_eq!(lines.len(), expected.len(), "{text}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(is_like(line, expected), "{line:?} instead of {expected:?}");
    }
}

#[test]
fn both_ends_print_what_those_of_doca_do() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdmo"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    let on_daemon = ["--service", daemon.address(), "--registered"];
    for arguments in [&[][..], &on_daemon[..2], &on_daemon[2..], &on_daemon] {
        let server = Server::start(&plugins, arguments)?;
        let client = server.client(&[])?;
        let errors = String::from_utf8_lossy(&client.stderr);
        assert!(client.status.success(), "{errors}");
        are_like(&String::from_utf8_lossy(&client.stdout), &CLIENT);
        let (code, text) = server.end()?;
        assert_eq!(code, Some(0), "{text}");
        // The first two lines come before it listens.
        are_like(&text, &SERVER[2..]);
    }
    Ok(())
}

/// A plugin that has DOCA's interface alone, which shared memory is no part of.
#[test]
fn a_plugin_without_shared_memory_has_the_server_register_it() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdmo"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.arg("--plain-doca"))?;
    let mut server = Server::start(&plugins, &["--service", daemon.address()])?;
    let mut log = server.child.stderr.take().context("it is piped")?;
    let client = server.client(&[])?;
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stderr));
    let (code, text) = server.end()?;
    let mut errors = String::new();
    log.read_to_string(&mut errors)?;
    assert_eq!(code, Some(0), "{text}{errors}");
    assert!(errors.contains("the plugin cannot use shared memory"), "{errors}");
    are_like(&text, &SERVER[2..]);
    Ok(())
}

#[test]
fn appends_of_each_size_have_a_line_of_sound_figures() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdmo"])?;
    for arguments in [&["--perf"][..], &["--perf", "--registered"]] {
        measures(Server::start(&plugins, arguments)?)?;
    }
    Ok(())
}

fn measures(server: Server) -> Result<()> {
    let client = server.client(&["--perf", "--time", "1"])?;
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stderr));
    let text = String::from_utf8_lossy(&client.stdout).into_owned();
    let table: Vec<_> = text.lines().skip_while(|line| !line.contains("appends/s")).collect();
    let sizes = ["64", "256", "1024", "4096", "16384", "65536"];
    assert_eq!(table.len(), 1 + sizes.len(), "{text}");
    for (line, size) in table[1..].iter().zip(sizes) {
        let cells: Vec<_> = line.split_whitespace().collect();
        let figures: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
        assert!(cells[0] == size && figures.len() == 4, "{line}");
        assert!(figures.iter().all(|figure| *figure > 0.0), "{line}");
    }
    assert_eq!(server.end()?.0, Some(0));
    Ok(())
}

#[test]
fn a_client_that_dies_ends_the_server_with_a_reason() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdmo"])?;
    let mut server = Server::start(&plugins, &[])?;
    drop(std::net::TcpStream::connect(("localhost", server.port.parse::<u16>()?))?);
    let mut why = String::new();
    server.child.stderr.take().context("it is piped")?.read_to_string(&mut why)?;
    assert!(why.contains("rdmo server: the other process is lost"), "{why}");
    assert_eq!(server.end()?.0, Some(1));
    Ok(())
}

#[test]
fn a_client_without_a_server_is_told_what_is_missing() -> Result<()> {
    let client = program().args(["--mode", "client"]).output()?;
    let errors = String::from_utf8_lossy(&client.stderr);
    assert!(errors.contains("--server-name"), "{errors}");
    let neither = program().output()?;
    let errors = String::from_utf8_lossy(&neither.stderr);
    assert!(errors.contains("--mode"), "{errors}");
    Ok(())
}
