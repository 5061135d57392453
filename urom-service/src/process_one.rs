//! `uromd` as process 1 of a container, the parent of every orphan. The daemon runs in a second
//! process. Process 1 reaps every child and forwards signals.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};
use tokio::signal::unix::{SignalKind, signal};
use urom_os::signals;

use crate::examine::this_program;
use crate::hangup;

const DESCRIPTORS: usize = 16;

pub(crate) fn is_this() -> bool {
    getpid().is_init()
}

pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    signals::receive_ends();
    ucx::require_descriptors(DESCRIPTORS)?;
    let mut program = this_program(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut ended = signal(SignalKind::child())?;
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let ends = hangup::is_received();
        let mut hangup = ends.then(|| signal(SignalKind::hangup())).transpose()?;
        let daemon = Pid::from_child(&program.spawn().context("starting the daemon")?);
        loop {
            let passed_on = tokio::select! {
                _ = ended.recv() => match reap(daemon)? {
                    Some(status) => return Ok(code(status)),
                    None => continue,
                },
                _ = terminate.recv() => Signal::TERM,
                _ = interrupt.recv() => Signal::INT,
                () = hangup::received(&mut hangup) => Signal::HUP,
            };
            // The daemon keeps its number until it is reaped.
            let _ = kill_process(daemon, passed_on);
        }
    })
}

fn reap(daemon: Pid) -> Result<Option<WaitStatus>> {
    while let Some((pid, status)) = wait(WaitOptions::NOHANG)? {
        if pid == daemon {
            return Ok(Some(status));
        }
    }
    Ok(None)
}

fn code(status: WaitStatus) -> ExitCode {
    let signal = status.terminating_signal().map(|signal| signal + 128);
    let code = status.exit_status().or(signal).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(u8::MAX))
}
