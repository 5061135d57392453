//! Threads for work that a loop must not wait for. tokio's own panic when a thread cannot start.

use std::thread::Builder;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::dispatcher;
use urom_os::signals::no_thread;

pub(crate) fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let log = dispatcher::get_default(Clone::clone);
    let work = move || dispatcher::with_default(&log, work);
    // The thread inherits the signal mask of this thread.
    let thread = Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| no_thread(error).to_string())
}

/// Runs work that may block on its own thread, and returns its result inside this runtime.
pub(crate) async fn result_of<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (tell, told) = oneshot::channel();
    let runtime = Handle::current();
    on_thread(name, move || {
        let _inside = runtime.enter();
        let _ = tell.send(work());
    })?;
    told.await.map_err(|_| "it panicked; please report it".to_owned())
}
