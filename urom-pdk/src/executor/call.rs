//! Commands of the extension's `call`: copied once, and answered in the worker's send buffer.

use std::future::Future;
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::command_buffer::CommandBuffer;
use urom_abi::extension::{Called, CommandCall};
use urom_abi::protocol::{Answer, Protocol, Serve};

use super::Executor;
use crate::panic::contain;
use crate::worker_side::WorkerSide;
use crate::{Context, Result, Side};

const LEAST_ROOM: usize = 256;

impl<T, P, F, M> Executor<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<Answer>>,
    M: Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    /// Answers in the caller's buffer if the command ends at once. Earlier answers leave first.
    /// # Safety
    /// Until this returns, the call's bytes are readable and its answer buffer is writable.
    #[inline]
    pub(crate) unsafe fn call(&mut self, call: &mut CommandCall) -> Called {
        if self.broken {
            return Called::DECLINED;
        }
        let (bytes, place) = if call.command_len == 0 {
            (&[][..], call.answer)
        } else {
            // SAFETY: the caller guarantees the command's bytes until this returns.
            (unsafe { std::slice::from_raw_parts(call.command, call.command_len) }, call.answer)
        };
        let room = match self.room.take_if(|room| room.capacity() >= bytes.len()) {
            Some(room) => room,
            None => match CommandBuffer::new(bytes.len().max(LEAST_ROOM)) {
                Some(room) => room,
                None => return Called::DECLINED,
            },
        };
        let capacity = room.capacity();
        let command = room.fill(call.dest_id, call.plugin_id, call.urom_context, bytes);
        let is_first = self.finished.is_empty() && self.owed.is_empty();
        let place = NonNull::new(place).filter(|_| is_first);
        let place = place.map(|place| NonNull::slice_from_raw_parts(place, call.answer_room));
        let worker = &self.home().worker;
        let offered = Offered::new(worker, place);
        if let Err(panic) = contain(|| self.begin(command.into())) {
            self.end_panicked(panic);
        }
        drop(offered);
        let Some(command) = self.in_place.take() else { return Called::PENDING };
        (call.status, call.answer_len) = (DocaError::SUCCESS, worker.written().get());
        // SAFETY: it was made from a `CommandBuffer` of this capacity.
        self.room = unsafe { CommandBuffer::reclaim(command, capacity) };
        Called::ANSWERED
    }
}

/// While it lives, the running command may write its answer to the worker's buffer.
struct Offered<'a>(&'a WorkerSide);

impl<'a> Offered<'a> {
    #[inline]
    fn new(worker: &'a WorkerSide, place: Option<NonNull<[u8]>>) -> Offered<'a> {
        worker.set_place(place);
        Offered(worker)
    }
}

impl Drop for Offered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set_place(None);
    }
}
