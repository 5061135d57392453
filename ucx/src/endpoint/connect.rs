//! Making endpoints from worker addresses.

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use ucx_sys::{self as sys, Zeroed};

use super::failed::FailureWaiters;
use super::{Endpoint, EndpointState, ErrorMode, Hook, on_error};
use crate::address::WorkerAddress;
use crate::context::void;
use crate::status::{Result, Status, check};
use crate::version::{Version, version};
use crate::worker::Worker;

impl Worker {
    /// Connects to this address: [`EndpointBuilder::connect`] without an error hook.
    pub fn connect(&self, address: &WorkerAddress) -> Result<Endpoint> {
        self.endpoint().connect(address)
    }

    /// Returns a builder for an endpoint.
    pub fn endpoint(&self) -> EndpointBuilder {
        EndpointBuilder { worker: self.clone(), mode: ErrorMode::default(), hook: None }
    }
}

/// Builds an [`Endpoint`].
#[must_use]
pub struct EndpointBuilder {
    pub(crate) worker: Worker,
    pub(crate) mode: ErrorMode,
    hook: Option<Hook>,
}

impl EndpointBuilder {
    /// Sets the behaviour when the peer is lost; the default is [`ErrorMode::Peer`].
    pub fn error_mode(mut self, mode: ErrorMode) -> Self {
        self.mode = mode;
        self
    }

    /// Calls `hook` once when the peer is lost or the connection fails, from [`Worker::progress`]
    /// or [`Worker::arm`], after UCX has returned; never with [`ErrorMode::None`]. The hook may
    /// drop the endpoint, but must not hold a strong handle of the worker or the endpoint.
    pub fn on_error(mut self, hook: impl FnOnce(Status) + 'static) -> Self {
        self.hook = Some(Box::new(hook));
        self
    }

    /// Connects to this address: `ucp_ep_create`. The first request or error hook reports failures.
    ///
    /// # Errors
    /// `UNREACHABLE` when no transport reaches the peer, its UCX is incompatible (see
    /// [`wire_compatible`](crate::wire_compatible)), or its shared memory sizes differ, as with and
    /// without [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory).
    pub fn connect(self, address: &WorkerAddress) -> Result<Endpoint> {
        let what = || format!("connecting to the worker at {address:?}");
        self.worker.context().check_queues(address.queues(), what)?;
        let mut params = sys::ucp_ep_params_t::zeroed();
        params.field_mask = sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS.into();
        params.address = address.raw();
        let shared = Rc::new(EndpointState {
            worker: self.worker.as_ptr(),
            failed: Cell::new(None),
            hook: Cell::new(self.hook),
            waiting: FailureWaiters::default(),
            over: Cell::new(false),
            in_mesh: Cell::new(false),
            watched: Cell::new(None),
        });
        params.field_mask |= u64::from(
            sys::UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | sys::UCP_EP_PARAM_FIELD_ERR_HANDLER,
        );
        params.err_mode = match self.mode {
            ErrorMode::Peer => sys::UCP_ERR_HANDLING_MODE_PEER,
            ErrorMode::None => sys::UCP_ERR_HANDLING_MODE_NONE,
        };
        params.err_handler.cb = Some(on_error);
        params.err_handler.arg = void(Rc::as_ptr(&shared));
        let mut raw = ptr::null_mut();
        // SAFETY: the worker is live, pointers live through the call, the handler's argument until
        // close.
        let status = unsafe { sys::ucp_ep_create(self.worker.raw(), &params, &mut raw) };
        let no_way = Status::from_raw(status) == Status::UNREACHABLE
            && matches!(version(), Version { major: 1, minor: 20, .. })
            && is_loopback_alone(self.worker.context().devices(), network_devices);
        check(status, if no_way { format!("{}{WITHOUT_LOOPBACK}", what()) } else { what() })?;
        let address = address.clone();
        Ok(Endpoint { raw, mode: self.mode, shared, worker: self.worker, address })
    }
}

/// UCX 1.20 misreads the namespace id in the address of the loopback device as an address.
const WITHOUT_LOOPBACK: &str = " (UCX 1.20 does not reach the loopback device over tcp: \
     let it use shared memory with UCX_TLS or another device with UCX_NET_DEVICES, or use another \
     release)";

fn is_loopback_alone(devices: Option<&str>, there: impl FnOnce() -> Vec<String>) -> bool {
    let chosen = devices.filter(|devices| *devices != "all");
    let names = chosen.map_or_else(there, |names| names.split(',').map(str::to_owned).collect());
    names.iter().all(|name| name.trim() == "lo")
}

fn network_devices() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_blamed_only_where_there_is_no_other() {
        let there = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for (devices, names, alone) in [
            (Some("lo"), &["eth0", "lo"][..], true),
            (Some(" lo "), &["eth0"], true),
            (Some("eth0"), &["lo"], false),
            (Some("lo,eth0"), &["lo"], false),
            (Some("all"), &["lo"], true),
            (None, &["lo"], true),
            (None, &["eth0", "lo"], false),
        ] {
            assert_eq!(is_loopback_alone(devices, || there(names)), alone, "{devices:?} {names:?}");
        }
    }
}
