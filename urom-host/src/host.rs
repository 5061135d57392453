//! The host side of a protocol for generated clients.

use std::time::Duration;

use urom_abi::protocol::{HostSide, Reply, Request};

use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::task::{self, Completion, TaskHandle};
use crate::worker::Worker;

/// This crate for generated clients: a client is a `P::Client<Host>`, made by
/// [`Service::plugin`](crate::ServiceHandle::plugin).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {}

impl HostSide for Host {
    type Plugin = Plugin;
    type Worker = Worker;
    type Error = Error;
    type Completion<R: Reply> = Completion<R>;
    type Handle = TaskHandle;

    #[inline]
    fn submit<C: Request>(
        plugin: &Plugin,
        worker: &Worker,
        command: &C,
        deadline: Option<Duration>,
    ) -> Result<Completion<C::Reply>> {
        task::submit(plugin, worker, command, deadline)
    }

    /// The callback runs inside the progress call that completes the task. It may submit further
    /// tasks, but not wait. Up to 32 bytes, with echoed fields, it needs no allocation.
    ///
    /// A panic in it does not cross the library: it continues in the caller of the progress.
    fn submit_with<C: Request, F>(
        plugin: &Plugin,
        worker: &Worker,
        command: &C,
        deadline: Option<Duration>,
        callback: F,
    ) -> Result<TaskHandle>
    where
        F: FnOnce(Result<C::Reply>) + 'static,
    {
        task::submit_with(plugin, worker, command, deadline, callback)
    }
}
