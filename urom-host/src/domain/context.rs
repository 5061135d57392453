//! A domain's context in the library.

use std::ops::Deref;
use std::rc::Rc;

use urom_abi::host::{Api, Domain as RawDomain};

use super::exchange::Exchange;
use crate::context::{self, Functions, ObjectKind};
use crate::error::Error;
use crate::{gather, owner, worker};

pub(super) type Context = context::Context<DomainObject>;
pub(super) type Owner = owner::Owner<DomainObject>;

pub(crate) struct DomainObject {
    pub(super) exchange: Exchange,
    pub(super) workers: Vec<(u64, DomainWorker)>,
}

/// A worker in a domain, which cannot be stopped before the domain.
pub(super) struct DomainWorker(Rc<worker::Owner>);

impl DomainWorker {
    pub(super) fn new(worker: Rc<worker::Owner>) -> DomainWorker {
        worker.domains.update(|domains| domains + 1);
        DomainWorker(worker)
    }
}

impl Drop for DomainWorker {
    fn drop(&mut self) {
        self.0.domains.update(|domains| domains - 1);
    }
}

impl Deref for DomainWorker {
    type Target = Rc<worker::Owner>;

    fn deref(&self) -> &Rc<worker::Owner> {
        &self.0
    }
}

impl ObjectKind for DomainObject {
    type Raw = RawDomain;

    const KIND: &'static str = "a domain";

    fn functions(api: &Api) -> Functions<RawDomain> {
        (api.doca_urom_domain_create, api.doca_urom_domain_as_ctx, api.doca_urom_domain_destroy)
    }

    fn name(&self) -> String {
        let Exchange { participants, index, .. } = &self.exchange;
        format!("a domain as participant {index} of {participants}")
    }
}

impl Context {
    pub(super) fn failed(&self) -> Error {
        let Some(source) = self.exchange.failure.take() else { return self.start_failure() };
        let code = self.failure_code().unwrap_or_else(|| gather::code_of(&*source));
        Error::new(code, format!("starting {}", self.name())).caused_by(source)
    }
}
