//! `cargo urom run`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use urom_host::Service;
use urom_tests::PluginDirectory;
use urom_tests::c::Source;

use crate::common::{copy_of, tool};

const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
    pub(crate) address: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Running> {
        let mut child =
            command.args(["--listen", "127.0.0.1:0", "-l", "30"]).stdout(Stdio::piped()).spawn()?;
        let lines = lines_of(child.stdout.take().context("it has an output")?);
        let mut running = Running { child, lines, address: String::new() };
        let line = running.line()?;
        running.address =
            line.strip_prefix("listening on ").with_context(|| line.clone())?.to_owned();
        Ok(running)
    }

    fn line(&mut self) -> Result<String> {
        self.lines.recv_timeout(DEADLINE).context("it prints nothing more")
    }

    pub(crate) fn end(mut self, signal: Signal) -> Result<(Option<i32>, Vec<String>)> {
        kill_process(Pid::from_child(&self.child), signal)?;
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => rest.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Ok((self.child.wait()?.code(), rest));
                }
                Err(timeout) => bail!("it does not end: {timeout}"),
            }
        }
    }
}

fn lines_of(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        // The test may have stopped reading.
        BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn its_last_lines_are_written_before_it_ends() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    // Repeated: the thread that writes the lines may finish before the process ends.
    for _ in 0..6 {
        let log = tempfile::NamedTempFile::new()?;
        let mut tool = tool(["run", "--listen", "127.0.0.1:0"])?;
        tool.arg(plugins.path()).stdout(Stdio::piped()).stderr(log.reopen()?);
        let mut child = tool.spawn()?;
        let lines = lines_of(child.stdout.take().context("it has an output")?);
        while !lines.recv_timeout(DEADLINE)?.starts_with("listening on") {}
        kill_process(Pid::from_child(&child), Signal::INT)?;
        assert!(child.wait()?.success());
        let log = fs::read_to_string(log.path())?;
        assert!(log.contains("stopping the service; it has 0 workers\n"), "{log}");
    }
    Ok(())
}

#[test]
fn a_directory_is_served_to_hosts_until_a_signal() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_graph", "worker_sandbox"])?;
    for signal in [Signal::INT, Signal::TERM] {
        let mut running = Running::start(tool(["run"])?.arg(plugins.path()))?;
        assert_eq!(running.line()?, "serving worker_graph, version 1");
        assert_eq!(running.line()?, "serving worker_sandbox, version 1");
        assert_eq!(running.line()?, "Ctrl-C ends it");
        let service = Service::builder().address(&*running.address).connect_blocking()?;
        let graph = service.plugin::<graph_protocol::Protocol>()?;
        let worker = service.worker().plugin(&graph).start().wait()?;
        let answer = graph.task_loopback(&worker, 42).submit()?.wait()?;
        assert_eq!(answer.data, 42, "a worker is this program too, and answers");
        drop((worker, graph, service));
        assert_eq!(running.end(signal)?, (Some(0), Vec::new()));
    }
    Ok(())
}

#[test]
fn its_workers_are_shown_as_parts_of_the_tool() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_faulty"])?;
    let running = Running::start(tool(["run"])?.arg(plugins.path()))?;
    let service = Service::builder().address(&*running.address).connect_blocking()?;
    let faulty = service.plugin::<faulty_protocol::Protocol>()?;
    let worker = service.worker().plugin(&faulty).start().wait()?;
    let pid = faulty.task_pid(&worker).submit()?.wait()?.pid;
    let command_line = fs::read(format!("/proc/{pid}/cmdline"))?;
    assert!(command_line.starts_with(b"cargo-urom\0uromd\0worker\0"), "{command_line:?}");
    Ok(())
}

#[test]
fn one_file_is_served_alone() -> Result<()> {
    let directory = tempfile::tempdir()?;
    copy_of("worker_sandbox", directory.path(), "worker_sandbox.so")?;
    let file = copy_of("worker_graph", directory.path(), "worker_graph.so")?;
    let mut running = Running::start(tool(["run"])?.arg(&file))?;
    assert_eq!(running.line()?, "serving worker_graph, version 1");
    assert_eq!(running.line()?, "Ctrl-C ends it");
    assert_eq!(running.end(Signal::INT)?.0, Some(0));
    Ok(())
}

#[test]
fn a_plugin_in_c_finds_its_log_in_the_tool() -> Result<()> {
    let library = urom_tests::c::prefix()?.library_path();
    let file = Source::new("graph_plugin.c").plugin("worker_graph")?;
    let mut running = Running::start(tool(["run"])?.arg(&file).env("LD_LIBRARY_PATH", library))?;
    assert_eq!(running.line()?, "serving worker_graph, version 1");
    assert_eq!(running.end(Signal::TERM)?.0, Some(0));
    Ok(())
}

#[test]
fn a_directory_without_plugins_is_served_with_a_warning() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut command = tool(["run"])?;
    command.arg(directory.path()).stderr(Stdio::piped());
    let mut running = Running::start(&mut command)?;
    let said = lines_of(running.child.stderr.take().context("it has an error output")?);
    while !said.recv_timeout(DEADLINE).context("no warning")?.contains("it lacks plugins") {}
    assert_eq!(running.end(Signal::INT)?.0, Some(0));
    Ok(())
}
