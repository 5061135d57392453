//! One host's domains as they come in: tables in pieces, one after the other.

use std::sync::Arc;

use tokio::task::{JoinError, spawn_blocking};
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
    pub(crate) async fn hear(
        &mut self,
        domain: u64,
        word: DomainWord,
    ) -> Result<Option<WorkerToHost>, Failure> {
        match word {
            DomainWord::Start { len } => self.start(domain, len),
            DomainWord::Piece(bytes) => self.piece(domain, &bytes).await,
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

    async fn piece(&mut self, domain: u64, bytes: &[u8]) -> Result<Option<WorkerToHost>, Failure> {
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
        let (domains, key) = (Arc::clone(&self.domains), (self.link, domain));
        let panicked = |_| Err(Failure::new(DocaError::UNEXPECTED, "reading the domain's table panicked"));
        let result = apart(move || domains.start(key, &whole)).await.unwrap_or_else(panicked);
        Ok(Some(WorkerToHost::DomainStarted { domain, result }))
    }
}

/// Runs what takes seconds for a long table on a thread of its own: the heartbeats must go on meanwhile.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    #[cfg(any(test, feature = "fuzzing"))]
    if crate::fuzzing::memory::is_counted() {
        return Ok(work());
    }
    spawn_blocking(work).await
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.domains.end_all(self.link);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::fuzzing::memory::within;
    use crate::fuzzing::now;
    use crate::wire::domain::{Member, Participant};

    #[tokio::test]
    async fn reading_a_table_holds_nothing_else_up() {
        let blob =
            Participant { members: vec![Member { id: 7, addresses: Vec::new() }], segments: Vec::new() }
                .encode();
        let mut intake = Intake::new(1, Arc::new(Domains::new()));
        assert!(intake.hear(3, DomainWord::Start { len: blob.len() as u64 }).await.unwrap().is_none());
        let others = Cell::new(false);
        let hear = async {
            let answer = intake.hear(3, DomainWord::Piece(blob)).await.unwrap();
            assert!(matches!(answer, Some(WorkerToHost::DomainStarted { domain: 3, result: Ok(()) })));
            assert!(others.get(), "heartbeats had to wait");
        };
        tokio::join!(biased; hear, async { others.set(true) });
    }

    #[test]
    fn where_memory_is_counted_that_for_a_table_is() {
        let member = |id| Member { id, addresses: Vec::new() };
        let blob = Participant { members: (1..1000).map(member).collect(), segments: Vec::new() }.encode();
        let reads = || {
            now(async {
                let mut intake = Intake::new(1, Arc::new(Domains::new()));
                intake.hear(3, DomainWord::Start { len: blob.len() as u64 }).await.unwrap();
                intake.hear(3, DomainWord::Piece(blob.clone())).await.unwrap();
            });
        };
        within(1 << 20, reads);
        assert!(std::panic::catch_unwind(|| within(4 * blob.len(), reads)).is_err());
    }
}
