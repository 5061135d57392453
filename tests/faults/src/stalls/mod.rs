//! Causes that would stall a waiting daemon: slow files, an unread log, a crowd, a pause.

mod held;

use std::ffi::OsStr;
use std::io::PipeReader;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use urom_tests::{PluginDirectory, Uromd};
use urom_wire::key::Key;

use crate::crowd::Crowd;
use crate::ending::wait_for_end;
use crate::host::{Call, Kind};
use crate::process::{HostProcess, TIMEOUT, signal};
use crate::service::{FAULTY, Logs, Service, key_file};
use crate::suite::{Extent, Figure, Outcome};
use crate::transports::{Transports, set_up_daemon};

/// Above all timeouts for a silent peer.
const STALL: Duration = Duration::from_millis(4500);

const END: Duration = Duration::from_secs(5);

const ONE: u64 = 1;
const TWO: u64 = 2;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let logs = Logs::new()?;
    let many = extent.pick(200, 400);
    let all = || -> Result<_> {
        slow_files(&logs).context("a slow file system")?;
        slow_directory(&logs).context("a slow directory of the plugin path")?;
        unread_log(many, &logs).context("a log that is not read")?;
        paused(&logs).context("a pause of all processes")?;
        let took = crowd(many, &logs).context("a crowd with a key")?;
        hung_up(&logs).context("SIGHUP")?;
        Ok(took)
    };
    let took = all().with_context(|| logs.tails())?;
    let note = "from the first that came to a stopped daemon to the last welcome";
    let figure = Figure::new(format!("stalls/crowd-{many}"), "s", took.as_secs_f64(), note);
    Ok(Outcome::Passed { done: format!("{many} hosts"), figures: vec![figure] })
}

/// A look-up of a plugin's file exceeds all timeouts: only hosts that need the file wait.
fn slow_files(logs: &Logs) -> Result<()> {
    let mut asked = None;
    let service = Service::start_with(logs, |command| {
        asked = Some(held::ask(command));
        command
    });
    let mut held = asked.context("no command")??.answer(FAULTY)?;
    let service = service?;
    let mut host = service.host("host")?;
    host.start_worker(ONE)?;
    host.load(ONE, Kind::Busy, 4, 1)?;
    host.pass(ONE, 100)?;
    let mut other = service.host("other")?;
    held.hold();
    other.ask_for_worker(TWO, &[], &[])?;
    held.wait(TIMEOUT)?;
    let begin = Instant::now();
    while begin.elapsed() < STALL {
        host.pass(ONE, 1000)?;
    }
    held.release()?;
    let second = other.started(TIMEOUT, TWO)?;
    ensure!(second.is_ok(), "worker {TWO}: {second:?}");
    host.halt(ONE)?;
    service.end()
}

/// A look-up in the plugin path never ends: hosts get the plugins of the other directories.
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
        let log = logs.file("host")?;
        let mut host = HostProcess::start("host", &[], Transports::All, log, |command| command)?;
        host.connect(daemon.address())?;
        host.start_worker(worker)?;
        answers(&mut host, worker)?;
    }
    held.wait(Duration::ZERO).context("hosts came in, and nothing was slow")?;
    ends_in_order(daemon, "a daemon with a slow directory")
}

/// The daemon and its workers log much into a pipe without a reader.
fn unread_log(many: usize, logs: &Logs) -> Result<()> {
    let (_unread, log): (PipeReader, _) = std::io::pipe()?;
    let service =
        Service::start_with(logs, |command| command.args(["--log-level", "70"]).stderr(log))?;
    let address: SocketAddr = service.address().parse()?;
    for _ in 0..4 {
        Crowd::come(address, None, many, || Ok(()))?;
    }
    let mut host = service.host("unread")?;
    host.start_worker(ONE)?;
    answers(&mut host, ONE)?;
    ends_in_order(service.daemon, "a daemon whose log is not read")
}

fn answers(host: &mut HostProcess, worker: u64) -> Result<()> {
    let (end, _) = host.call(worker, Call::Echo(5), TIMEOUT)?;
    ensure!(end == Ok(5), "{end:?}");
    Ok(())
}

fn ends_in_order(daemon: Uromd, what: &str) -> Result<()> {
    daemon.signal(Signal::TERM)?;
    ends(daemon, what)
}

fn ends(daemon: Uromd, what: &str) -> Result<()> {
    let pid = daemon.pid();
    let gone = std::thread::spawn(move || daemon.wait());
    wait_for_end(pid, END, what)?;
    let status = gone.join().map_err(|_| anyhow::anyhow!("a panic"))??;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// Daemon, worker and host are stopped together, for longer than all timeouts.
fn paused(logs: &Logs) -> Result<()> {
    for transports in [Transports::All, Transports::Tcp] {
        let service = Service::start(transports, logs)?;
        let mut host = service.host("paused")?;
        let worker = host.start_worker(ONE)?;
        host.load(ONE, Kind::Busy, 4, 1)?;
        host.pass(ONE, 100)?;
        let all: [Pid; 3] = [host.pid(), worker, service.pid()];
        for _ in 0..2 {
            all.iter().try_for_each(|pid| signal(*pid, Signal::STOP))?;
            // The elapsed time itself is tested.
            std::thread::sleep(STALL);
            all.iter().try_for_each(|pid| signal(*pid, Signal::CONT))?;
            host.pass(ONE, 100)?;
        }
        host.halt(ONE)?;
        service.end()?;
    }
    Ok(())
}

/// Hosts with a key connect while the daemon is stopped: all of them stay connected.
fn crowd(many: usize, logs: &Logs) -> Result<Duration> {
    let keys = TempDir::new()?;
    let file = key_file(&keys)?;
    let service = Service::start_with(logs, |command| command.arg("--key-file").arg(&file))?;
    let key = Key::read(&file)?;
    signal(service.pid(), Signal::STOP)?;
    let go_on = || signal(service.pid(), Signal::CONT);
    let (mut crowd, took) = Crowd::come(service.address().parse()?, Some(&key), many, go_on)?;
    crowd.is_there()?;
    service.end()?;
    Ok(took)
}

/// SIGHUP reloads the daemon and ends a worker in order, unless they ignore it.
fn hung_up(logs: &Logs) -> Result<()> {
    for outlives in [false, true] {
        let service = Service::start_with(logs, |command| {
            if outlives {
                use std::os::unix::process::CommandExt;
                // SAFETY: between fork and exec the closure makes one plain system call.
                unsafe { command.pre_exec(ignore_hangup) };
            }
            command
        })?;
        let mut host = service.host("hung-up")?;
        let (one, two) = (host.start_worker(ONE)?, host.start_worker(TWO)?);
        let pid = service.pid();
        signal(one, Signal::HUP)?;
        if !outlives {
            wait_for_end(one, END, "a worker that was hung up")?;
        }
        answers(&mut host, TWO)?;
        signal(pid, Signal::HUP)?;
        answers(&mut host, if outlives { ONE } else { TWO })?;
        service.end()?;
        wait_for_end(two, END, "its worker")?;
    }
    Ok(())
}

fn ignore_hangup() -> std::io::Result<()> {
    // SAFETY: `SIG_IGN` installs no handler.
    match unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}
