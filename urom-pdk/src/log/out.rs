//! Where a line goes: to the worker's log, through DOCA's, or to standard error.

use std::sync::OnceLock;

use urom_abi::log::{Level, Text};
use urom_abi::log_line::Origin;
use urom_abi::worker_log::{self, WorkerLog};

use super::doca::{self, doca};
use crate::panic::{CodeLocation, contain};

#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) level: Level,
    pub(super) at: CodeLocation<'a>,
    pub(super) source: &'a str,
    /// What in the plugin wrote it; empty for the plugin itself.
    pub(super) target: &'a str,
    pub(super) text: &'a str,
}

static WORKER: OnceLock<&'static WorkerLog> = OnceLock::new();

/// Writes lines to this log from now on.
///
/// # Safety
/// NULL, or a structure that stays as it is until the process ends.
pub(crate) unsafe fn to_worker(log: *const WorkerLog) {
    if log.is_null() {
        return;
    }
    // A worker of an older release has less in its log than this plugin would call. So the size is
    // read before there is a reference, which would stand for all of the structure.
    // SAFETY: every release's structure begins with its size, and `attach` gets a worker's.
    let size = unsafe { log.cast::<usize>().read() };
    if size >= size_of::<WorkerLog>() {
        // The first one stays.
        // SAFETY: the structure is as long as this release's, and stays.
        let _ = WORKER.set(unsafe { &*log });
    }
}

/// The least grave level that is written of the plugin `source`. DOCA's log decides by itself.
pub(super) fn limit(source: &str) -> u32 {
    match WORKER.get() {
        Some(log) => (log.limit)(),
        None if doca(source).is_some() => Level::Trace.number(),
        None => Level::Info.number(),
    }
}

pub(super) fn write(line: &Line<'_>) {
    if let Some(log) = WORKER.get() {
        let line = urom_abi::log::Line {
            level: line.level.number(),
            line: line.at.line,
            file: Text::new(line.at.file),
            source: Text::new(line.source),
            target: Text::new(line.target),
            text: Text::new(line.text),
        };
        // SAFETY: the worker's function; the line and its texts live until it returns.
        unsafe { (log.write)(&line) };
        return;
    }
    let source = worker_log::source(line.source, line.target);
    match doca(line.source) {
        Some(doca) => doca::write(doca, line, &source),
        None => to_stderr(line, &source),
    }
}

/// How log lines call the host behind a connection: its name where the worker knows one.
pub(crate) fn host_of(dest_id: u64) -> String {
    let mut room = [0; 256];
    let len = WORKER.get().map_or(0, |log| {
        // SAFETY: the worker's function, with as much room as it is told of.
        unsafe { (log.host)(dest_id, room.as_mut_ptr(), room.len()) }
    });
    let name = room.get(..len).filter(|name| !name.is_empty());
    match name {
        Some(name) => format!("host {}", String::from_utf8_lossy(name)),
        None => format!("connection {dest_id}"),
    }
}

fn to_stderr(line: &Line<'_>, source: &str) {
    let CodeLocation { file, line: number } = line.at;
    let origin = Origin { level: line.level, file, line: number, function: Some(source) };
    let line = origin.line(thread_id(), "DOCA", line.text);
    // One write, so that lines of several threads do not mix, and part of a running test's output.
    // It panics when standard error is closed, and nobody is there to read the line then.
    let _ = contain(|| eprint!("{line}"));
}

fn thread_id() -> u32 {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::gettid() }.cast_unsigned()
}
