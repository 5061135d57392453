//! The worker's part of a command's trace, which travels behind the answer of a command with a
//! trace context.

use serde::{Deserialize, Serialize};

use super::bounded;
use crate::failure::cut;

/// The longest encoded trace.
pub const LONGEST_TRACE: usize = 8 << 10;

/// Further spans are counted only.
pub const MAX_SPANS: usize = 64;

/// Longer names are cut.
pub const LONGEST_SPAN_NAME: usize = 64;

/// Longer than the names of files.
const LONGEST_PLUGIN_NAME: usize = 256;

/// Times are nanoseconds of the worker's `CLOCK_MONOTONIC`.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTrace {
    pub process: u32,
    /// Its name; empty if the worker lacks it.
    #[serde(deserialize_with = "bounded::text::<_, LONGEST_PLUGIN_NAME>")]
    pub plugin: String,
    pub received: u64,
    pub answered: u64,
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_SPANS>")]
    pub spans: Vec<WorkerSpan>,
    /// Count of spans beyond [`MAX_SPANS`].
    pub dropped: u32,
}

/// A run of the command's handler at depth 0, or a part of the span before it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSpan {
    #[serde(deserialize_with = "bounded::text::<_, LONGEST_SPAN_NAME>")]
    pub name: String,
    pub depth: u32,
    pub begin: u64,
    /// 0 while it runs.
    pub end: u64,
}

impl WorkerTrace {
    /// Begins a span and returns its index, or counts it as dropped.
    pub fn begin(&mut self, name: &str, depth: u32, now: u64) -> Option<usize> {
        if self.spans.len() == MAX_SPANS {
            self.dropped += 1;
            return None;
        }
        let name = cut(name, LONGEST_SPAN_NAME).to_owned();
        self.spans.push(WorkerSpan { name, depth, begin: now, end: 0 });
        Some(self.spans.len() - 1)
    }

    /// Ends the trace, and spans that still run. Returns it encoded; empty if it is too long.
    pub fn finish(mut self, now: u64) -> Vec<u8> {
        self.answered = now;
        self.spans.iter_mut().filter(|span| span.end == 0).for_each(|span| span.end = now);
        let bytes = postcard::to_stdvec(&self).unwrap_or_default();
        if bytes.len() > LONGEST_TRACE { Vec::new() } else { bytes }
    }

    /// Reads an encoded trace; `None` for other bytes.
    pub fn read(bytes: &[u8]) -> Option<WorkerTrace> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_trace_fits_and_more_spans_are_counted() {
        let mut trace = WorkerTrace { process: u32::MAX, received: u64::MAX, ..Default::default() };
        let name = "\u{20ac}".repeat(LONGEST_SPAN_NAME);
        for depth in 0..MAX_SPANS as u32 {
            assert!(trace.begin(&name, u32::MAX - depth, u64::MAX).is_some());
        }
        assert!(trace.begin("one more", 0, 1).is_none());
        let bytes = trace.finish(u64::MAX);
        assert!((1..=LONGEST_TRACE).contains(&bytes.len()), "{}", bytes.len());
        let read = WorkerTrace::read(&bytes).unwrap();
        assert_eq!((read.spans.len(), read.dropped, read.answered), (MAX_SPANS, 1, u64::MAX));
        assert_eq!(read.spans[0].name.chars().count(), LONGEST_SPAN_NAME / 3);
        assert!(read.spans.iter().all(|span| span.end == u64::MAX));
    }

    #[test]
    fn other_bytes_are_no_trace() {
        let mut trace = WorkerTrace::default();
        trace.begin("run", 0, 1);
        let bytes = trace.finish(2);
        for end in 0..bytes.len() {
            assert_eq!(WorkerTrace::read(&bytes[..end]), None, "{end} bytes");
        }
        assert_eq!(WorkerTrace::read(&[0xff; 200]), None);
        // A later release may append fields.
        assert!(WorkerTrace::read(&[&bytes[..], b"more"].concat()).is_some());
    }
}
