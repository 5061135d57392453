//! A host's commands with a trace context: their times, and the spans of their handlers.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use urom_abi::trace::TraceContext;
use urom_os::clock::monotonic;
use urom_wire::trace::WorkerTrace;

use super::TaskToken;
use crate::log;

/// The traces of commands in flight, by slot.
#[derive(Debug, Default)]
pub(crate) struct Traces(RefCell<FxHashMap<u16, CommandTrace>>);

#[derive(Debug)]
struct CommandTrace {
    /// `None` until the command has its slot.
    token: Option<TaskToken>,
    trace_id: u128,
    trace: WorkerTrace,
    /// Spans that run: their indices, or `None` for a dropped one.
    running: Vec<Option<usize>>,
}

impl Traces {
    /// Begins the trace of a command that arrives now. Its answer carries the trace.
    pub(crate) fn begin(&self, slot: u16, context: TraceContext) {
        let trace = WorkerTrace {
            process: std::process::id(),
            received: monotonic(),
            ..WorkerTrace::default()
        };
        let trace_id = context.trace_id;
        let traced = CommandTrace { token: None, trace_id, trace, running: Vec::new() };
        self.0.borrow_mut().insert(slot, traced);
    }

    pub(crate) fn occupied(&self, token: TaskToken, plugin: &str) {
        if let Some(traced) = self.0.borrow_mut().get_mut(&token.slot) {
            traced.token = Some(token);
            traced.trace.plugin = plugin.to_owned();
        }
    }

    /// Begins a span of a command, and marks the thread's log lines with its trace.
    pub(crate) fn enter(&self, token: TaskToken, name: &str) {
        self.with(token, |traced| {
            let index = traced.trace.begin(name, traced.running.len() as u32, monotonic());
            traced.running.push(index);
            log::set_trace(Some(traced.trace_id));
        });
    }

    pub(crate) fn leave(&self, token: TaskToken) {
        self.with(token, |CommandTrace { trace, running, .. }| {
            if let Some(Some(index)) = running.pop() {
                trace.spans[index].end = monotonic();
            }
            if running.is_empty() {
                log::set_trace(None);
            }
        });
    }

    fn with(&self, token: TaskToken, change: impl FnOnce(&mut CommandTrace)) {
        let mut traces = self.0.borrow_mut();
        traces.get_mut(&token.slot).filter(|traced| traced.token == Some(token)).map(change);
    }

    /// Ends the trace of a slot's command. Returns it encoded; `None` without a trace.
    pub(super) fn end(&self, slot: u16) -> Option<Vec<u8>> {
        let CommandTrace { trace, running, .. } = self.0.borrow_mut().remove(&slot)?;
        if !running.is_empty() {
            log::set_trace(None);
        }
        Some(trace.finish(monotonic()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: TaskToken = TaskToken { channel: 1, slot: 7, generation: 3 };

    fn traces() -> Traces {
        let traces = Traces::default();
        traces.begin(7, TraceContext { trace_id: 5, span_id: 6, flags: 1 });
        traces.occupied(TOKEN, "sum");
        traces
    }

    fn ended(traces: &Traces) -> WorkerTrace {
        WorkerTrace::read(&traces.end(7).unwrap()).unwrap()
    }

    #[test]
    fn spans_nest_and_lines_within_have_the_trace() {
        let traces = traces();
        traces.enter(TOKEN, "run");
        traces.enter(TOKEN, "part");
        assert_eq!(log::trace(), Some(5));
        traces.leave(TOKEN);
        assert_eq!(log::trace(), Some(5));
        traces.leave(TOKEN);
        assert_eq!(log::trace(), None);
        let trace = ended(&traces);
        let spans: Vec<_> = trace.spans.iter().map(|it| (it.name.as_str(), it.depth)).collect();
        assert_eq!(spans, [("run", 0), ("part", 1)]);
        let times = [
            trace.received,
            trace.spans[0].begin,
            trace.spans[1].begin,
            trace.spans[1].end,
            trace.spans[0].end,
            trace.answered,
        ];
        assert!(times.is_sorted(), "{times:?}");
        assert!(traces.end(7).is_none());
    }

    #[test]
    fn spans_of_other_commands_and_unpaired_ends_change_nothing() {
        let traces = traces();
        for wrong in [TaskToken { generation: 2, ..TOKEN }, TaskToken { slot: 8, ..TOKEN }] {
            traces.enter(wrong, "run");
            traces.leave(wrong);
        }
        traces.leave(TOKEN);
        assert_eq!((ended(&traces).spans, log::trace()), (vec![], None));
    }

    #[test]
    fn a_span_that_a_plugin_does_not_end_ends_with_the_answer() {
        let traces = traces();
        traces.enter(TOKEN, "run");
        let trace = ended(&traces);
        assert_eq!((trace.spans[0].end, log::trace()), (trace.answered, None));
    }
}
