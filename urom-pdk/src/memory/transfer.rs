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
struct OwnedOperation {
    /// First: the worker's pointer to the operation is also this value's.
    operation: MemoryOperation,
    bytes: Vec<u8>,
    waker: Option<Waker>,
    has_ended: bool,
    is_awaited: bool,
    /// Kept until the operation has ended.
    _keep: Option<Box<dyn Any>>,
}

unsafe extern "C" fn ended(operation: *mut MemoryOperation) {
    let owned = operation.cast::<OwnedOperation>();
    // SAFETY: the operation is the first member of a value that is valid until now.
    let of_worker = unsafe { &mut *owned };
    of_worker.has_ended = true;
    let (waker, is_awaited) = (of_worker.waker.take(), of_worker.is_awaited);
    if !is_awaited {
        // SAFETY: it is from a box, and the dropped future left the only reference to the worker.
        drop(unsafe { Box::from_raw(owned) });
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
        let mut owned = Box::new(OwnedOperation {
            operation,
            bytes,
            waker: None,
            has_ended: false,
            is_awaited: true,
            _keep: keep,
        });
        owned.operation.local = owned.bytes.as_mut_ptr();
        owned.operation.done = Some(ended);
        let owned = NonNull::from(Box::leak(owned));
        // SAFETY: it does not move until it has ended, and `local` is long enough.
        let status = unsafe { self.services.run(self.opened.handle, owned.cast().as_ptr()) };
        let waiting = OperationFuture { owned };
        if status != DocaError::IN_PROGRESS {
            // SAFETY: it ended in the call, so the worker does not use it any more.
            unsafe { (*owned.as_ptr()).has_ended = true };
        }
        let (operation, bytes) = waiting.await;
        let status = if status == DocaError::IN_PROGRESS { operation.status } else { status };
        self.check(&operation, status)?;
        Ok((operation.result, bytes))
    }
}

struct OperationFuture {
    owned: NonNull<OwnedOperation>,
}

impl Future for OperationFuture {
    type Output = (MemoryOperation, Vec<u8>);

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the value is valid, and the worker only uses it while this code does not run.
        let owned = unsafe { &mut *self.owned.as_ptr() };
        if owned.has_ended {
            return Poll::Ready((owned.operation, std::mem::take(&mut owned.bytes)));
        }
        if !owned.waker.as_ref().is_some_and(|waker| waker.will_wake(task.waker())) {
            owned.waker = Some(task.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for OperationFuture {
    fn drop(&mut self) {
        // SAFETY: as in `poll`.
        let owned = unsafe { &mut *self.owned.as_ptr() };
        if !owned.has_ended {
            owned.is_awaited = false;
            owned.waker = None;
            return;
        }
        // SAFETY: it is from a box, and the worker does not use it any more.
        drop(unsafe { Box::from_raw(self.owned.as_ptr()) });
    }
}
