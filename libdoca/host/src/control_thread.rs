//! The control thread of all control streams: heartbeats do not depend on progress calls.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use urom_os::fork::PerProcess;
use urom_os::signals;

/// A thread with a runtime. It ends with the last handle.
pub(super) struct ControlThread {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

static SHARED: PerProcess<Mutex<Weak<ControlThread>>> = PerProcess::new(Mutex::default);

impl ControlThread {
    pub(super) fn shared() -> io::Result<Arc<ControlThread>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(control) = shared.upgrade() {
            return Ok(control);
        }
        let control = Arc::new(ControlThread::start()?);
        *shared = Arc::downgrade(&control);
        Ok(control)
    }

    fn start() -> io::Result<ControlThread> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let carry = move || {
            // A dropped sender also ends it.
            let _ = runtime.block_on(stopped);
            // Does not wait for pending name resolution.
            runtime.shutdown_background();
        };
        let thread = signals::spawn("urom-control", carry)?;
        Ok(ControlThread { handle, stop: Some(stop), thread: Some(thread) })
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // The panic was already reported.
            let _ = thread.join();
        }
    }
}
