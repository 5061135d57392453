//! One host's domains as they come in: tables in pieces, one after the other; and the clerk who reads the tables of all hosts.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{JoinError, spawn_blocking};
use urom_abi::DocaError;

use super::domains::{Domains, Key};
use super::messages::LinkKey;
use crate::wire::control::{DomainWord, Failure, WorkerToHost};
use crate::wire::domain::MAX_TABLE;

/// What there is to do with the domains, in the order in which hosts asked for it.
#[derive(Debug)]
pub(crate) enum Job {
    /// A host's domain starts, if the table is one, or ends.
    Turn {
        key: Key,
        /// None of a domain that ends.
        table: Option<Vec<u8>>,
        answer: Answer,
    },
    /// A host is gone, and all its domains with it.
    Over(LinkKey),
}

/// Whom to tell when a job is done.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Weak: the stream of a host that must go does not wait for its table.
    pub(crate) outbox: mpsc::WeakSender<WorkerToHost>,
    /// The host's further words wait for this.
    pub(crate) turn: Option<OwnedSemaphorePermit>,
}

/// Does the jobs, one after the other. To read a long table takes seconds, and nobody else waits for that.
pub(crate) async fn clerk(domains: Arc<Domains>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    while let Some(job) = jobs.recv().await {
        work(&domains, job).await;
    }
}

pub(crate) async fn work(domains: &Arc<Domains>, job: Job) {
    let domains = Arc::clone(domains);
    let (key, table, Answer { outbox, turn }) = match job {
        Job::Turn { key, table, answer } => (key, table, answer),
        Job::Over(link) => {
            // There is nobody to tell that it failed.
            let _ = apart(move || domains.end_all(link)).await;
            return;
        }
    };
    let panicked = |_| Err(Failure::new(DocaError::UNEXPECTED, "reading the domain's table panicked"));
    let said = match table {
        Some(table) => {
            let result = apart(move || domains.start(key, &table)).await.unwrap_or_else(panicked);
            WorkerToHost::DomainStarted { domain: key.1, result }
        }
        None => {
            let _ = apart(move || domains.end(key)).await;
            WorkerToHost::DomainEnded { domain: key.1 }
        }
    };
    if let Some(outbox) = outbox.upgrade() {
        // A host that reads nothing is soon given up.
        let _ = outbox.try_send(said);
    }
    drop(turn);
}

/// Runs what takes seconds for a long table on a thread of its own: the heartbeats must go on meanwhile.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    #[cfg(any(test, feature = "fuzzing"))]
    if crate::fuzzing::memory::is_counted() {
        return Ok(work());
    }
    spawn_blocking(work).await
}

/// A host's domains. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Intake {
    link: LinkKey,
    jobs: mpsc::UnboundedSender<Job>,
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
    pub(crate) fn new(link: LinkKey, jobs: mpsc::UnboundedSender<Job>) -> Intake {
        Intake { link, jobs, table: None }
    }

    /// Takes what the host says. What has to be done for that is the clerk's, who answers.
    ///
    /// # Errors
    /// Why the host must go: it does not keep to the order of things.
    pub(crate) fn hear(&mut self, domain: u64, word: DomainWord, answer: Answer) -> Result<(), Failure> {
        let table = match word {
            DomainWord::Start { len } => return self.start(domain, len),
            DomainWord::Piece(bytes) => match self.piece(domain, &bytes)? {
                Some(whole) => Some(whole),
                None => return Ok(()),
            },
            DomainWord::End => {
                if self.table.as_ref().is_some_and(|table| table.domain == domain) {
                    self.table = None;
                }
                None
            }
        };
        // The clerk stays until the worker ends.
        let _ = self.jobs.send(Job::Turn { key: (self.link, domain), table, answer });
        Ok(())
    }

    fn start(&mut self, domain: u64, len: u64) -> Result<(), Failure> {
        if let Some(table) = &self.table {
            let text = format!("domain {domain} starts inside the table of domain {}", table.domain);
            return Err(Failure::new(DocaError::BAD_STATE, text));
        }
        match usize::try_from(len) {
            Ok(len @ 1..=MAX_TABLE) => {
                self.table = Some(Partial { domain, bytes: Vec::new(), len });
                Ok(())
            }
            _ => {
                let text = format!("a domain's table of {len} bytes is not possible: 1 to {MAX_TABLE} are");
                Err(Failure::new(DocaError::TOO_BIG, text))
            }
        }
    }

    /// Adds a piece; the table if it is whole.
    fn piece(&mut self, domain: u64, bytes: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let fits = |table: &&mut Partial| {
            table.domain == domain && bytes.len() <= table.len - table.bytes.len() && !bytes.is_empty()
        };
        let Some(table) = self.table.as_mut().filter(fits) else {
            let text = format!("a piece of {} bytes belongs to no table of domain {domain}", bytes.len());
            return Err(Failure::new(DocaError::BAD_STATE, text));
        };
        // Memory is taken as bytes come, not for a length that is only claimed.
        table.bytes.extend_from_slice(bytes);
        Ok(self.table.take_if(|table| table.bytes.len() == table.len).map(|table| table.bytes))
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        // Without a clerk the worker ends, and its domains do.
        let _ = self.jobs.send(Job::Over(self.link));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::memory::within;
    use crate::fuzzing::now;
    use crate::session::BACKLOG;
    use crate::wire::domain::{Member, Participant};

    fn blob(members: u64) -> Vec<u8> {
        let member = |id| Member { id, addresses: Vec::new() };
        Participant { members: (0..members).map(member).collect(), segments: Vec::new() }.encode()
    }

    /// A host, and what the clerk knows and is asked for.
    struct Desk {
        intake: Intake,
        outbox: mpsc::Sender<WorkerToHost>,
        told: mpsc::Receiver<WorkerToHost>,
        domains: Arc<Domains>,
        jobs: mpsc::UnboundedReceiver<Job>,
    }

    fn desk() -> Desk {
        let ((sender, jobs), (outbox, told)) = (mpsc::unbounded_channel(), mpsc::channel(BACKLOG));
        Desk { intake: Intake::new(1, sender), outbox, told, domains: Arc::new(Domains::new()), jobs }
    }

    impl Desk {
        fn says(&mut self, word: DomainWord) -> Result<(), Failure> {
            let answer = Answer { outbox: self.outbox.downgrade(), turn: None };
            self.intake.hear(3, word, answer)
        }

        fn sends(&mut self, table: &[u8]) {
            self.says(DomainWord::Start { len: table.len() as u64 }).unwrap();
            self.says(DomainWord::Piece(table.to_vec())).unwrap();
        }

        async fn works(&mut self) {
            while let Ok(job) = self.jobs.try_recv() {
                work(&self.domains, job).await;
            }
        }
    }

    #[tokio::test]
    async fn what_hosts_ask_for_is_done_in_their_order_and_not_before() {
        let mut desk = desk();
        desk.sends(&blob(1));
        desk.says(DomainWord::End).unwrap();
        desk.sends(&blob(2));
        assert!(desk.told.is_empty() && desk.domains.count(None) == 0, "nobody waits for a table");
        desk.works().await;
        let started = |said| matches!(said, Ok(WorkerToHost::DomainStarted { domain: 3, result: Ok(()) }));
        assert!(started(desk.told.try_recv()));
        assert!(matches!(desk.told.try_recv(), Ok(WorkerToHost::DomainEnded { domain: 3 })));
        assert!(started(desk.told.try_recv()));
        // A host that is gone takes a domain that has not started yet with it.
        desk.says(DomainWord::End).unwrap();
        desk.sends(&blob(3));
        let Desk { intake, outbox, domains, jobs, .. } = desk;
        drop((intake, outbox));
        clerk(Arc::clone(&domains), jobs).await;
        assert_eq!(domains.count(None), 0);
    }

    #[test]
    fn where_memory_is_counted_that_for_a_table_is() {
        let blob = blob(1000);
        let reads = || {
            now(async {
                let mut desk = desk();
                desk.sends(&blob);
                desk.works().await;
            });
        };
        within(1 << 20, reads);
        assert!(std::panic::catch_unwind(|| within(4 * blob.len(), reads)).is_err());
    }
}
