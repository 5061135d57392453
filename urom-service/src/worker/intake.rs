//! One host's incoming domains, with tables in pieces; and the thread that reads all hosts' tables.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tokio::sync::mpsc::WeakSender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use urom_abi::DocaError;
use urom_wire::control::{DomainWord, Failure, WorkerToHost};
use urom_wire::domain::MAX_TABLE;

use super::domains::{DomainKey, WorkerDomains};
use super::messages::LinkKey;

const TABLE_BYTES: usize = 256 << 20;

/// Interval between checks of a host's incomplete table.
pub(super) const TABLE_LOOK: Duration = Duration::from_secs(4);

/// Limit of such checks for one table: enough for the longest at 1 MB/s.
const WHOLE_WITHIN: u32 = 16;

#[derive(Debug)]
pub(crate) enum DomainJob {
    Turn {
        key: DomainKey,
        word: DomainStep,
        answer: DomainReply,
    },
    /// A host left, and its domains end.
    Over(LinkKey),
}

#[derive(Debug)]
pub(crate) enum DomainStep {
    /// `None` if there was not enough capacity for the table.
    Start(Option<ReceivedTable>),
    End,
}

#[derive(Debug, Default)]
pub(crate) struct ReceivedTable {
    bytes: Vec<u8>,
    /// Its share of [`TABLE_BYTES`]; `None` without bytes.
    permit: Option<OwnedSemaphorePermit>,
}

impl ReceivedTable {
    fn with(mut self, bytes: &[u8], space: &Arc<Semaphore>) -> Option<ReceivedTable> {
        // A message's length fits this type.
        let more = Arc::clone(space).try_acquire_many_owned(bytes.len() as u32).ok()?;
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        self.bytes.extend_from_slice(bytes);
        Some(self)
    }
}

/// Submits tables: as jobs of [`read_tables`], with capacity for unread tables.
#[derive(Clone, Debug)]
pub(crate) struct TableInbox {
    jobs: Sender<DomainJob>,
    space: Arc<Semaphore>,
}

impl TableInbox {
    pub(crate) fn new() -> (TableInbox, Receiver<DomainJob>) {
        let (jobs, to_do) = channel();
        (TableInbox { jobs, space: Arc::new(Semaphore::new(TABLE_BYTES)) }, to_do)
    }
}

#[derive(Debug)]
pub(crate) struct DomainReply {
    /// Weak: the stream of a host that must go does not wait for its table.
    pub(crate) outbox: WeakSender<WorkerToHost>,
    /// Delays the host's further messages.
    pub(crate) turn: Option<OwnedSemaphorePermit>,
}

/// Runs the jobs in order on its own thread: a long table takes seconds, heartbeats must go on.
pub(crate) fn read_tables(domains: &WorkerDomains, jobs: &Receiver<DomainJob>) {
    for job in jobs {
        work(domains, job);
    }
}

pub(crate) fn work(domains: &WorkerDomains, job: DomainJob) {
    let (key, word, DomainReply { outbox, turn }) = match job {
        DomainJob::Turn { key, word, answer } => (key, word, answer),
        DomainJob::Over(link) => return domains.end_all(link),
    };
    let domain = key.1;
    let said = match word {
        DomainStep::Start(table) => {
            let table = table.ok_or_else(without_capacity);
            let start = || table.and_then(|table| domains.start(key, &table.bytes));
            let result = catch_unwind(AssertUnwindSafe(start)).unwrap_or_else(|_| {
                Err(Failure::new(DocaError::UNEXPECTED, "reading the domain's table panicked"))
            });
            WorkerToHost::DomainStarted { domain, result }
        }
        DomainStep::End => {
            domains.end(key);
            WorkerToHost::DomainEnded { domain }
        }
    };
    if let Some(outbox) = outbox.upgrade() {
        let _ = outbox.try_send(said);
    }
    drop(turn);
}

fn without_capacity() -> Failure {
    let text = format!(
        "the tables of other domains that start at this worker leave no capacity for this one: all together \
         may have {TABLE_BYTES} bytes; start it again when those have started"
    );
    Failure::new(DocaError::FULL, text)
}

#[derive(Debug)]
pub(crate) struct Intake {
    link: LinkKey,
    inbox: TableInbox,
    table: Option<PartialTable>,
}

#[derive(Debug)]
struct PartialTable {
    domain: u64,
    table: Option<ReceivedTable>,
    missing: usize,
    rounds: u32,
}

impl Intake {
    pub(crate) fn new(link: LinkKey, inbox: TableInbox) -> Intake {
        Intake { link, inbox, table: None }
    }

    /// Handles a host's message. Any resulting work is a job of [`read_tables`], which answers.
    pub(crate) fn handle(
        &mut self,
        domain: u64,
        word: DomainWord,
        answer: DomainReply,
    ) -> Result<(), Failure> {
        let word = match word {
            DomainWord::Start { len } => return self.start(domain, len),
            DomainWord::Piece(bytes) => match self.piece(domain, &bytes)? {
                Some(whole) => whole,
                None => return Ok(()),
            },
            DomainWord::End => {
                if self.table.as_ref().is_some_and(|table| table.domain == domain) {
                    self.table = None;
                }
                DomainStep::End
            }
        };
        // The thread runs until the worker ends.
        let _ = self.inbox.jobs.send(DomainJob::Turn { key: (self.link, domain), word, answer });
        Ok(())
    }

    fn start(&mut self, domain: u64, len: u64) -> Result<(), Failure> {
        if let Some(table) = &self.table {
            let text =
                format!("domain {domain} starts inside the table of domain {}", table.domain);
            return Err(Failure::new(DocaError::BAD_STATE, text));
        }
        let Some(missing) = usize::try_from(len).ok().filter(|len| (1..=MAX_TABLE).contains(len))
        else {
            let text =
                format!("a domain's table of {len} bytes is not possible: 1 to {MAX_TABLE} are");
            return Err(Failure::new(DocaError::TOO_BIG, text));
        };
        self.table = Some(PartialTable {
            domain,
            table: Some(ReceivedTable::default()),
            missing,
            rounds: 0,
        });
        Ok(())
    }

    /// Counts one [`TABLE_LOOK`]. Returns a failure if an incomplete table keeps capacity too long.
    pub(crate) fn round(&mut self) -> Option<Failure> {
        let table = self.table.as_mut()?;
        table.rounds += 1;
        if table.rounds <= WHOLE_WITHIN {
            return None;
        }
        let text = format!(
            "the table of domain {} was not whole within {} s: {} bytes are missing",
            table.domain,
            (TABLE_LOOK * WHOLE_WITHIN).as_secs(),
            table.missing
        );
        Some(Failure::new(DocaError::TIME_OUT, text))
    }

    fn piece(&mut self, domain: u64, bytes: &[u8]) -> Result<Option<DomainStep>, Failure> {
        let fits = |table: &&mut PartialTable| {
            table.domain == domain && bytes.len() <= table.missing && !bytes.is_empty()
        };
        let Some(partial) = self.table.as_mut().filter(fits) else {
            let text =
                format!("a piece of {} bytes belongs to no table of domain {domain}", bytes.len());
            return Err(Failure::new(DocaError::BAD_STATE, text));
        };
        // Received bytes take capacity and memory; a claimed length does not.
        partial.table = partial.table.take().and_then(|table| table.with(bytes, &self.inbox.space));
        partial.missing -= bytes.len();
        let whole = self.table.take_if(|partial| partial.missing == 0);
        Ok(whole.map(|partial| DomainStep::Start(partial.table)))
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        // Without the thread, the worker and its domains end.
        let _ = self.inbox.jobs.send(DomainJob::Over(self.link));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;
    use urom_wire::domain::{Member, Participant};
    use urom_wire::relay::BACKLOG;

    fn blob(members: u64) -> Vec<u8> {
        let member = |id| Member { id, addresses: Vec::new() };
        Participant { members: (0..members).map(member).collect(), segments: Vec::new() }.encode()
    }

    struct Scene {
        intake: Intake,
        outbox: mpsc::Sender<WorkerToHost>,
        told: mpsc::Receiver<WorkerToHost>,
        domains: Arc<WorkerDomains>,
        jobs: Receiver<DomainJob>,
    }

    fn scene() -> Scene {
        let ((inbox, jobs), (outbox, told)) = (TableInbox::new(), mpsc::channel(BACKLOG));
        Scene {
            intake: Intake::new(1, inbox),
            outbox,
            told,
            domains: Arc::new(WorkerDomains::new()),
            jobs,
        }
    }

    impl Scene {
        fn says(&mut self, word: DomainWord) -> Result<(), Failure> {
            let answer = DomainReply { outbox: self.outbox.downgrade(), turn: None };
            self.intake.handle(3, word, answer)
        }

        fn sends(&mut self, table: &[u8]) {
            self.says(DomainWord::Start { len: table.len() as u64 }).unwrap();
            self.says(DomainWord::Piece(table.to_vec())).unwrap();
        }

        fn works(&mut self) {
            while let Ok(job) = self.jobs.try_recv() {
                work(&self.domains, job);
            }
        }
    }

    #[test]
    fn requests_of_hosts_run_in_their_order_and_not_on_arrival() {
        let mut scene = scene();
        scene.sends(&blob(1));
        scene.says(DomainWord::End).unwrap();
        scene.sends(&blob(2));
        assert!(
            scene.told.is_empty() && scene.domains.count(None) == 0,
            "no request waits for a table"
        );
        scene.works();
        let started =
            |said| matches!(said, Ok(WorkerToHost::DomainStarted { domain: 3, result: Ok(()) }));
        assert!(started(scene.told.try_recv()));
        assert!(matches!(scene.told.try_recv(), Ok(WorkerToHost::DomainEnded { domain: 3 })));
        assert!(started(scene.told.try_recv()));
        // A host that leaves also removes a domain that has not started.
        scene.says(DomainWord::End).unwrap();
        scene.sends(&blob(3));
        let Scene { intake, outbox, domains, jobs, .. } = scene;
        drop((intake, outbox));
        read_tables(&domains, &jobs);
        assert_eq!(domains.count(None), 0);
    }

    #[test]
    fn tables_of_all_hosts_share_a_capacity_and_a_table_beyond_it_is_refused() {
        let mut scene = scene();
        let inbox = scene.intake.inbox.clone();
        let mut holders: Vec<Intake> =
            (2..6).map(|link| Intake::new(link, inbox.clone())).collect();
        for intake in &mut holders {
            intake.start(1, MAX_TABLE as u64).unwrap();
        }
        assert_eq!(inbox.space.available_permits(), TABLE_BYTES, "to claim a length takes nothing");
        let nearly_all = vec![0; MAX_TABLE - 1];
        for intake in &mut holders {
            assert!(intake.piece(1, &nearly_all).unwrap().is_none());
        }
        scene.sends(&blob(100));
        scene.works();
        match scene.told.try_recv() {
            Ok(WorkerToHost::DomainStarted { domain: 3, result: Err(failure) }) => {
                assert_eq!(failure.code, DocaError::FULL);
                assert!(failure.text.contains("start it again"), "{}", failure.text);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.domains.count(None), 0);
        // A host that leaves frees its capacity, and so does reading a table.
        for _ in 0..2 {
            holders.pop();
            scene.sends(&blob(100));
            scene.says(DomainWord::End).unwrap();
            scene.works();
            assert!(matches!(
                scene.told.try_recv(),
                Ok(WorkerToHost::DomainStarted { result: Ok(()), .. })
            ));
            assert!(matches!(scene.told.try_recv(), Ok(WorkerToHost::DomainEnded { .. })));
        }
        drop(holders);
        assert_eq!(inbox.space.available_permits(), TABLE_BYTES);
    }

    #[test]
    fn a_table_that_does_not_become_whole_is_late_after_a_while() {
        let mut scene = scene();
        let later = |scene: &mut Scene| (0..=WHOLE_WITHIN).find_map(|_| scene.intake.round());
        assert_eq!(later(&mut scene), None);
        scene.says(DomainWord::Start { len: 10 }).unwrap();
        scene.says(DomainWord::Piece(vec![0; 9])).unwrap();
        assert!((0..WHOLE_WITHIN).all(|_| scene.intake.round().is_none()));
        let failure = scene.intake.round().unwrap();
        assert_eq!(failure.code, DocaError::TIME_OUT);
        assert!(
            failure.text.contains("domain 3 ") && failure.text.contains(" 1 bytes"),
            "{failure}"
        );
        scene.says(DomainWord::End).unwrap();
        assert_eq!(later(&mut scene), None);
    }
}
