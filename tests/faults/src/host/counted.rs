//! The library's table of C functions, with a counter of completions.
//!
//! A call consumes a Rust callback, so a task that ends twice would not show there. In the C table
//! each completion is one call. Only a task in flight may complete. A task that ended and was
//! submitted again ends too early if its first command ends again: then its value is wrong.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::OnceLock;

use urom_abi::host::{Api, CmdTask, CmdTaskCallback, Data, Task};
use urom_host::{DocaStatus, Library};

use super::words::Word;

#[derive(Default)]
struct Counted {
    callback: Option<CmdTaskCallback>,
    in_flight: bool,
}

thread_local! {
    static TASKS: RefCell<HashMap<usize, Counted>> = RefCell::default();
    static TWICE: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn library() -> Library {
    static TABLE: OnceLock<Api> = OnceLock::new();
    let table = TABLE.get_or_init(|| Api {
        doca_urom_worker_cmd_task_set_cb: set_cb,
        doca_urom_worker_cmd_task_release: release,
        doca_task_submit: submit,
        ..*inner()
    });
    // SAFETY: the table's functions forward their own arguments to the built-in library.
    unsafe { Library::from_table(table) }
}

pub(super) fn complete_twice() {
    TWICE.set(true);
}

fn inner() -> &'static Api {
    libdoca_host::api()
}

/// Looks up a task; returns `None` if it is not a command.
fn with<T>(address: usize, look: impl FnOnce(&mut Counted) -> T) -> Option<T> {
    TASKS.with_borrow_mut(|tasks| tasks.get_mut(&address).map(look))
}

unsafe extern "C" fn set_cb(task: *mut CmdTask, callback: Option<CmdTaskCallback>) {
    TASKS.with_borrow_mut(|tasks| tasks.entry(task.addr()).or_default().callback = callback);
    // SAFETY: the caller guarantees a valid task.
    unsafe { (inner().doca_urom_worker_cmd_task_set_cb)(task, Some(completed)) };
}

unsafe extern "C" fn release(task: *mut CmdTask) -> DocaStatus {
    // SAFETY: the caller guarantees a valid task.
    let code = unsafe { (inner().doca_urom_worker_cmd_task_release)(task) };
    if code == DocaStatus::SUCCESS {
        TASKS.with_borrow_mut(|tasks| tasks.remove(&task.addr()));
    }
    code
}

unsafe extern "C" fn submit(task: *mut Task) -> DocaStatus {
    with(task.addr(), |counted| counted.in_flight = true);
    // SAFETY: the caller guarantees a valid task.
    let code = unsafe { (inner().doca_task_submit)(task) };
    if code != DocaStatus::SUCCESS {
        with(task.addr(), |counted| counted.in_flight = false);
    }
    code
}

unsafe extern "C" fn completed(task: *mut CmdTask, task_data: Data, ctx_data: Data) {
    let ends =
        |counted: &mut Counted| counted.callback.filter(|_| std::mem::take(&mut counted.in_flight));
    match with(task.addr(), ends).flatten() {
        // SAFETY: the caller set the callback for exactly this call, which comes once.
        Some(callback) => unsafe { callback(task, task_data, ctx_data) },
        None => Word::Never("a task completed that was not in flight".to_owned()).say(),
    }
    if TWICE.take() {
        // SAFETY: the arguments are the library's; the caller's callback is not called again.
        unsafe { completed(task, task_data, ctx_data) };
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Result;

    use crate::host::{Call, Order};
    use crate::process::TIMEOUT;
    use crate::service::{Logs, Service};
    use crate::transports::Transports;

    #[test]
    fn a_task_that_completes_twice_is_seen() -> Result<()> {
        let service = Service::start(Transports::All, &Logs::new()?)?;
        let mut host = service.host("host")?;
        host.start_worker(1)?;
        assert_eq!(host.call(1, Call::Echo(1), TIMEOUT)?.0, Ok(1));
        host.tell(&Order::CompleteTwice)?;
        let error = host.call(1, Call::Echo(2), TIMEOUT).expect_err("a task that ended twice");
        assert!(error.to_string().contains("a task completed that was not in flight"), "{error:#}");
        Ok(())
    }
}
