//! A domain's context in the library, and what becomes of it.

use std::ops::Deref;
use std::ptr::NonNull;
use std::rc::Rc;
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::host::Domain as RawDomain;

use super::exchange::Exchange;
use crate::callback;
use crate::context::ContextHandle;
use crate::engine::ProgressEngine;
use crate::engine::leaving::{DROP_WAIT, LEAVE_LIMIT};
use crate::error::{Error, Result};
use crate::gather;
use crate::library::Library;
use crate::owner::{self, Owned};
use crate::wait;
use crate::worker;

pub(super) struct Context {
    handle: ContextHandle,
    domain: NonNull<RawDomain>,
    pub(super) engine: ProgressEngine,
    pub(super) exchange: Exchange,
    pub(super) workers: Vec<(u64, Rc<worker::Owner>)>,
}

impl Deref for Context {
    type Target = ContextHandle;

    fn deref(&self) -> &ContextHandle {
        &self.handle
    }
}

impl Context {
    pub(super) fn domain(&self) -> *mut RawDomain {
        self.domain.as_ptr()
    }

    pub(super) fn start(&self) -> Result<()> {
        self.handle.start(|| self.starting())
    }

    pub(super) fn start_failure(&self) -> Error {
        let Some(source) = self.exchange.take_failure() else {
            return self.handle.start_failure(self.starting());
        };
        let code = self.failure_code().unwrap_or_else(|| gather::code_of(&*source));
        Error::new(code, self.starting()).caused_by(source)
    }

    fn starting(&self) -> String {
        format!("starting {}", self.name())
    }

    fn stopping(&self) -> String {
        format!("stopping {}", self.name())
    }

    pub(super) fn stop(&self) -> Result<()> {
        // Inside a callback nothing moves. The drop of the owner does the rest afterwards.
        if self.stop_within(LEAVE_LIMIT)? || callback::is_running() {
            return Ok(());
        }
        let why = format!("it is not idle after {LEAVE_LIMIT:?}");
        Err(Error::new(DocaError::TIME_OUT, self.stopping()).why(why))
    }

    /// Stops the domain; whether it is idle within the limit. DOCA stops domains at once; other
    /// libraries may not.
    fn stop_within(&self, limit: Duration) -> Result<bool> {
        if !self.is_idle() {
            self.handle.stop(|| self.stopping())?;
        }
        Ok(self.is_idle() || !callback::is_running() && wait::wait_until(limit, || self.is_idle()))
    }
}

impl Owned for Context {
    fn engine(&self) -> &ProgressEngine {
        &self.engine
    }

    fn name(&self) -> String {
        let Exchange { participants, index, .. } = &self.exchange;
        format!("a domain as participant {index} of {participants}")
    }

    fn stop_to_drop(&self) -> bool {
        self.stop_within(DROP_WAIT).unwrap_or_else(|error| {
            // The library may be able to destroy a domain that it cannot stop.
            tracing::warn!("{error}");
            true
        })
    }

    unsafe fn destroy(&self) -> DocaError {
        // SAFETY: the domain is live; the caller vouches that nobody else uses it.
        callback::calling(|| unsafe { (self.api().doca_urom_domain_destroy)(self.domain()) })
    }

    fn destroyed(&self) {
        self.workers.iter().for_each(|(_, worker)| worker.domains.set(worker.domains.get() - 1));
    }

    fn handles(&self) -> usize {
        // Workers that nobody else has are stopped with the domain.
        let own = |worker: &Rc<worker::Owner>| {
            Rc::strong_count(worker) == 1 && worker.engine.is_same(&self.engine)
        };
        1 + self.workers.iter().filter(|(_, worker)| own(worker)).count()
    }
}

pub(super) type Owner = owner::Owner<Context>;

impl Owner {
    pub(super) fn create(
        library: Library,
        engine: ProgressEngine,
        exchange: Exchange,
        workers: Vec<(u64, Rc<worker::Owner>)>,
    ) -> Result<Owner> {
        let api = library.api();
        let (new, as_ctx) = (api.doca_urom_domain_create, api.doca_urom_domain_as_ctx);
        // SAFETY: the domain is destroyed right before the handle is dropped.
        let (domain, handle) = unsafe { ContextHandle::create(library, "a domain", new, as_ctx) }?;
        let context = Context { handle, domain, engine, exchange, workers };
        let owner = Owner::new(context);
        owner.workers.iter().for_each(|(_, worker)| worker.domains.set(worker.domains.get() + 1));
        owner.register()?;
        Ok(owner)
    }
}
