//! Callbacks for the begin and the end of a share.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryCallback, MemoryPath};
use urom_wire::control::Failure;

use crate::failure::failure;

/// A one-shot callback. A drop reports a lost worker, unless the share has ended.
pub(crate) struct Told {
    callback: Option<MemoryCallback>,
    data: *mut c_void,
    /// The worker has ended the share; a drop then reports that the memory is unused.
    has_ended: bool,
}

// SAFETY: the host allows calls on any thread.
unsafe impl Send for Told {}

impl Told {
    pub(crate) fn new(callback: MemoryCallback, data: *mut c_void) -> Told {
        Told { callback: Some(callback), data, has_ended: false }
    }

    pub(super) fn ended(mut self) -> Told {
        self.has_ended = true;
        self
    }

    pub(crate) fn tell(mut self, result: &Result<MemoryPath, Failure>) {
        self.call(result);
    }

    fn call(&mut self, result: &Result<MemoryPath, Failure>) {
        let Some(callback) = self.callback.take() else { return };
        let (code, path, why) = match result {
            Ok(path) => (DocaError::SUCCESS, *path, ""),
            Err(failure) => (failure.code(), MemoryPath::NETWORK, &*failure.text),
        };
        // SAFETY: the host's function, called once with its data.
        unsafe { callback(self.data, code, path, why.as_ptr().cast(), why.len()) };
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.call(&match self.has_ended {
            true => Ok(MemoryPath::MAPPED),
            false => Err(failure!(CONNECTION_RESET, "the worker left, or was lost")),
        });
    }
}

/// End callbacks of a left or lost worker's shares, for when it no longer uses the memory.
#[derive(Default)]
pub(crate) struct Late(Mutex<LateTold>);

#[derive(Default)]
struct LateTold {
    all: Vec<Told>,
    is_over: bool,
}

impl Late {
    pub(crate) fn keep(&self, told: Told) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !late.is_over {
            return late.all.push(told);
        }
        // Outside the lock: it calls the host.
        drop(late);
        drop(told.ended());
    }

    pub(crate) fn end(&self) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        late.is_over = true;
        let all = std::mem::take(&mut late.all);
        drop(late);
        // Outside the lock: each calls the host.
        all.into_iter().map(Told::ended).for_each(drop);
    }
}
