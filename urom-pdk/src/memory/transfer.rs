//! Operations that a worker ends later. They own their memory, so futures may be dropped.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use urom_abi::host_memory::MemoryOperation;

use super::HostMemory;
use crate::guard::catch;
use crate::{DocaError, Result};

/// An operation and its bytes, on the heap until it has ended and is not awaited.
#[repr(C)]
struct Parcel {
    /// First: the worker's pointer to the operation is the parcel's.
    operation: MemoryOperation,
    bytes: Vec<u8>,
    waker: Option<Waker>,
    has_ended: bool,
    is_awaited: bool,
    /// Kept until the operation has ended.
    _keep: Option<Box<dyn Any>>,
}

unsafe extern "C" fn ended(operation: *mut MemoryOperation) {
    let parcel = operation.cast::<Parcel>();
    // SAFETY: the operation is the first member of a parcel, which is valid until now.
    let of_worker = unsafe { &mut *parcel };
    of_worker.has_ended = true;
    let (waker, is_awaited) = (of_worker.waker.take(), of_worker.is_awaited);
    if !is_awaited {
        // SAFETY: it is from a box, and the dropped future left the only reference to the worker.
        drop(unsafe { Box::from_raw(parcel) });
    }
    if let Some(waker) = waker {
        catch("waking a handler's future", || waker.wake());
    }
}

impl HostMemory {
    /// Runs an operation. `keep` lives until it has ended, even if this future is dropped.
    pub(super) async fn transfer(
        &self,
        operation: MemoryOperation,
        bytes: Vec<u8>,
        keep: Option<Box<dyn Any>>,
    ) -> Result<(u64, Vec<u8>)> {
        let mut parcel = Box::new(Parcel {
            operation,
            bytes,
            waker: None,
            has_ended: false,
            is_awaited: true,
            _keep: keep,
        });
        parcel.operation.local = parcel.bytes.as_mut_ptr();
        parcel.operation.done = Some(ended);
        let parcel = NonNull::from(Box::leak(parcel));
        // SAFETY: it does not move until it has ended, and `local` is long enough.
        let code = unsafe { self.services.run(self.opened.handle, parcel.cast().as_ptr()) };
        let waiting = Transfer { parcel };
        if code != DocaError::IN_PROGRESS {
            // SAFETY: it ended in the call, so the worker does not use it any more.
            unsafe { (*parcel.as_ptr()).has_ended = true };
        }
        let (operation, bytes) = waiting.await;
        let code = if code == DocaError::IN_PROGRESS { operation.status } else { code };
        self.check(&operation, code)?;
        Ok((operation.result, bytes))
    }
}

struct Transfer {
    parcel: NonNull<Parcel>,
}

impl Future for Transfer {
    type Output = (MemoryOperation, Vec<u8>);

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: it is a valid parcel, which the worker only uses while this code does not run.
        let parcel = unsafe { &mut *self.parcel.as_ptr() };
        if parcel.has_ended {
            return Poll::Ready((parcel.operation, std::mem::take(&mut parcel.bytes)));
        }
        if !parcel.waker.as_ref().is_some_and(|waker| waker.will_wake(task.waker())) {
            parcel.waker = Some(task.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // SAFETY: as in `poll`.
        let parcel = unsafe { &mut *self.parcel.as_ptr() };
        if !parcel.has_ended {
            parcel.is_awaited = false;
            parcel.waker = None;
            return;
        }
        // SAFETY: it is from a box, and the worker does not use it any more.
        drop(unsafe { Box::from_raw(self.parcel.as_ptr()) });
    }
}
