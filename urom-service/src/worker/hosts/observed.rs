//! Recorded commands, and commands with a trace context: their answers take a longer way, and after
//! the first of them so do all.

use std::cell::Ref;

use urom_abi::trace::TraceContext;

use super::{FrameDraft, HostEntry, Hosts, TaskAnswer};
use crate::worker::recorder::Recorder;

impl Hosts {
    pub(crate) fn record(&self, recorder: Recorder) {
        *self.recorder.borrow_mut() = Some(recorder);
        self.observed.set(true);
    }

    /// Ends the recording, and returns whether there was one.
    pub(crate) fn end_recording(&self) -> bool {
        let recorder = self.recorder.take();
        recorder.iter().for_each(Recorder::add_lost);
        recorder.is_some()
    }

    #[inline]
    pub(super) fn recorder(&self) -> Option<Ref<'_, Recorder>> {
        if !self.observed.get() {
            return None;
        }
        Ref::filter_map(self.recorder.borrow(), Option::as_ref).ok()
    }

    /// Begins the trace of a command; see [`Traces::begin`](super::Traces::begin).
    pub(crate) fn trace(&self, host: &HostEntry, slot: u16, context: TraceContext) {
        host.traces.begin(slot, context);
        self.observed.set(true);
    }

    /// Records an answer. Returns its trace.
    #[cold]
    pub(super) fn observe(
        &self,
        host: &HostEntry,
        draft: &mut FrameDraft,
        answer: &TaskAnswer<'_>,
    ) -> Option<Vec<u8>> {
        if let Some(recorder) = self.recorder() {
            record_answer(&recorder, host, draft, answer);
        }
        host.traces.end(answer.slot)
    }

    /// Returns the recorder of commands of a plugin, if they are recorded.
    pub(crate) fn recorder_of(&self, plugin: u64) -> Option<Ref<'_, Recorder>> {
        self.recorder().filter(|recorder| recorder.has(plugin))
    }
}

fn record_answer(
    recorder: &Recorder,
    host: &HostEntry,
    draft: &mut FrameDraft,
    answer: &TaskAnswer<'_>,
) {
    let &TaskAnswer { slot, status, payload, why } = answer;
    if recorder.has(host.beginning(slot).0.plugin()) {
        let payload = payload.map(|len| &*draft.payload(len));
        recorder.answer(host.dest_id, host.last_token(slot), status, payload, why);
    }
}
