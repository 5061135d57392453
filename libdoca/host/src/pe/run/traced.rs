//! Sampled commands: sent with their trace context, and written to the trace's file when they end.

use urom_abi::{DocaError, DocaStatus, WorkerId};
use urom_os::clock::monotonic;
use urom_wire::frame::{MAX_BODY, TRACED_LEN};
use urom_wire::trace::{WorkerSpan, WorkerTrace};

use crate::pe::run::WorkerRun;
use crate::pe::run::task::{CmdTask, CmdTaskRef};
use crate::trace::{CommandSpan, Events, Ids, Quoted, Tracer, tracer};

/// The protocol of the first release with trace contexts.
const FIRST_PROTOCOL: u16 = 15;

/// Whether the host may submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    /// Commands may be sampled.
    Traced,
    Closed(DocaError),
}

impl WorkerRun {
    /// Lets the program submit commands. Traces that begin later do not change this run.
    pub(crate) fn open_gate(&self) {
        let speaks = |protocol| protocol >= FIRST_PROTOCOL;
        let is_traced = self.attached.get().is_some_and(|attached| speaks(attached.protocol))
            && tracer().is_some();
        self.gate.set(if is_traced { Gate::Traced } else { Gate::Open });
    }

    #[cold]
    pub(super) fn submit_at_gate(&self, task: CmdTaskRef) -> Result<(), DocaError> {
        match self.gate.get() {
            Gate::Open => self.send(task, None),
            Gate::Traced => {
                // The context of the longest command does not fit into a frame.
                let fits = TRACED_LEN + task.payload.len() <= MAX_BODY;
                self.send(task, tracer().filter(|_| fits).and_then(Tracer::command))
            }
            Gate::Closed(code) => Err(code),
        }
    }

    /// Keeps the span of a submitted command until its end.
    #[cold]
    pub(crate) fn sampled(&self, task: &CmdTask, span: CommandSpan) {
        if let Some(slot) = task.slot.get() {
            self.spans.borrow_mut().insert(slot, span);
        }
    }

    /// Writes the span of a command that has ended, with the worker's part if there is one.
    #[cold]
    pub(super) fn write_span(&self, slot: u16, status: DocaStatus, trace: Option<&[u8]>) {
        let Some(span) = self.spans.borrow_mut().remove(&slot) else { return };
        let trace = trace.and_then(WorkerTrace::read);
        let events = events(&span, monotonic(), status, trace, WorkerId(self.id()));
        tracer().into_iter().for_each(|tracer| tracer.write(&events));
    }

    /// Writes the spans of all commands in flight, which end with a code.
    pub(super) fn write_spans(&self, code: DocaError) {
        let slots: Vec<u16> = self.spans.borrow().keys().copied().collect();
        slots.into_iter().for_each(|slot| self.write_span(slot, code.into(), None));
    }
}

/// Returns the body of a sampled command: deadline, context and payload.
pub(super) fn body_of(task: &CmdTask, span: &CommandSpan) -> Vec<u8> {
    let mut body = Vec::with_capacity(TRACED_LEN + task.payload.len());
    body.extend_from_slice(&task.left.get().to_le_bytes());
    body.extend_from_slice(&span.context.to_bytes());
    // SAFETY: this is the host's call to submit, so it does not write to the payload.
    unsafe { task.payload.with_data(|payload| body.extend_from_slice(payload)) };
    body
}

/// Returns a command as nested slices of one track, from the submission to the completion.
fn events(
    span: &CommandSpan,
    end: u64,
    status: DocaStatus,
    trace: Option<WorkerTrace>,
    worker: WorkerId,
) -> Events {
    let mut trace = trace.unwrap_or_default();
    let name = match trace.spans.first() {
        Some(run) => format!("{} {}", trace.plugin, run.name),
        None if trace.plugin.is_empty() => "command".to_owned(),
        None => trace.plugin.clone(),
    };
    let is_shifted = trace.received != 0 && move_between(&mut trace, span.begin, end);
    let mut track = Track { span, events: Events::default(), ends: vec![], last: 0 };
    let parent = span.parent.map_or_else(String::new, |parent| {
        format!(",\"parent_span_id\":\"{:016x}\"", parent.span_id)
    });
    let status = status.to_string();
    let (ids, status) = (Ids(&span.context), Quoted(&status));
    let fields = format!("{ids}{parent},\"worker\":\"{worker}\",\"status\":{status}");
    track.begin(&name, span.begin, end, &fields);
    if trace.received != 0 {
        let process = trace.process;
        let (dropped, plugin) = (trace.dropped, Quoted(&trace.plugin));
        let fields = format!(
            "\"process\":{process},\"plugin\":{plugin},\"dropped_spans\":{dropped},\
             \"other_clock\":{is_shifted}"
        );
        track.slice("to the worker", span.begin, trace.received);
        track.begin(&format!("worker {worker}"), trace.received, trace.answered, &fields);
        track.runs(&trace.spans, trace.received, trace.answered);
        track.end_to(1);
        track.slice("to the host", trace.answered, end);
    }
    track.end_to(0);
    track.events
}

/// Moves the worker's times into the middle between two times of the host, if its clock is another.
fn move_between(trace: &mut WorkerTrace, begin: u64, end: u64) -> bool {
    let is_here = begin <= trace.received && trace.answered <= end;
    if !is_here {
        let took = trace.answered.saturating_sub(trace.received).min(end - begin);
        let shift = (begin + (end - begin - took) / 2).wrapping_sub(trace.received);
        let times = trace.spans.iter_mut().flat_map(|span| [&mut span.begin, &mut span.end]);
        let times = times.chain([&mut trace.received, &mut trace.answered]);
        times.for_each(|time| *time = time.wrapping_add(shift));
    }
    !is_here
}

struct Track<'a> {
    span: &'a CommandSpan,
    events: Events,
    /// The ends and names of the slices that contain the next one.
    ends: Vec<(u64, String)>,
    /// The last time: a worker may send any times, and slices must nest.
    last: u64,
}

impl Track<'_> {
    fn add(&mut self, phase: &str, name: &str, time: u64, fields: &str) {
        self.last = self.last.max(time);
        let id = self.span.context.span_id;
        let rest = format_args!(",\"id\":\"{id:#x}\",\"args\":{{{fields}}}");
        self.events.add(phase, self.span.thread, self.last, name, rest);
    }

    /// Begins a slice within the slice around it.
    fn begin(&mut self, name: &str, begin: u64, end: u64, fields: &str) {
        let end = end.min(self.ends.last().map_or(end, |(end, _)| *end));
        self.add("b", name, begin.min(end), fields);
        self.ends.push((end, name.to_owned()));
    }

    fn end_to(&mut self, depth: usize) {
        while self.ends.len() > depth
            && let Some((end, name)) = self.ends.pop()
        {
            self.add("e", &name, end, "");
        }
    }

    fn slice(&mut self, name: &str, begin: u64, end: u64) {
        self.begin(name, begin, end, "");
        self.end_to(self.ends.len() - 1);
    }

    /// Adds the runs of the handler with their parts, and the waits between them.
    fn runs(&mut self, spans: &[WorkerSpan], received: u64, answered: u64) {
        let outside = self.ends.len();
        let mut last = received;
        for WorkerSpan { name, depth, begin, end } in spans {
            self.end_to(outside + *depth as usize);
            if *depth == 0 {
                if *begin > last {
                    self.slice("wait", last, *begin);
                }
                last = *end;
            }
            self.begin(name, *begin, *end, "");
        }
        self.end_to(outside);
        if !spans.is_empty() && answered > last {
            self.slice("wait", last, answered);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::os::fd::AsFd;
    use std::rc::Rc;

    use tokio::sync::mpsc;
    use urom_abi::trace::{CONTEXT_LEN, TraceContext};
    use urom_os::EventFd;
    use urom_wire::envelope::VerificationTag;
    use urom_wire::frame::{Command, DEADLINE_LEN, Unusual};
    use urom_wire::ring;

    use super::*;
    use crate::event::AttachedWorker;
    use crate::pe::Pe;
    use crate::pe::ctx::Context;
    use crate::pe::ctx::worker::Worker;
    use crate::trace::{set_current, start};

    const CONTEXT: TraceContext = TraceContext { trace_id: 1, span_id: 2, flags: 1 };

    /// Returns the body of a command of 3 bytes to a worker of this protocol, and its context.
    fn sent(protocol: u16, current: Option<TraceContext>) -> (usize, Option<TraceContext>) {
        let (bell, limit) = (EventFd::new().unwrap(), 4096);
        let (ring, descriptors) = ring::create(&bell, limit).unwrap();
        let fds = descriptors.as_fds().map(|fd| fd.as_fd().try_clone_to_owned().unwrap());
        let ((mut reader, _), _bell) = ring::open(fds, limit).unwrap();
        let (pe, ctx) = (Pe::new().unwrap(), Context::new(Worker::new()));
        let (orders, _) = mpsc::unbounded_channel();
        let engine = Rc::clone(&pe);
        let open = |channel| WorkerRun::new(1, 1, ctx, engine, channel, None, orders);
        let run = pe.open_channel(open).unwrap();
        let attached = AttachedWorker {
            id: 9,
            ring: Some(ring),
            ucx_address: Vec::new(),
            channel: 5,
            max_message: limit,
            protocol,
            plugins: Vec::new(),
            tag: VerificationTag::new(77),
        };
        run.on_attached(&pe, attached);
        run.open_gate();
        let task = run.allocate(run.plugin(1)).unwrap();
        assert!(task.payload.fill(b"abc"));
        let before = set_current(current);
        run.submit(task).unwrap();
        set_current(before);
        let (header, body) = reader.receive().unwrap().unwrap();
        let context = match Command::read(header, body).unusual() {
            Some(Unusual::Traced(command, 0, context)) if command.payload == b"abc" => context,
            _ => None,
        };
        let len = header.len();
        run.stop(&pe);
        while pe.progress() != 0 {}
        run.release(task);
        pe.close_channel(run.channel);
        (len, context)
    }

    #[test]
    fn only_a_sampled_command_to_a_worker_with_traces_has_more_bytes() {
        start(None, NonZeroU32::MIN).unwrap();
        let (len, context) = sent(15, Some(CONTEXT));
        let context = context.unwrap();
        assert_eq!((len, context.trace_id), (3 + DEADLINE_LEN + CONTEXT_LEN, 1));
        assert!(context.span_id != 2 && context.is_sampled());
        assert_eq!(sent(14, Some(CONTEXT)), (3, None));
        assert_eq!(sent(15, None), (3, None));
        assert_eq!(sent(15, Some(TraceContext { flags: 0, ..CONTEXT })), (3, None));
    }

    fn shown(trace: Option<WorkerTrace>) -> Vec<String> {
        let span = CommandSpan { context: CONTEXT, parent: None, thread: 3, begin: 1_000_000 };
        let Events(lines) = events(&span, 2_000_000, DocaStatus::SUCCESS, trace, WorkerId(7));
        let between = |line: &str, from: &str, to: &str| {
            line.split_once(from)?.1.split_once(to).map(|(found, _)| found.to_owned())
        };
        let shown = |line: &str| {
            let [phase, name] =
                ["ph", "name"].map(|key| between(line, &format!("\"{key}\":\""), "\"").unwrap());
            format!("{phase} {} {name}", between(line, "\"ts\":", ",").unwrap())
        };
        lines.lines().map(shown).collect()
    }

    fn span(depth: u32, begin: u64, end: u64) -> WorkerSpan {
        WorkerSpan { name: "run".to_owned(), depth, begin, end }
    }

    fn trace(received: u64, answered: u64, spans: Vec<WorkerSpan>) -> Option<WorkerTrace> {
        let plugin = "\"sum\"\n".to_owned();
        Some(WorkerTrace { process: 9, plugin, received, answered, spans, dropped: 0 })
    }

    #[test]
    fn a_command_without_the_workers_part_is_one_slice() {
        assert_eq!(shown(None), ["b 1000.000 command", "e 2000.000 command"]);
    }

    #[test]
    fn runs_and_waits_are_between_receipt_and_answer() {
        let spans = vec![
            span(0, 1_300_000, 1_400_000),
            span(1, 1_310_000, 1_320_000),
            span(0, 1_600_000, 1_700_001),
        ];
        let lines = shown(trace(1_200_000, 1_800_000, spans));
        let names: Vec<_> = lines.iter().filter(|line| line.starts_with('b')).collect();
        assert_eq!(
            names,
            [
                "b 1000.000 \\",
                "b 1000.000 to the worker",
                "b 1200.000 worker 7",
                "b 1200.000 wait",
                "b 1300.000 run",
                "b 1310.000 run",
                "b 1400.000 wait",
                "b 1600.000 run",
                "b 1700.001 wait",
                "b 1800.000 to the host",
            ]
        );
        assert_eq!(lines.last().unwrap(), "e 2000.000 \\");
    }

    #[test]
    fn the_times_of_another_clock_are_moved_to_the_middle() {
        let lines = shown(trace(77, 200_077, vec![span(0, 77, 100_077)]));
        assert!(lines.contains(&"b 1400.000 worker 7".to_owned()), "{lines:?}");
        assert!(lines.contains(&"b 1400.000 run".to_owned()), "{lines:?}");
        assert!(lines.contains(&"b 1600.000 to the host".to_owned()), "{lines:?}");
    }

    #[test]
    fn times_of_any_worker_nest() {
        let odd = [0, 1, 1_500_000, u64::MAX];
        for (received, answered) in odd.into_iter().flat_map(|a| odd.map(|b| (a, b))) {
            for (begin, end) in odd.into_iter().flat_map(|a| odd.map(|b| (a, b))) {
                let spans = vec![span(u32::MAX, begin, end), span(0, end, begin), span(7, 1, 0)];
                let lines = shown(trace(received, answered, spans));
                let times: Vec<f64> = lines
                    .iter()
                    .map(|line| line.split(' ').nth(1).unwrap().parse().unwrap())
                    .collect();
                assert!(times.is_sorted(), "{received} {answered} {begin} {end}: {lines:?}");
            }
        }
    }
}
