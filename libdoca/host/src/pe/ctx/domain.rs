//! `doca_urom_domain`. Progress polls a start: the exchange, the table to this process's workers,
//! their confirmations, and the verdicts. Afterwards all processes run the domain or none does. A
//! stop is synchronous: it cancels pending work, and waits briefly until plugins cannot find the
//! domain.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::{Arc, mpsc};
use std::task::{self, Poll, Waker};
use std::time::Duration;

use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::yield_now;
use urom_abi::host::CtxState;
use urom_abi::{DocaError, Quantity, WorkerId};
use urom_wire::control::Failure;
use urom_wire::domain::{Address, MAX_SEGMENTS, Member, Participant, Segment, is_range};

use crate::exchange::{Oob, exchange};
use crate::failure::{fail_if, failure};
use crate::pe::Pe;
use crate::pe::ctx::worker::Worker;
use crate::pe::ctx::{Context, ContextPart};
use crate::pe::run::WorkerRun;
use crate::worker_link::WorkerOrder;

/// Timeout of a stop. A worker silent for this long will soon be declared lost.
const STOP_DEADLINE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Domain {
    pub(crate) oob: Cell<Option<Oob>>,
    workers: RefCell<Vec<(u64, Weak<Context>)>>,
    count: Cell<usize>,
    buffers: RefCell<Vec<MemberBuffer>>,
    run: RefCell<Option<Rc<DomainRun>>>,
}

type Start = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;

pub(crate) struct MemberBuffer {
    pub(crate) va: u64,
    pub(crate) len: u64,
    pub(crate) memh: Vec<u8>,
    pub(crate) mkey: Vec<u8>,
}

fn failure_of(worker: &Weak<Context>) -> Option<Failure> {
    worker.upgrade()?.with_failure(Failure::clone)
}

struct DomainRun {
    /// The run's number, the domain's id at workers.
    number: u64,
    /// In the domain's order. Empty if a worker is not running.
    workers: Vec<OwnWorker>,
    have_table: Cell<bool>,
    /// `Some` during the start, except during a step.
    start: RefCell<Option<Start>>,
    failed: Cell<bool>,
}

struct OwnWorker {
    /// The id at the service.
    id: WorkerId,
    ctx: Weak<Context>,
    run: Weak<WorkerRun>,
}

impl Domain {
    /// Ids and contexts must be unique.
    pub(crate) fn set_workers(&self, workers: Vec<(u64, Weak<Context>)>) -> Result<(), Failure> {
        let (mut ids, mut contexts) = (HashSet::new(), HashMap::new());
        for (id, ctx) in &workers {
            fail_if!(
                !ids.insert(*id),
                INVALID_VALUE,
                "two workers of the domain have the id {id}: give each its own"
            );
            if let Some(other) = contexts.insert(Weak::as_ptr(ctx), *id) {
                return Err(failure!(
                    INVALID_VALUE,
                    "one worker has two ids in the domain, {other} and {id}: give it one"
                ));
            }
        }
        *self.workers.borrow_mut() = workers;
        Ok(())
    }

    pub(crate) fn set_count(&self, count: usize) -> Result<(), Failure> {
        fail_if!(
            count == 0 || count > MAX_SEGMENTS,
            INVALID_VALUE,
            "a domain cannot be given {count} buffers: 1 to {MAX_SEGMENTS} are possible, and \
                 without any there is no need for a count"
        );
        self.count.set(count);
        self.buffers.borrow_mut().clear();
        Ok(())
    }

    pub(crate) fn add_buffer(&self, buffer: MemberBuffer) -> Result<(), Failure> {
        let count = self.count.get();
        fail_if!(
            count == 0,
            BAD_STATE,
            "the domain's buffers were not counted: call doca_urom_domain_set_buffers_count \
                 first"
        );
        fail_if!(
            !is_range(buffer.va, buffer.len),
            INVALID_VALUE,
            "a buffer of {} bytes at {:#x} cannot be",
            buffer.len,
            buffer.va
        );
        let mut buffers = self.buffers.borrow_mut();
        fail_if!(
            buffers.len() >= count,
            FULL,
            "the domain has its {} already: set a higher count first",
            Quantity(count, "buffer")
        );
        buffers.push(buffer);
        Ok(())
    }

    fn check_workers(&self, pe: &Rc<Pe>) -> Result<(), Failure> {
        let workers = self.workers.borrow();
        fail_if!(
            workers.is_empty(),
            INVALID_VALUE,
            "the domain lacks workers: call doca_urom_domain_set_workers"
        );
        for (id, worker) in workers.iter() {
            let theirs = worker.upgrade().and_then(|worker| worker.pe().ok());
            fail_if!(
                theirs.is_some_and(|theirs| !Rc::ptr_eq(&theirs, pe)),
                INVALID_VALUE,
                "the domain's worker {} belongs to another progress engine: connect a domain to its workers' engine",
                WorkerId(*id)
            );
        }
        Ok(())
    }

    fn running(&self) -> Result<Vec<Rc<WorkerRun>>, Failure> {
        let run = |(id, ctx): &(u64, Weak<Context>)| {
            let run = ctx
                .upgrade()
                .and_then(|ctx| ctx.part::<Worker>().ok()?.run(&ctx).ok().as_deref().cloned());
            run.filter(|run| !run.is_leaving()).ok_or_else(|| {
                let Failure { code, text } =
                    failure_of(ctx).unwrap_or_else(|| failure!(BAD_STATE, "start it first"));
                let id = WorkerId(*id);
                failure!(code = code, "the domain's worker {id} does not run: {text}")
            })
        };
        self.workers.borrow().iter().map(run).collect()
    }

    fn describe(&self, runs: &[Rc<WorkerRun>]) -> Vec<u8> {
        let workers = self.workers.borrow();
        let members = workers.iter().zip(runs).map(|((id, _), run)| Member {
            id: *id,
            addresses: run
                .plugin_addresses()
                .iter()
                .map(|plugin| Address { plugin: &plugin.name, address: &plugin.address })
                .collect(),
        });
        let buffers = self.buffers.borrow();
        let segments = buffers.iter().map(|MemberBuffer { va, len, memh, mkey }| Segment {
            va: *va,
            len: *len,
            memh,
            mkey,
        });
        Participant { members: members.collect(), segments: segments.collect() }.encode()
    }
}

impl ContextPart for Domain {
    fn name(&self) -> &'static str {
        "domain"
    }

    fn start(&self, ctx: &Rc<Context>) -> Result<CtxState, Failure> {
        let pe = ctx.engine()?;
        let oob = self.oob.get().ok_or_else(|| {
            failure!(
                INVALID_VALUE,
                "the domain lacks out-of-band functions: call doca_urom_domain_set_oob"
            )
        })?;
        let (added, count) = (self.buffers.borrow().len(), self.count.get());
        fail_if!(
            added != count,
            INVALID_VALUE,
            "{added} of the domain's {count} buffers were added: add the others, or set the count"
        );
        self.check_workers(&pe)?;
        // The other participants wait for this process, so a lost worker must be reported to them.
        let runs = self.running();
        let blob = runs.as_ref().map(|runs| self.describe(runs)).map_err(Failure::clone);
        let worker = |(run, (_, ctx)): (Rc<WorkerRun>, &(u64, Weak<Context>))| OwnWorker {
            id: WorkerId(run.id()),
            ctx: Weak::clone(ctx),
            run: Rc::downgrade(&run),
        };
        let runs = runs.unwrap_or_default().into_iter();
        let run = Rc::new(DomainRun {
            number: ctx.begin(),
            workers: runs.zip(&*self.workers.borrow()).map(worker).collect(),
            have_table: Cell::new(false),
            start: RefCell::default(),
            failed: Cell::new(false),
        });
        let theirs = Rc::clone(&run);
        let start = exchange(oob, blob, async move |table| theirs.deliver(table).await);
        run.start.replace(Some(Box::pin(start)));
        self.run.replace(Some(run));
        pe.exchange(Rc::clone(ctx));
        Ok(CtxState::STARTING)
    }

    fn step(&self, ctx: &Rc<Context>, pe: &Pe) -> bool {
        let Some(run) = self.run.borrow().clone() else { return false };
        let Some(mut start) = run.start.take() else { return false };
        let step = start.as_mut().poll(&mut task::Context::from_waker(Waker::noop()));
        // If the host's functions stopped this domain, the result is dropped.
        if !self.run.borrow().as_ref().is_some_and(|now| Rc::ptr_eq(now, &run)) {
            return false;
        }
        match step {
            Poll::Pending => {
                run.start.replace(Some(start));
                return true;
            }
            Poll::Ready(Ok(())) => pe.announce(ctx, CtxState::RUNNING),
            Poll::Ready(Err(failure)) => {
                run.failed.set(true);
                run.end();
                ctx.fail(&failure);
                pe.announce(ctx, CtxState::IDLE);
            }
        }
        false
    }

    fn begins(&self) -> bool {
        self.run.borrow().as_ref().is_some_and(|run| !run.failed.get())
    }

    fn ended(&self, _pe: &Pe) {
        self.run.take();
    }

    fn stop(&self, _ctx: &Context) -> Result<CtxState, DocaError> {
        if let Some(run) = self.run.take() {
            // Frees the host's request.
            drop(run.start.take());
            if !run.failed.get() {
                // The channel closes when all workers have answered or are lost.
                let _ = run.end().recv_timeout(STOP_DEADLINE);
            }
        }
        Ok(CtxState::IDLE)
    }

    fn retire(&self) {}
}

impl DomainRun {
    /// Sends workers the table, and awaits confirmations. One failure ends the domain everywhere.
    async fn deliver(&self, table: Vec<u8>) -> Result<(), Failure> {
        self.have_table.set(true);
        let (domain, table) = (self.number, Arc::new(table));
        let give = |worker: &OwnWorker| {
            let (answer, answered) = oneshot::channel();
            // Without a run, the dropped `answer` reports the failure.
            if let Some(run) = worker.run.upgrade() {
                run.order(WorkerOrder::Start { domain, table: Arc::clone(&table), answer });
            }
            answered
        };
        let mut answers: Vec<_> =
            self.workers.iter().map(|worker| (worker, give(worker))).collect();
        let mut result = Ok(());
        while result.is_ok() && !answers.is_empty() {
            yield_now().await;
            answers.retain_mut(|(worker, answer)| match answer.try_recv() {
                Err(TryRecvError::Empty) => true,
                Ok(Ok(())) => false,
                answered => {
                    result = Err(worker.refusal(answered.ok().and_then(Result::err)));
                    false
                }
            });
        }
        if result.is_err() {
            drop(answers);
            self.end();
        }
        result
    }

    /// Ends the domain at all workers with the table. The channel closes when they are done.
    fn end(&self) -> mpsc::Receiver<()> {
        let (done, all_done) = mpsc::channel();
        if self.have_table.take() {
            for run in self.workers.iter().filter_map(|worker| worker.run.upgrade()) {
                run.order(WorkerOrder::End { domain: self.number, done: done.clone() });
            }
        }
        all_done
    }
}

impl OwnWorker {
    /// Returns why the domain did not start at the worker. `answer` is the worker's, if any.
    fn refusal(&self, answer: Option<Failure>) -> Failure {
        let Failure { code, text } =
            answer.or_else(|| failure_of(&self.ctx)).unwrap_or_else(|| {
                failure!(NOT_CONNECTED, "its context was stopped before it had the domain's table")
            });
        let id = self.id;
        failure!(code = code, "the domain could not start at worker {id}: {text}")
    }
}
