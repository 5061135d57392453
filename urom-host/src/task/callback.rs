//! A task with a callback instead of a future.
//!
//! The callback travels in the 32 bytes of user data inside the task when it fits, and in a box otherwise.

use std::ffi::c_void;
use std::ptr::NonNull;

use urom_abi::host::{CmdTask, Data};
use urom_abi::protocol::{Reply, Request};

use crate::error::Result;
use crate::plugin::Plugin;
use crate::task::{Response, future, outcome};
use crate::thread;
use crate::worker::{Worker, parties};

/// What DOCA gives a task's owner inside the task.
const ROOM: usize = 32;
const ALIGNMENT: usize = 8;

/// What waits in the task's user data.
struct Waiting<C: Request, F> {
    echo: <C::Reply as Reply>::Echo,
    callback: F,
}

impl<C: Request, F> Waiting<C, F> {
    const INLINE: bool = size_of::<Self>() <= ROOM && align_of::<Self>() <= ALIGNMENT;

    /// # Safety
    /// `memory` is [`ROOM`] bytes of the caller's, [`ALIGNMENT`]-aligned.
    unsafe fn store(self, memory: NonNull<c_void>) {
        if Self::INLINE {
            // SAFETY: it fits, as was just found.
            unsafe { memory.cast::<Self>().write(self) };
        } else {
            let boxed = Box::into_raw(Box::new(self));
            // SAFETY: a pointer fits.
            unsafe { memory.cast::<*mut Self>().write(boxed) };
        }
    }

    /// # Safety
    /// `memory` holds what [`store`](Self::store) put there, and it is taken only once.
    unsafe fn take(memory: NonNull<c_void>) -> Self {
        if Self::INLINE {
            // SAFETY: `store` wrote it there.
            unsafe { memory.cast::<Self>().read() }
        } else {
            // SAFETY: `store` wrote the pointer there.
            let boxed = unsafe { memory.cast::<*mut Self>().read() };
            // SAFETY: it came from a box, and is taken once.
            *unsafe { Box::from_raw(boxed) }
        }
    }
}

/// Submits a command whose answer a callback gets.
pub(crate) fn submit_with<C, F>(plugin: &Plugin, worker: &Worker, command: &C, callback: F) -> Result<()>
where
    C: Request,
    F: FnOnce(Result<C::Reply>) + 'static,
{
    let owner = worker.owner();
    let task = future::prepare(owner, plugin, command)?;
    let memory = task.user_data()?;
    let waiting = Waiting::<C::Kind, F> { echo: command.echo(), callback };
    // SAFETY: the user data is 32 bytes, 8-aligned, and this crate uses it for nothing else.
    unsafe { waiting.store(memory) };
    task.submit(on_complete::<C::Kind, F>, Data { u64: 0 }).map_err(|(code, task)| {
        // SAFETY: it was just stored, and the task did not start, so its callback does not take it.
        drop(unsafe { Waiting::<C::Kind, F>::take(memory) });
        drop(task);
        outcome::rejected(owner, outcome::describe::<C>(owner), code)
    })
}

/// # Safety
/// Only for tasks that [`submit_with`] submitted with the same types.
unsafe extern "C" fn on_complete<C, F>(task: *mut CmdTask, _task_data: Data, ctx_data: Data)
where
    C: Request,
    F: FnOnce(Result<C::Reply>) + 'static,
{
    thread::guard(|| {
        // SAFETY: what the library hands to the callback of a worker of ours.
        let Some((context, task)) = (unsafe { parties(task, ctx_data) }) else { return };
        let Ok(memory) = task.user_data() else { return };
        // SAFETY: `submit_with` stored it, and a task completes once.
        let Waiting { echo, callback } = unsafe { Waiting::<C, F>::take(memory) };
        // This releases the task, unless a payload keeps it, so that the callback can submit the next one in its place.
        let answer = outcome::read::<C>(context, &echo, Response::of(task));
        callback(answer);
    });
}
