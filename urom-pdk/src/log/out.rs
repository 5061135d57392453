//! The output of a line: the worker's log, DOCA's log, or standard error.

use std::sync::OnceLock;

use urom_abi::log::{Level, Text};
use urom_abi::log_line::Origin;
use urom_abi::worker_log::{self, WorkerLog};

use super::doca::{self, doca};
use crate::panic::{CodeLocation, contain};

#[derive(Debug)]
pub(super) struct LogLine<'a> {
    pub(super) level: Level,
    pub(super) at: CodeLocation<'a>,
    pub(super) source: &'a str,
    /// The part of the plugin that wrote it; empty for the plugin itself.
    pub(super) target: &'a str,
    pub(super) text: &'a str,
}

static WORKER: OnceLock<&'static WorkerLog> = OnceLock::new();

/// # Safety
/// `log` is NULL or a structure that stays unchanged until the process ends.
pub(crate) unsafe fn to_worker(log: *const WorkerLog) {
    if log.is_null() {
        return;
    }
    // An older worker's structure is shorter. Read the size before a reference to the whole exists.
    // SAFETY: every release's structure begins with its size, and `attach` gets a worker's.
    let size = unsafe { log.cast::<usize>().read() };
    if size >= size_of::<WorkerLog>() {
        // SAFETY: the structure is as long as this release's, and is valid until the process ends.
        let _ = WORKER.set(unsafe { &*log });
    }
}

pub(super) fn limit(source: &str) -> u32 {
    match WORKER.get() {
        Some(log) => (log.limit)(),
        None if doca(source).is_some() => Level::Trace.number(),
        None => Level::Info.number(),
    }
}

pub(super) fn write(line: &LogLine<'_>) {
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

pub(crate) fn host_of(dest_id: u64) -> String {
    let mut buffer = [0; 256];
    let len = WORKER.get().map_or(0, |log| {
        // SAFETY: the worker's function, with a buffer of the given length.
        unsafe { (log.host)(dest_id, buffer.as_mut_ptr(), buffer.len()) }
    });
    let name = buffer.get(..len).filter(|name| !name.is_empty());
    match name {
        Some(name) => format!("host {}", String::from_utf8_lossy(name)),
        None => format!("connection {dest_id}"),
    }
}

fn to_stderr(line: &LogLine<'_>, source: &str) {
    let CodeLocation { file, line: number } = line.at;
    let origin = Origin { level: line.level, file, line: number, function: Some(source) };
    let line = origin.line(thread_id(), "DOCA", line.text);
    // One write, so that threads' lines do not mix, and captured by the test harness. It panics if
    // standard error is closed: then the line is lost.
    let _ = contain(|| eprint!("{line}"));
}

fn thread_id() -> u32 {
    // SAFETY: gettid is always safe.
    unsafe { libc::gettid() }.cast_unsigned()
}
