//! `cargo xtask demo`: starts the service, runs the examples, and stops the service.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process::GuardedChild;
use crate::steps;
use crate::workspace::{Purpose, Workspace};
use crate::{debian, plugins, setup, shell};

const START_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(10);

const LISTENING: &str = "uromd: listening on ";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    eprintln!("demo, 1 of 3: set-up; then the build, about two minutes on two cores, and the run");
    let launcher = debian::missing(&[&debian::MPI_LAUNCHER])?;
    setup::run(workspace, None)?;
    // Only the run needs MPI's launcher.
    let directory = thread::scope(|scope| {
        let installed = scope.spawn(|| launcher.install());
        let built = shell::timed("demo, 2 of 3: build", || plugins::build_for_use(workspace, None));
        installed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        built
    })?;

    eprintln!("demo, 3 of 3: run");
    let log = directory.join("uromd-demo.log");
    let (control, metrics) = (directory.join("uromd-demo.control"), steps::free_endpoint()?);
    let mut service = service(&directory);
    service.arg("--control").arg(&control).args(["--metrics", &metrics]);
    service
        .stderr(File::create(&log).with_context(|| format!("could not create {}", log.display()))?);
    let run = |address: &str| {
        steps::all(&directory, address)?.into_iter().try_for_each(steps::run)?;
        let mut status = Command::new(directory.join("uromd"));
        status.args(["status", "--control"]).arg(&control);
        steps::run(vec![status])?;
        show_metrics(&metrics)
    };
    let recordings = tempfile::tempdir().context("no temporary directory")?;
    service.arg("--record").arg(recordings.path()).args(["--record-plugin", "worker_graph"]);
    if let Err(error) = serve_and_run(service, run) {
        let text = fs::read_to_string(&log).unwrap_or_default();
        eprintln!("--- uromd's log ({}):\n{text}---", log.display());
        return Err(error);
    }
    replay(&directory, recordings.path())?;
    println!("demo: ok");
    Ok(())
}

/// Replays the first recording that the demo made to the plugin that answered it.
fn replay(directory: &Path, recordings: &Path) -> Result<()> {
    let mut files: Vec<_> = fs::read_dir(recordings)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::path);
    let file = files.first().context("the demo made no recording")?;
    let mut replay = Command::new(directory.join("cargo-urom"));
    replay.args(["urom", "replay"]).arg(file.path());
    replay.arg(directory.join(Purpose::Use.directory()).join("worker_graph.so"));
    steps::run(vec![replay])
}

pub(crate) fn service(directory: &Path) -> Command {
    let mut service = Command::new(directory.join("uromd"));
    service.env("UROM_PLUGIN_PATH", directory.join(Purpose::Use.directory()));
    service
}

/// Prints the counts of commands, as a monitoring system gets them.
fn show_metrics(address: &str) -> Result<()> {
    eprintln!("$ curl http://{address}/metrics | grep ^urom_commands_total");
    let mut stream = TcpStream::connect(address).context("the metrics of uromd")?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: demo\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let counts: Vec<_> =
        answer.lines().filter(|line| line.starts_with("urom_commands_total")).collect();
    ensure!(!counts.is_empty(), "no counts of commands in:\n{answer}");
    counts.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Starts `service`, calls `run` with its address, and stops the service.
pub(crate) fn serve_and_run(
    mut service: Command,
    run: impl FnOnce(&str) -> Result<()>,
) -> Result<()> {
    service.args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
    eprintln!("$ {} &", shell::display(&service));
    let mut service = GuardedChild::start(&mut service)?;
    let address = listening_address(&mut service)?;
    run(&address)?;

    let status = service.terminate(STOP_LIMIT).context("uromd was asked to stop")?;
    if !status.success() {
        bail!("uromd was asked to stop and failed: {status}");
    }
    Ok(())
}

fn listening_address(service: &mut GuardedChild) -> Result<String> {
    let output = service.child.stdout.take().context("uromd's output is not piped")?;
    let (sender, lines) = mpsc::channel();
    // Reads to the end: otherwise uromd would block on a full pipe or fail on a closed pipe.
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.for_each(|line| _ = sender.send(line));
    });
    match lines.recv_timeout(START_LIMIT) {
        Ok(line) => parse_listening(&line).map(str::to_owned),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            bail!("uromd did not listen within {} s", START_LIMIT.as_secs())
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let status = service.wait(STOP_LIMIT)?;
            bail!("uromd ended before it listened: {status}")
        }
    }
}

fn parse_listening(line: &str) -> Result<&str> {
    match line.strip_prefix(LISTENING).map(str::trim) {
        Some(address) if !address.is_empty() => Ok(address),
        _ => bail!("uromd printed `{line}` where `{LISTENING}ADDRESS` was expected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_has_the_address_or_is_shown() {
        for (line, address) in [
            ("uromd: listening on 127.0.0.1:4711", "127.0.0.1:4711"),
            ("uromd: listening on [::1]:4711\r", "[::1]:4711"),
        ] {
            assert_eq!(parse_listening(line).ok(), Some(address));
        }
        for line in ["", "uromd: listening on ", "warning: something"] {
            let error = parse_listening(line).expect_err("no address in it");
            assert!(error.to_string().contains(line), "{error}");
        }
    }

    fn program(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]);
        command
    }

    #[test]
    fn a_service_or_a_step_that_fails_is_reported_with_its_status() {
        let listens = |end: &str| {
            format!(
                "trap '{end}' TERM; echo 'uromd: listening on 127.0.0.1:4711'; sleep 1000 & wait"
            )
        };
        for (service, steps, status) in [
            ("exit 9".to_owned(), vec![], 9),
            (listens("exit 4"), vec![], 4),
            (listens("exit 0"), vec!["exit 3", "exit 5"], 3),
        ] {
            let run = |_: &str| {
                steps.into_iter().try_for_each(|script| steps::run(vec![program(script)]))
            };
            let error = serve_and_run(program(&service), run).expect_err("one fails");
            assert!(error.to_string().contains(&format!("exit status: {status}")), "{error}");
        }
    }
}
