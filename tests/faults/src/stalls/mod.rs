//! What would stall a daemon whose loop waits for anything: a slow file system, a log that nobody reads, a crowd, a pause.

pub(crate) mod crowd;
mod held;

use std::ffi::OsStr;
use std::io::PipeReader;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use urom_tests::{PluginDirectory, Uromd};
use urom_wire::key::Key;

use self::crowd::Crowd;
use crate::ending::wait_for_end;
use crate::host::{Call, Kind, Order};
use crate::process::{
    HostProcess, Logs, PATIENCE, Transports, set_up_daemon, signal, start_daemon,
};
use crate::suite::{Extent, Figure, Outcome};

/// Longer than anybody's patience with a peer that is silent.
const STALL: Duration = Duration::from_millis(4500);

/// How long a daemon may take to end.
const END: Duration = Duration::from_secs(5);

const FAULTY: &str = "worker_faulty";

const ONE: u64 = 1;
const TWO: u64 = 2;

/// Runs the suite.
pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let logs = Logs::new()?;
    let many = extent.pick(200, 400);
    let all = || -> Result<_> {
        slow_files(&logs).context("a slow file system")?;
        slow_directory(&logs).context("a slow directory of the plugin path")?;
        unread_log(many, &logs).context("a log that nobody reads")?;
        paused(&logs).context("a pause of everybody")?;
        let took = crowd(many, &logs).context("a crowd with a key")?;
        hung_up(&logs).context("SIGHUP")?;
        Ok(took)
    };
    let took = all().with_context(|| logs.tails())?;
    let note = "from the first that came to a stopped daemon to the last welcome";
    let figure = Figure::new(format!("stalls/crowd-{many}"), "s", took.as_secs_f64(), note);
    Ok(Outcome::Passed { done: format!("{many} hosts"), figures: vec![figure] })
}

/// Looking at a plugin's file takes longer than anybody's patience: only who wants that file waits.
fn slow_files(logs: &Logs) -> Result<()> {
    let plugins = PluginDirectory::with(&[FAULTY])?;
    let (log, mut asked) = (logs.file("uromd")?, None);
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        asked = Some(held::ask(command));
        set_up_daemon(command, Transports::All).stderr(log)
    });
    let mut held = asked.context("no command")??.answer(FAULTY)?;
    let daemon = daemon?;
    let mut host = HostProcess::start("host", &[], Transports::All, logs.file("host")?)?;
    host.connect(daemon.address())?;
    host.start_worker(ONE)?;
    host.load(ONE, Kind::Busy, 4, 1)?;
    host.pass(ONE, 100)?;
    let mut other = HostProcess::start("other", &[], Transports::All, logs.file("other")?)?;
    other.connect(daemon.address())?;
    held.hold();
    other.tell(&Order::Start { worker: TWO, plugins: Vec::new(), env: Vec::new() })?;
    held.wait(PATIENCE)?;
    let begin = Instant::now();
    while begin.elapsed() < STALL {
        host.pass(ONE, 1000)?;
    }
    held.release()?;
    let second = other.started(PATIENCE, TWO)?;
    ensure!(second.is_ok(), "worker {TWO}: {second:?}");
    host.halt(ONE)?;
    daemon.stop()?;
    Ok(())
}

/// Looking at a directory of the plugin path takes for ever: hosts get the plugins of the others.
fn slow_directory(logs: &Logs) -> Result<()> {
    let (slow, quick) = (PluginDirectory::with(&[FAULTY])?, PluginDirectory::with(&[FAULTY])?);
    let path = [slow.variable(), quick.variable()].join(OsStr::new(";"));
    let (log, mut asked) = (logs.file("uromd")?, None);
    let daemon = Uromd::start_with(path, |command| {
        asked = Some(held::ask(command));
        set_up_daemon(command, Transports::All).stderr(log)
    });
    let held = asked.context("no command")??.answer(&slow.variable().to_string_lossy())?;
    let daemon = daemon?;
    held.hold();
    for worker in [ONE, TWO] {
        let mut host = HostProcess::start("host", &[], Transports::All, logs.file("host")?)?;
        host.connect(daemon.address())?;
        host.start_worker(worker)?;
        let (end, _) = host.call(worker, Call::Echo(5), PATIENCE)?;
        ensure!(end == Ok(5), "{end:?}");
    }
    held.wait(Duration::ZERO).context("hosts came in, and nothing was slow")?;
    ends_in_order(daemon, "a daemon with a slow directory")
}

/// Nobody reads what the daemon and its workers log, and they log much.
fn unread_log(many: usize, logs: &Logs) -> Result<()> {
    let plugins = PluginDirectory::with(&[FAULTY])?;
    let (_unread, log): (PipeReader, _) = std::io::pipe()?;
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        set_up_daemon(command, Transports::All).args(["--log-level", "70"]).stderr(log)
    })?;
    let address: SocketAddr = daemon.address().parse()?;
    for _ in 0..4 {
        Crowd::come(address, None, many, || Ok(()))?;
    }
    let mut host = HostProcess::start("unread", &[], Transports::All, logs.file("unread")?)?;
    host.connect(daemon.address())?;
    host.start_worker(ONE)?;
    let (end, _) = host.call(ONE, Call::Echo(5), PATIENCE)?;
    ensure!(end == Ok(5), "{end:?}");
    ends_in_order(daemon, "a daemon whose log nobody reads")
}

/// At SIGTERM.
fn ends_in_order(daemon: Uromd, what: &str) -> Result<()> {
    let pid = daemon.pid();
    daemon.signal(Signal::TERM)?;
    let gone = std::thread::spawn(move || daemon.wait());
    wait_for_end(pid, END, what)?;
    let status = gone.join().map_err(|_| anyhow::anyhow!("a panic"))??;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// Daemon, worker and host are stopped together, as with their machine, for longer than anybody's patience.
fn paused(logs: &Logs) -> Result<()> {
    for transports in [Transports::All, Transports::Tcp] {
        let plugins = PluginDirectory::with(&[FAULTY])?;
        let daemon = start_daemon(&plugins, transports, logs)?;
        let mut host = HostProcess::start("paused", &[], transports, logs.file("paused")?)?;
        host.connect(daemon.address())?;
        let worker = host.start_worker(ONE)?;
        host.load(ONE, Kind::Busy, 4, 1)?;
        host.pass(ONE, 100)?;
        let all: [Pid; 3] = [host.pid(), worker, daemon.pid()];
        for _ in 0..2 {
            all.iter().try_for_each(|pid| signal(*pid, Signal::STOP))?;
            // It is the time that counts.
            std::thread::sleep(STALL);
            all.iter().try_for_each(|pid| signal(*pid, Signal::CONT))?;
            host.pass(ONE, 100)?;
        }
        host.halt(ONE)?;
        daemon.stop()?;
    }
    Ok(())
}

/// Hosts with a key come while the daemon does not run: nobody is hung up on.
fn crowd(many: usize, logs: &Logs) -> Result<Duration> {
    let keys = TempDir::new()?;
    let file = key_file(&keys)?;
    let (plugins, log) = (PluginDirectory::with(&[FAULTY])?, logs.file("uromd")?);
    let daemon = Uromd::start_with(plugins.variable(), |command: &mut Command| {
        set_up_daemon(command, Transports::All).arg("--key-file").arg(&file).stderr(log)
    })?;
    let key = Key::read(&file)?;
    signal(daemon.pid(), Signal::STOP)?;
    let go_on = || signal(daemon.pid(), Signal::CONT);
    let (mut crowd, took) = Crowd::come(daemon.address().parse()?, Some(&key), many, go_on)?;
    crowd.is_there()?;
    daemon.stop()?;
    Ok(took)
}

/// A new key in a file that only this user reads.
pub(crate) fn key_file(directory: &TempDir) -> Result<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let file = directory.path().join("key");
    std::fs::write(&file, [7; 32])?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// The terminal's end stops daemon and workers in order, unless they were started to outlive it.
fn hung_up(logs: &Logs) -> Result<()> {
    for outlives in [false, true] {
        let (plugins, log) = (PluginDirectory::with(&[FAULTY])?, logs.file("hung-up")?);
        let daemon = Uromd::start_with(plugins.variable(), |command| {
            if outlives {
                use std::os::unix::process::CommandExt;
                // SAFETY: between fork and exec the closure makes one plain system call.
                unsafe { command.pre_exec(ignore_hangup) };
            }
            set_up_daemon(command, Transports::All).stderr(log)
        })?;
        let mut host =
            HostProcess::start("hung-up-host", &[], Transports::All, logs.file("hung-up-host")?)?;
        host.connect(daemon.address())?;
        let (one, two) = (host.start_worker(ONE)?, host.start_worker(TWO)?);
        let pid = daemon.pid();
        // A worker alone, then all.
        signal(one, Signal::HUP)?;
        if !outlives {
            wait_for_end(one, END, "a worker that was hung up")?;
        }
        let (end, _) = host.call(TWO, Call::Echo(5), PATIENCE)?;
        ensure!(end == Ok(5), "{end:?}");
        signal(pid, Signal::HUP)?;
        if outlives {
            let (end, _) = host.call(ONE, Call::Echo(6), PATIENCE)?;
            ensure!(end == Ok(6), "{end:?}");
            ensure!(daemon.stop()?.success(), "it ends in order at SIGTERM");
        } else {
            let gone = std::thread::spawn(move || daemon.wait());
            wait_for_end(pid, END, "a daemon that was hung up")?;
            let status = gone.join().map_err(|_| anyhow::anyhow!("a panic"))??;
            ensure!(status.success(), "{status}");
            wait_for_end(two, END, "its worker")?;
        }
    }
    Ok(())
}

fn ignore_hangup() -> std::io::Result<()> {
    // SAFETY: no handler is set.
    match unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}
