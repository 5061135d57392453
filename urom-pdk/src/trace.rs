//! Commands with a trace context: their runs are spans, which the worker returns to the host.

use std::cell::Cell;
#[cfg(feature = "log")]
use std::fmt;

use urom_abi::trace::TraceContext;

use crate::worker_side::WorkerSide;

/// A command with a trace context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracedCommand {
    pub(crate) name: &'static str,
    pub(crate) dest_id: u64,
    pub(crate) token: u64,
    pub(crate) context: TraceContext,
}

/// The command that runs on this thread.
#[derive(Clone, Copy)]
struct Running {
    command: TracedCommand,
    worker: *const WorkerSide,
    /// Spans that were entered in this run and not left.
    depth: u32,
}

thread_local! {
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

/// Returns the trace context of the command whose handler runs, for the W3C's header `traceparent`:
/// a handler can pass it to other programs. `None` for a command without a context, and outside of
/// handlers.
pub fn traceparent() -> Option<String> {
    Some(RUNNING.try_with(Cell::get).ok()??.command.context.to_string())
}

/// Runs a handler as a span of its command.
#[inline(never)]
pub(crate) fn run<R>(worker: &WorkerSide, command: TracedCommand, run: impl FnOnce() -> R) -> R {
    RUNNING.set(Some(Running { command, worker, depth: 0 }));
    worker.enter_span(&command, command.name);
    let _run = Run(worker, command);
    run()
}

struct Run<'a>(&'a WorkerSide, TracedCommand);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let Run(worker, command) = self;
        // The plugin's own spans may last longer than the run.
        let depth = RUNNING.take().map_or(0, |running| running.depth);
        (0..=depth).for_each(|_| worker.leave_span(command));
    }
}

/// Reads the lines of the crate `tracing` for a span that is entered or left.
#[cfg(feature = "log")]
pub(crate) fn on_line(line: fmt::Arguments<'_>) {
    let Some(mut running) = RUNNING.try_with(Cell::get).ok().flatten() else { return };
    // SAFETY: a `Run` borrows the worker, and its drop clears the thread's variable.
    let worker = unsafe { &*running.worker };
    let line = line.to_string();
    if let Some(name) = line.strip_prefix("-> ") {
        worker.enter_span(&running.command, name.trim_end_matches(';'));
        running.depth += 1;
    } else if running.depth > 0 {
        worker.leave_span(&running.command);
        running.depth -= 1;
    }
    RUNNING.set(Some(running));
}

#[cfg(feature = "log")]
pub(crate) fn is_running() -> bool {
    RUNNING.try_with(|running| running.get().is_some()).unwrap_or(false)
}
