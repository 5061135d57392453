//! Commands of the extension's `call`: copied once, and answered in the worker's send buffer.

use std::future::Future;
use std::ptr::{self, NonNull};

use urom_abi::DocaStatus;
use urom_abi::command_buffer::CommandBuffer;
use urom_abi::extension::{Called, CommandCall};
use urom_abi::protocol::{Answer, Protocol, Serve};
use urom_abi::trace::TraceContext;

use super::Executor;
use crate::panic::contain;
use crate::trace::{self, TracedCommand};
use crate::worker_side::WorkerSide;
use crate::{Context, Result, Side};

const LEAST_CAPACITY: usize = 256;

impl<T, P, F, M> Executor<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<Answer>>,
    M: Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    /// [`call`](Self::call) for a command with a trace context. Its later runs are spans, too.
    /// # Safety
    /// See [`call`](Self::call).
    #[cold]
    pub(crate) unsafe fn call_traced(
        &mut self,
        call: &mut CommandCall,
        context: TraceContext,
    ) -> Called {
        let bytes = match call.command_len {
            0 => &[][..],
            // SAFETY: the caller guarantees the command's bytes until this returns.
            len => unsafe { std::slice::from_raw_parts(call.command, len) },
        };
        let name = P::DESCRIPTION.commands.find(bytes).map(|variant| variant.name);
        let name = name.unwrap_or("unknown command");
        let (dest_id, token) = (call.dest_id, call.urom_context);
        let command = TracedCommand { name, dest_id, token, context };
        let (worker, slot) = (&self.state().worker, ptr::from_ref(self.pool.next()));
        // SAFETY: the caller's promise.
        let called = trace::run(worker, command, || unsafe { self.call(call) });
        // A pending command has taken the slot.
        if !ptr::eq(self.pool.next(), slot) {
            self.traced.push((slot, command));
        }
        called
    }

    /// Answers in the caller's buffer if the command ends at once. Earlier answers leave first.
    /// # Safety
    /// Until this returns, the call's bytes are readable and its answer buffer is writable.
    #[inline]
    pub(crate) unsafe fn call(&mut self, call: &mut CommandCall) -> Called {
        if self.broken {
            return Called::DECLINED;
        }
        let (bytes, answer) = if call.command_len == 0 {
            (&[][..], call.answer)
        } else {
            // SAFETY: the caller guarantees the command's bytes until this returns.
            (unsafe { std::slice::from_raw_parts(call.command, call.command_len) }, call.answer)
        };
        let buffer = match self.buffer.take_if(|buffer| buffer.capacity() >= bytes.len()) {
            Some(buffer) => buffer,
            None => match CommandBuffer::new(bytes.len().max(LEAST_CAPACITY)) {
                Some(buffer) => buffer,
                None => return Called::DECLINED,
            },
        };
        let capacity = buffer.capacity();
        let command = buffer.fill(call.dest_id, call.plugin_id, call.urom_context, bytes);
        let is_first = self.finished.is_empty() && self.owed.is_empty();
        let answer = NonNull::new(answer).filter(|_| is_first);
        let answer = answer.map(|it| NonNull::slice_from_raw_parts(it, call.answer_capacity));
        let worker = &self.state().worker;
        let offer = OfferedBuffer::new(worker, answer);
        if let Err(panic) = contain(|| self.begin(command.into())) {
            self.end_panicked(panic);
        }
        drop(offer);
        let Some(command) = self.in_place.take() else { return Called::PENDING };
        (call.status, call.answer_len) = (DocaStatus::SUCCESS, worker.written().get());
        // SAFETY: it was made from a `CommandBuffer` of this capacity.
        self.buffer = unsafe { CommandBuffer::reclaim(command, capacity) };
        Called::ANSWERED
    }
}

/// While it lives, the running command may write its answer to the worker's buffer.
struct OfferedBuffer<'a>(&'a WorkerSide);

impl<'a> OfferedBuffer<'a> {
    #[inline]
    fn new(worker: &'a WorkerSide, answer: Option<NonNull<[u8]>>) -> OfferedBuffer<'a> {
        worker.set_answer_buffer(answer);
        OfferedBuffer(worker)
    }
}

impl Drop for OfferedBuffer<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set_answer_buffer(None);
    }
}
