//! Waking a worker's thread from another thread.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ucx_sys as sys;

use crate::status::{Result, Status, check};

/// Wakes a thread that sleeps on a worker's event descriptor: `ucp_worker_signal`.
///
/// Unlike the worker it can be cloned and sent to other threads, and it may outlive the worker.
///
/// ```
/// use std::thread;
/// use ucx::{Context, Features};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let features = Features::TAG | Features::WAKEUP;
/// let worker = Context::builder(features).config("TLS", "tcp").build()?.worker()?;
/// let signal = worker.signal()?;
/// thread::spawn(move || signal.signal()).join().expect("it does not panic")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Signal {
    target: Arc<Target>,
}

/// The worker to wake; nothing once it is gone.
pub(crate) struct Target(Mutex<Option<Raw>>);

struct Raw(sys::ucp_worker_h);

// SAFETY: the pointer is only used for `ucp_worker_signal`, which UCX allows from any thread.
unsafe impl Send for Raw {}

impl Target {
    pub(crate) fn new(worker: sys::ucp_worker_h) -> Self {
        Target(Mutex::new(Some(Raw(worker))))
    }

    /// Called before the worker is destroyed; waits for a signal that is being sent.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Signal {
    pub(crate) fn new(target: Arc<Target>) -> Self {
        Signal { target }
    }

    /// Makes the worker's event descriptor readable, or its next `arm` say that there is something to do.
    ///
    /// # Errors
    ///
    /// `NOT_CONNECTED` when the worker is gone, else what UCX says.
    pub fn signal(&self) -> Result<()> {
        let target = self.target.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(worker) = target.as_ref() else {
            return Err(Status::NOT_CONNECTED.during("signalling a worker that is gone"));
        };
        // SAFETY: the worker is live, since it takes itself out under this lock before it goes.
        check(unsafe { sys::ucp_worker_signal(worker.0) }, "signalling a worker")
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signal")
    }
}
