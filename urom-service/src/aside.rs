//! Threads for work that a loop must not wait for. tokio has such threads too, but panics when
//! there can be none at that moment.

use std::thread::Builder;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::dispatcher;
use urom_os::signals::no_thread;

pub(crate) fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let log = dispatcher::get_default(Clone::clone);
    let work = move || dispatcher::with_default(&log, work);
    // Signals are as they are here: what the thread starts inherits which are blocked.
    let thread = Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| no_thread(error).to_string())
}

/// The result of work that may block, done on a thread of its own inside this runtime.
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
