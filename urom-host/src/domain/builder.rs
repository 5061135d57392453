//! The builder of a domain.

use std::ffi::c_void;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host::CtxState;

use super::context::{self, DomainWorker, Owner};
use super::exchange::Exchange;
use super::{Domain, DomainBuffer};
use crate::callback;
use crate::context::ObjectKind;
use crate::error::{Error, Result};
use crate::gather::AllGather;
use crate::library::Library;
use crate::pending::Pending;
use crate::worker::{self, Worker};

const CREATING: &str = "creating a domain";

/// A builder for a domain, from [`ServiceHandle::domain`](crate::ServiceHandle::domain).
#[must_use = "a domain is not started before `start`"]
pub struct DomainBuilder {
    library: Library,
    workers: Vec<(u64, Rc<worker::Owner>)>,
    buffers: Vec<DomainBuffer>,
    gather: Option<Box<dyn AllGather>>,
}

impl DomainBuilder {
    pub(crate) fn new(library: Library) -> DomainBuilder {
        let (workers, buffers) = (Vec::new(), Vec::new());
        DomainBuilder { library, workers, buffers, gather: None }
    }

    /// Adds a running worker of this process under an id unique in the domain
    /// (`doca_urom_domain_set_workers`), which may differ from [its own](Worker::id). All workers
    /// must use one engine, which becomes the domain's.
    pub fn worker(mut self, id: u64, worker: &Worker) -> Self {
        self.workers.push((id, Rc::clone(worker.owner())));
        self
    }

    /// Adds memory of this process for the domain's workers (`doca_urom_domain_add_buffer`).
    pub fn buffer(mut self, buffer: DomainBuffer) -> Self {
        self.buffers.push(buffer);
        self
    }

    /// Sets the exchange between the domain's processes (`doca_urom_domain_set_oob`).
    pub fn gather(mut self, gather: impl AllGather + 'static) -> Self {
        self.gather = Some(Box::new(gather));
        self
    }

    /// Starts the domain (`doca_ctx_start`). All its processes must start it at the same time.
    ///
    /// # Errors
    /// The future resolves to
    ///
    /// - `INVALID_VALUE` for invalid settings: no worker, no all-gather, two workers with one id,
    ///   one worker under two ids, a worker of another library;
    /// - an error with the all-gather's error as its cause, if that failed;
    /// - the service's code and reason if the domain does not run, for instance because a worker
    ///   has ended or two processes use one id (`INITIALIZATION` from a library without reasons).
    ///
    /// # Panics
    /// With the panic of the all-gather.
    pub fn start(self) -> Pending<Domain> {
        let start = self.create().and_then(|owner| owner.start().map(|()| owner));
        // The library may already have begun an exchange.
        callback::resume();
        Pending::new(async move {
            let owner = start?;
            match owner.started().await? {
                CtxState::RUNNING => Ok(Domain { owner }),
                _ => Err(owner.failed()),
            }
        })
    }

    fn create(self) -> Result<Owner> {
        let gather = self.gather.ok_or_else(|| {
            let hint = "give it one with DomainBuilder::gather; gather::InProcess::alone() will \
                do for one process";
            invalid("it lacks an all-gather", hint)
        })?;
        let exchange = Exchange::new(gather);
        let Exchange { index, participants, .. } = exchange;
        if index >= participants {
            let why = format!("its all-gather calls itself {index} of {participants}");
            return Err(invalid(why, "indices go from 0 to one less than the participants"));
        }
        check_workers(&self.workers, self.library)?;
        let (_, first) = self.workers.first().ok_or_else(|| {
            invalid("it lacks a worker", "name at least one with DomainBuilder::worker")
        })?;
        let engine = first.engine.clone();
        let workers = self.workers.into_iter().map(|(id, worker)| (id, DomainWorker::new(worker)));
        let workers = workers.collect();
        let owner = Owner::create(engine, context::DomainObject { exchange, workers })?;
        owner.configure(&self.buffers)?;
        Ok(owner)
    }
}

fn check_workers(workers: &[(u64, Rc<worker::Owner>)], library: Library) -> Result<()> {
    workers.iter().try_for_each(|(_, worker)| worker.check())?;
    for (at, (id, worker)) in workers.iter().enumerate() {
        let mut before = workers[..at].iter();
        if before.clone().any(|(other, _)| other == id) {
            let why = format!("two of its workers have the id {id}");
            return Err(invalid(why, "ids are unique in a domain"));
        }
        if let Some((other, _)) = before.find(|(_, other)| Rc::ptr_eq(other, worker)) {
            let why = format!("{} is in it twice, as {other} and as {id}", worker.name());
            let hint = "a worker is in a domain once: start another worker for the second id";
            return Err(invalid(why, hint));
        }
        if worker.library != library {
            let why = format!("{} is of another library", worker.name());
            return Err(invalid(why, "all workers of a domain use one library"));
        }
    }
    Ok(())
}

fn invalid(why: impl Into<String>, hint: &'static str) -> Error {
    Error::new(DocaError::INVALID_VALUE, CREATING).why(why).hint(hint)
}

impl context::Context {
    fn configure(&self, buffers: &[DomainBuffer]) -> Result<()> {
        let (api, domain) = (self.api()?, self.object());
        let mut oob = self.exchange.oob();
        // SAFETY: the domain is live and idle; the structure is copied, and the exchange in it
        // lives as long as the domain.
        let code = unsafe { (api.doca_urom_domain_set_oob)(domain, &mut oob) };
        self.set(code, "the all-gather")?;
        let (mut ids, mut workers): (Vec<_>, Vec<_>) =
            self.workers.iter().map(|(id, worker)| (*id, worker.object())).unzip();
        // SAFETY: the domain is live and idle; both arrays have equally many entries, and are
        // copied. The domain keeps the workers alive.
        let code = unsafe {
            (api.doca_urom_domain_set_workers)(
                domain,
                ids.as_mut_ptr(),
                workers.as_mut_ptr(),
                workers.len(),
            )
        };
        self.set(code, "the workers")?;
        if buffers.is_empty() {
            return Ok(());
        }
        // SAFETY: the domain is live and idle.
        let code = unsafe { (api.doca_urom_domain_set_buffers_count)(domain, buffers.len()) };
        self.set(code, "the number of buffers")?;
        for buffer in buffers {
            let address = std::ptr::without_provenance_mut::<c_void>(buffer.address as usize);
            let (handle, key) = (&buffer.memory_handle, &buffer.key);
            // SAFETY: the domain is live and idle; the handle and the key are copied, and the
            // address is not dereferenced.
            let code = unsafe {
                (api.doca_urom_domain_add_buffer)(
                    domain,
                    address,
                    buffer.length,
                    handle.as_ptr().cast_mut().cast(),
                    handle.len(),
                    key.as_ptr().cast_mut().cast(),
                    key.len(),
                )
            };
            self.set(code, "a buffer")?;
        }
        Ok(())
    }
}

debug_fields!(DomainBuilder, |it| {
    ids: it.workers.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
    buffers: it.buffers
});
