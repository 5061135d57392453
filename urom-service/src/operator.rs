//! `uromd status`, `drain`, `reload` and `record`: an operator's commands to a running service.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

use crate::commands::has_option;
use urom_wire::control::RecordingTarget;

use crate::daemon::program::socket_path;
use crate::daemon::{OperatorCommand, OperatorReply, ServiceStatus};

/// The control socket of these commands, if neither `--control` nor the variable names one.
const SOCKET: &str = "/run/uromd/control";

const SOCKET_VARIABLE: &str = "UROM_CONTROL";

/// The limit of a worker's file in bytes, if `--limit` names none.
const MOST_RECORDED: u64 = 1 << 30;

/// Time limit for the reply of a service that runs.
const REPLY: Duration = Duration::from_secs(10);

/// A parsed command of an operator.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    command: OperatorCommand,
    socket: PathBuf,
    json: bool,
}

impl Operation {
    /// Reads the words after `uromd`; `None` if the first is not an operator's command.
    pub(crate) fn read(words: &[OsString]) -> Option<Result<Operation, String>> {
        let name = words.first()?.to_str()?;
        let command = match name {
            "status" => OperatorCommand::Status,
            "drain" => OperatorCommand::Drain { deadline: None },
            "reload" => OperatorCommand::Reload,
            "record" => OperatorCommand::Record { target: None },
            _ => return None,
        };
        Some(Operation::with(name, command, &words[1..]).map_err(|error| error.to_string()))
    }

    fn with(
        name: &str,
        mut command: OperatorCommand,
        words: &[OsString],
    ) -> Result<Operation, lexopt::Error> {
        let mut socket = control_socket();
        let (mut json, mut stops, mut parser) = (false, false, Parser::from_args(words));
        while let Some(word) = parser.next()? {
            match (word, &mut command) {
                (Arg::Value(directory), OperatorCommand::Record { target }) if target.is_none() => {
                    *target = Some(RecordingTarget {
                        directory: std::path::absolute(directory)
                            .map_err(|error| error.to_string())?,
                        limit: MOST_RECORDED,
                        plugins: Vec::new(),
                        memory: false,
                    });
                }
                (word, _) if !has_option(name, &word) => return Err(word.unexpected()),
                (Arg::Long("stop"), OperatorCommand::Record { target: None }) => stops = true,
                (Arg::Long("plugin"), OperatorCommand::Record { target: Some(target) }) => {
                    target.plugins.push(parser.value()?.string()?);
                }
                (Arg::Long("limit"), OperatorCommand::Record { target: Some(target) }) => {
                    target.limit = parser.value()?.parse()?;
                }
                (Arg::Long("memory"), OperatorCommand::Record { target: Some(target) }) => {
                    target.memory = true;
                }
                (Arg::Long("control"), _) => socket = parser.value()?.into(),
                (Arg::Long("json"), _) => json = true,
                (Arg::Long("deadline"), OperatorCommand::Drain { deadline }) => {
                    *deadline = Some(parser.value()?.parse()?);
                }
                (Arg::Long("plugin" | "limit" | "memory"), OperatorCommand::Record { .. }) => {
                    return Err("name the directory before its options".into());
                }
                (other, _) => return Err(other.unexpected()),
            }
        }
        if let OperatorCommand::Record { target } = &command
            && target.is_none() != stops
        {
            return Err("name a directory first, or --stop".into());
        }
        Ok(Operation { command, socket, json })
    }

    /// Sends the command, and returns the text of its success.
    ///
    /// # Errors
    /// The service cannot be reached, or its reason.
    pub(crate) fn run(&self) -> Result<String, String> {
        // A drain waits for hosts.
        let is_drain = matches!(self.command, OperatorCommand::Drain { .. });
        match ask(&self.socket, &self.command, (!is_drain).then_some(REPLY))? {
            OperatorReply::Status(status) if self.json => {
                Ok(serde_json::to_string_pretty(&status).map_err(|error| error.to_string())? + "\n")
            }
            OperatorReply::Status(status) => Ok(table(&status)),
            OperatorReply::Done(text) => Ok(text + "\n"),
            OperatorReply::Failed(text) => Err(text),
        }
    }
}

/// Returns the control socket if no option names another.
pub(crate) fn control_socket() -> PathBuf {
    let socket = std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty());
    PathBuf::from(socket.unwrap_or_else(|| SOCKET.into()))
}

/// Sends a command. `time` limits the wait for each part of the reply.
///
/// # Errors
/// The service cannot be reached, or does not reply in time.
pub(crate) fn ask(
    socket: &Path,
    command: &OperatorCommand,
    time: Option<Duration>,
) -> Result<OperatorReply, String> {
    let shown = socket.display();
    socket_path(socket.as_os_str()).map_err(|why| {
        format!("invalid path '{shown}' of --control or {SOCKET_VARIABLE}: {why}")
    })?;
    request(socket, command, time).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => format!(
            "no service listens at {shown}: start uromd with --control {shown}, or name its \
             socket with --control or {SOCKET_VARIABLE}; a uromd that runs makes a removed socket \
             again at SIGHUP"
        ),
        ErrorKind::PermissionDenied => {
            format!("{shown} is for root and the service's user: {error}")
        }
        ErrorKind::WouldBlock => {
            format!("{shown}: the service does not reply; its process is stopped or overloaded")
        }
        _ => format!("{shown}: {error}"),
    })
}

fn request(
    socket: &Path,
    command: &OperatorCommand,
    time: Option<Duration>,
) -> io::Result<OperatorReply> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(time)?;
    stream.write_all((serde_json::to_string(command)? + "\n").as_bytes())?;
    let mut line = String::new();
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Err(io::Error::other("the service has ended"));
    }
    Ok(serde_json::from_str(&line)?)
}

fn table(status: &ServiceStatus) -> String {
    let ServiceStatus { version, ucx, address, hosts, workers, commands, .. } = status;
    let state = if status.draining { "drains" } else { "serves" };
    let mut text = format!(
        "uromd {version} with UCX {ucx} {state} {address} with {} hosts and {} workers\n",
        hosts.len(),
        workers.len()
    );
    let rows = workers.iter().map(|worker| {
        vec![
            worker.id.clone(),
            worker.state.clone(),
            worker.hosts.to_string(),
            worker.commands.to_string(),
            worker.unread.to_string(),
            worker.memory.to_string(),
            worker.plugins.join(" "),
        ]
    });
    let head = ["WORKER", "STATE", "HOSTS", "COMMANDS", "UNREAD", "MEMORY", "PLUGINS"];
    columns(&mut text, &head, rows.collect());
    let time = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), duration);
    let rows = commands.iter().map(|command| {
        vec![
            command.plugin.clone(),
            command.command.clone(),
            command.received.to_string(),
            command.in_flight.to_string(),
            command.failed.to_string(),
            time(command.p50),
            time(command.p99),
        ]
    });
    let head = ["PLUGIN", "COMMAND", "RECEIVED", "IN FLIGHT", "FAILED", "P50", "P99"];
    columns(&mut text, &head, rows.collect());
    text
}

/// Adds a table with left-aligned columns, two spaces apart. Without rows it adds nothing.
pub(crate) fn columns(text: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    let all: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    let mut widths = vec![0; all[0].len()];
    for row in &all {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.len().max(*width));
    }
    text.push('\n');
    for row in &all {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A duration as `600 ns`, `1.2 us`, `35 ms` or `2 s`.
pub(crate) fn duration(seconds: f64) -> String {
    let scales = [(1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")];
    let (factor, unit) = scales
        .iter()
        .find(|(below, ..)| seconds < *below)
        .map_or((1.0, "s"), |(_, factor, unit)| (*factor, *unit));
    let value = seconds * factor;
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Option<Result<Operation, String>> {
        Operation::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn commands_take_their_own_options() {
        let drain = read(&["drain", "--deadline", "30", "--control=/c"]).unwrap().unwrap();
        assert_eq!(drain.command, OperatorCommand::Drain { deadline: Some(30) });
        assert_eq!(drain.socket, Path::new("/c"));
        assert!(read(&["status", "--json"]).unwrap().unwrap().json);
        assert_eq!(read(&["--listen", "status"]), None);
        for wrong in [
            &["status", "--deadline", "3"][..],
            &["reload", "--json"],
            &["drain", "--deadline", "soon"],
            &["drain", "--deadline"],
            &["status", "more"],
        ] {
            assert!(read(wrong).unwrap().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn durations_have_a_unit_that_suits_them() {
        for (seconds, text) in [
            (256e-9, "256 ns"),
            (1.024e-6, "1.0 us"),
            (0.035, "35 ms"),
            (2.0, "2.0 s"),
            (17.2, "17 s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn a_service_that_is_not_there_is_named_with_the_option() {
        let operation = read(&["status", "--control", "/no/socket"]).unwrap().unwrap();
        let error = operation.run().unwrap_err();
        assert!(error.contains("/no/socket") && error.contains("--control"), "{error}");
        for (path, part) in [("", "expected a path"), (&*"s".repeat(108), "107")] {
            let error = read(&["status", "--control", path]).unwrap().unwrap().run().unwrap_err();
            assert!(error.contains("--control") && error.contains(part), "{error}");
        }
    }
}
