//! One host's domains as they come in: tables in pieces, one after the other.

use std::sync::Arc;

use urom_abi::DocaError;

use super::domains::Domains;
use super::messages::LinkKey;
use crate::wire::control::{DomainWord, Failure, WorkerToHost};
use crate::wire::domain::MAX_TABLE;

/// A host's domains. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Intake {
    link: LinkKey,
    domains: Arc<Domains>,
    /// The table that is under way.
    table: Option<Partial>,
}

#[derive(Debug)]
struct Partial {
    domain: u64,
    bytes: Vec<u8>,
    len: usize,
}

impl Intake {
    pub(crate) fn new(link: LinkKey, domains: Arc<Domains>) -> Intake {
        Intake { link, domains, table: None }
    }

    /// Takes what the host says; what to answer.
    ///
    /// # Errors
    /// Why the host must go: it does not keep to the order of things.
    pub(crate) fn hear(&mut self, domain: u64, word: DomainWord) -> Result<Option<WorkerToHost>, Failure> {
        match word {
            DomainWord::Start { len } => self.start(domain, len),
            DomainWord::Piece(bytes) => self.piece(domain, &bytes),
            DomainWord::End => {
                if self.table.as_ref().is_some_and(|table| table.domain == domain) {
                    self.table = None;
                }
                self.domains.end((self.link, domain));
                Ok(Some(WorkerToHost::DomainEnded { domain }))
            }
        }
    }

    fn start(&mut self, domain: u64, len: u64) -> Result<Option<WorkerToHost>, Failure> {
        if let Some(table) = &self.table {
            let text = format!("domain {domain} starts inside the table of domain {}", table.domain);
            return Err(Failure::new(DocaError::BAD_STATE, text));
        }
        match usize::try_from(len) {
            Ok(len @ 1..=MAX_TABLE) => {
                self.table = Some(Partial { domain, bytes: Vec::new(), len });
                Ok(None)
            }
            _ => {
                let text = format!("a domain's table of {len} bytes is not possible: 1 to {MAX_TABLE} are");
                Err(Failure::new(DocaError::TOO_BIG, text))
            }
        }
    }

    fn piece(&mut self, domain: u64, bytes: &[u8]) -> Result<Option<WorkerToHost>, Failure> {
        let fits = |table: &&mut Partial| {
            table.domain == domain && bytes.len() <= table.len - table.bytes.len() && !bytes.is_empty()
        };
        let Some(table) = self.table.as_mut().filter(fits) else {
            let text = format!("a piece of {} bytes belongs to no table of domain {domain}", bytes.len());
            return Err(Failure::new(DocaError::BAD_STATE, text));
        };
        // Memory is taken as bytes come, not for a length that is only claimed.
        table.bytes.extend_from_slice(bytes);
        if table.bytes.len() < table.len {
            return Ok(None);
        }
        let whole = self.table.take().map(|table| table.bytes).unwrap_or_default();
        let result = self.domains.start((self.link, domain), &whole);
        Ok(Some(WorkerToHost::DomainStarted { domain, result }))
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.domains.end_all(self.link);
    }
}
