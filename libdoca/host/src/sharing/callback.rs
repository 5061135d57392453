//! Callbacks for the begin and the end of a share.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use urom_abi::DocaStatus;
use urom_abi::host_memory::{MemoryCallback, MemoryPath};
use urom_wire::control::Failure;

use crate::failure::failure;

/// A one-shot callback. A drop reports a lost worker, unless the share has ended.
pub(crate) struct ShareCallback {
    callback: Option<MemoryCallback>,
    data: *mut c_void,
    /// The worker has ended the share; a drop then reports that the memory is unused.
    has_ended: bool,
}

// SAFETY: the host allows calls on any thread.
unsafe impl Send for ShareCallback {}

impl ShareCallback {
    pub(crate) fn new(callback: MemoryCallback, data: *mut c_void) -> ShareCallback {
        ShareCallback { callback: Some(callback), data, has_ended: false }
    }

    pub(super) fn ended(mut self) -> ShareCallback {
        self.has_ended = true;
        self
    }

    pub(crate) fn complete(mut self, result: &Result<MemoryPath, Failure>) {
        self.call(result);
    }

    fn call(&mut self, result: &Result<MemoryPath, Failure>) {
        let Some(callback) = self.callback.take() else { return };
        let (status, path, why) = match result {
            Ok(path) => (DocaStatus::SUCCESS, *path, ""),
            Err(failure) => (failure.code.into(), MemoryPath::NETWORK, &*failure.text),
        };
        // SAFETY: the host's function, called once with its data.
        unsafe { callback(self.data, status, path, why.as_ptr().cast(), why.len()) };
    }
}

impl Drop for ShareCallback {
    fn drop(&mut self) {
        self.call(&match self.has_ended {
            true => Ok(MemoryPath::MAPPED),
            false => Err(failure!(CONNECTION_RESET, "the worker left, or was lost")),
        });
    }
}

/// End callbacks of a left or lost worker's shares, for when it no longer uses the memory.
#[derive(Default)]
pub(crate) struct LateCallbacks(Mutex<LateState>);

#[derive(Default)]
struct LateState {
    all: Vec<ShareCallback>,
    is_over: bool,
}

impl LateCallbacks {
    pub(crate) fn keep(&self, callback: ShareCallback) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !late.is_over {
            return late.all.push(callback);
        }
        // Outside the lock: it calls the host.
        drop(late);
        drop(callback.ended());
    }

    pub(crate) fn end(&self) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        late.is_over = true;
        let all = std::mem::take(&mut late.all);
        drop(late);
        // Outside the lock: each calls the host.
        all.into_iter().map(ShareCallback::ended).for_each(drop);
    }
}
