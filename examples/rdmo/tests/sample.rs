//! Both ends and their output, on an embedded service and on `uromd`.

use anyhow::Result;
use urom_tests::program::{Ended, LONG, Running, program};
use urom_tests::{PluginDirectory, Uromd};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rdmo");

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

struct Server {
    running: Running,
    port: String,
}

impl Server {
    fn start(plugins: &PluginDirectory, arguments: &[&str]) -> Result<Server> {
        let mut command = program(PROGRAM, plugins);
        command.args(["-m", "server", "--port", "0"]).args(arguments);
        let mut running = Running::start(command)?;
        let line = running.prints("Listening on port ")?;
        let port = line.rsplit(' ').next().unwrap_or_default().to_owned();
        Ok(Server { running, port })
    }

    /// Runs the client, without plugins, until both have ended.
    fn serves(self, arguments: &[&str]) -> Result<(Vec<String>, Ended)> {
        let mut command = program(PROGRAM, &PluginDirectory::with(&[])?);
        command.args(["-m", "client", "-s", "localhost", "-p", &self.port]).args(arguments);
        let client = Running::start(command)?.end(LONG)?.succeeded();
        Ok((client, self.running.end(LONG)?))
    }
}

/// Compares a line with a pattern: `N` is a number, `P` a pointer.
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

fn are_like(lines: &[String], expected: &[&str]) {
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
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
        let (client, server) = Server::start(&plugins, arguments)?.serves(&[])?;
        are_like(&client, &CLIENT);
        // The first two lines precede the listening line.
        are_like(&server.succeeded(), &SERVER[2..]);
    }
    Ok(())
}

/// A plugin with only DOCA's interface, which lacks shared memory.
#[test]
fn a_plugin_without_shared_memory_has_the_server_register_it() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdmo"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.arg("--plain-doca"))?;
    let (_, server) = Server::start(&plugins, &["--service", daemon.address()])?.serves(&[])?;
    assert!(server.errors.contains("the plugin cannot use shared memory"), "{}", server.errors);
    are_like(&server.succeeded(), &SERVER[2..]);
    Ok(())
}

#[test]
fn appends_of_each_size_have_a_line_of_sound_figures() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdmo"])?;
    for arguments in [&["--perf"][..], &["--perf", "--registered"]] {
        let server = Server::start(&plugins, arguments)?;
        let (lines, server) = server.serves(&["--perf", "--time", "1"])?;
        let table: Vec<_> = lines.iter().skip_while(|line| !line.contains("appends/s")).collect();
        let sizes = ["64", "256", "1024", "4096", "16384", "65536"];
        assert_eq!(table.len(), 1 + sizes.len(), "{lines:?}");
        for (line, size) in table[1..].iter().zip(sizes) {
            let cells: Vec<_> = line.split_whitespace().collect();
            let figures: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
            assert!(cells[0] == size && figures.len() == 4, "{line}");
            assert!(figures.iter().all(|figure| *figure > 0.0), "{line}");
        }
        server.succeeded();
    }
    Ok(())
}

#[test]
fn a_client_that_dies_ends_the_server_with_a_reason() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdmo"])?;
    let Server { running, port } = Server::start(&plugins, &[])?;
    drop(std::net::TcpStream::connect(("localhost", port.parse::<u16>()?))?);
    running.end(LONG)?.failed_saying("rdmo server: the other process is lost");
    Ok(())
}

#[test]
fn options_that_are_missing_are_named() -> Result<()> {
    for (arguments, missing) in [(&["--mode", "client"][..], "--server-name"), (&[], "--mode")] {
        let mut command = program(PROGRAM, &PluginDirectory::with(&[])?);
        command.args(arguments);
        let errors = Running::start(command)?.end(LONG)?.errors;
        assert!(errors.contains(missing), "{errors}");
    }
    Ok(())
}
