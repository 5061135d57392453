//! Who waits for the begin or the end of a share.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryCallback, MemoryPath};
use urom_wire::control::Failure;

use crate::failure::failure;

/// Whom to tell how sharing went, once: one that is dropped says that the worker is gone, and not
/// that it uses the memory no more.
pub(crate) struct Told {
    callback: Option<MemoryCallback>,
    data: *mut c_void,
}

// SAFETY: the host's promise for the callback: any thread may call it.
unsafe impl Send for Told {}

impl Told {
    pub(crate) fn new(callback: MemoryCallback, data: *mut c_void) -> Told {
        Told { callback: Some(callback), data }
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
        self.call(&Err(failure!(CONNECTION_RESET, "the worker left, or was lost")));
    }
}

/// Whom to tell that nothing uses the memory of a share any more, when this is dropped.
pub(super) struct Ending(Option<Told>);

impl Ending {
    pub(super) fn new(told: Told) -> Ending {
        Ending(Some(told))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|told| told.tell(&Ok(MemoryPath::MAPPED)));
    }
}

/// Those who asked for the end of a share of a worker that was left or lost: they are told when it
/// uses the memory no more.
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
        // Not under the lock: it calls the host.
        drop(late);
        told.tell(&Ok(MemoryPath::MAPPED));
    }

    /// Nothing uses the memory any more.
    pub(crate) fn end(&self) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        late.is_over = true;
        let all = std::mem::take(&mut late.all);
        drop(late);
        // Not under the lock: each calls the host.
        all.into_iter().for_each(|told| told.tell(&Ok(MemoryPath::MAPPED)));
    }
}
