//! `doca_urom_domain`: configuration, start and stop.
//!
//! A start has four steps, all of them in calls of progress: the out-of-band exchange, the table to
//! each of this process's workers, their answers that plugins find it, and the exchange of
//! verdicts, after which all processes run the domain or none. A stop is synchronous: it gives up
//! what is under way, and waits for a short time until no plugin finds anything of the domain.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{self, Poll, Waker};
use std::time::Duration;

use urom_abi::host::CtxState;
use urom_abi::{Count, DocaError, WorkerId};
use urom_wire::control::Failure;
use urom_wire::domain::{Address, MAX_SEGMENTS, Member, Participant, Segment, is_range};

use crate::event::{Event, Mailbox};
use crate::exchange::{self, Exchange, Oob, Outcome};
use crate::failure::failure;
use crate::order::{Order, Reply};
use crate::pe::Pe;
use crate::pe::ctx::{Context, next_run};
use crate::pe::run::Run;

/// How long a stop waits for its workers. A worker that does not answer in this time is about to be
/// given up.
const STOP_DEADLINE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Domain {
    pub(crate) oob: Cell<Option<Oob>>,
    workers: RefCell<Vec<(u64, Weak<Context>)>>,
    count: Cell<usize>,
    buffers: RefCell<Vec<Buffer>>,
    run: RefCell<Option<Box<DomainRun>>>,
}

/// A buffer of the host, with the handle and the key that others need to reach it.
pub(crate) struct Buffer {
    pub(crate) va: u64,
    pub(crate) len: u64,
    pub(crate) memh: Vec<u8>,
    pub(crate) mkey: Vec<u8>,
}

/// Why a worker context does not run, unless its host stopped it.
fn failure_of(worker: &Weak<Context>) -> Option<Failure> {
    worker.upgrade()?.with_failure(Failure::clone)
}

/// From a start to the next idle.
#[derive(Default)]
struct DomainRun {
    number: u64,
    /// With their ids at the service, in the domain's order. Empty when one of them does not run.
    workers: Vec<(u64, Weak<Run>)>,
    /// The exchange until it is done, except during a step.
    exchange: Option<Exchange>,
    /// How many workers have not confirmed the table; `None` before it is sent.
    awaited: Option<usize>,
    /// Whether all workers of this process have answered, and the verdicts are exchanged.
    settled: bool,
    failed: bool,
    cancelled: Arc<AtomicBool>,
}

impl Domain {
    /// Each id and each context once.
    pub(crate) fn set_workers(&self, workers: Vec<(u64, Weak<Context>)>) -> Result<(), Failure> {
        let mut ids: Vec<u64> = workers.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(failure!(
                INVALID_VALUE,
                "two workers of the domain have the id {}: give each its own",
                twice[0]
            ));
        }
        let mut contexts: Vec<_> =
            workers.iter().map(|(id, ctx)| (Weak::as_ptr(ctx), *id)).collect();
        contexts.sort_unstable();
        if let Some(twice) = contexts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let (one, other) = (twice[0].1, twice[1].1);
            return Err(failure!(
                INVALID_VALUE,
                "one worker has two ids in the domain, {one} and {other}: give it one"
            ));
        }
        *self.workers.borrow_mut() = workers;
        Ok(())
    }

    /// Starts again without buffers.
    pub(crate) fn set_count(&self, count: usize) -> Result<(), Failure> {
        if count == 0 || count > MAX_SEGMENTS {
            return Err(failure!(
                INVALID_VALUE,
                "a domain cannot be given {count} buffers: 1 to {MAX_SEGMENTS} are possible, and \
                 without any there is no need for a count"
            ));
        }
        self.count.set(count);
        self.buffers.borrow_mut().clear();
        Ok(())
    }

    pub(crate) fn add_buffer(&self, buffer: Buffer) -> Result<(), Failure> {
        let count = self.count.get();
        if count == 0 {
            return Err(failure!(
                BAD_STATE,
                "the domain's buffers were not counted: call doca_urom_domain_set_buffers_count \
                 first"
            ));
        }
        if !is_range(buffer.va, buffer.len) {
            return Err(failure!(
                INVALID_VALUE,
                "a buffer of {} bytes at {:#x} cannot be",
                buffer.len,
                buffer.va
            ));
        }
        let mut buffers = self.buffers.borrow_mut();
        if buffers.len() >= count {
            return Err(failure!(
                FULL,
                "the domain has its {} already: set a higher count first",
                Count(count, "buffer")
            ));
        }
        buffers.push(buffer);
        Ok(())
    }

    pub(crate) fn start(&self, ctx: &Rc<Context>, pe: &Rc<Pe>) -> Result<DocaError, Failure> {
        let oob = self.oob.get().ok_or_else(|| {
            failure!(
                INVALID_VALUE,
                "the domain has no out-of-band functions: call doca_urom_domain_set_oob"
            )
        })?;
        let (added, count) = (self.buffers.borrow().len(), self.count.get());
        if added != count {
            return Err(failure!(
                INVALID_VALUE,
                "{added} of the domain's {count} buffers were added: add the others, or set the count"
            ));
        }
        self.check_workers(pe)?;
        pe.have_timer()?;
        let number = next_run();
        // The other participants wait for this process: they must hear of a worker that was lost.
        let workers = self.running();
        let exchange = exchange::of_blobs(
            oob,
            workers.as_ref().map(|workers| self.describe(workers)).map_err(Failure::clone),
        );
        let workers = workers.unwrap_or_default();
        *self.run.borrow_mut() = Some(Box::new(DomainRun {
            number,
            workers: workers.iter().map(|(_, run)| (run.id(), Rc::downgrade(run))).collect(),
            exchange: Some(exchange),
            ..DomainRun::default()
        }));
        pe.begin(number, Rc::clone(ctx));
        pe.exchange(Rc::clone(ctx));
        ctx.set_state(CtxState::STARTING);
        Ok(DocaError::IN_PROGRESS)
    }

    /// Checks that there are workers, and that those that still exist belong to this engine.
    fn check_workers(&self, pe: &Rc<Pe>) -> Result<(), Failure> {
        let workers = self.workers.borrow();
        if workers.is_empty() {
            return Err(failure!(
                INVALID_VALUE,
                "the domain has no workers: call doca_urom_domain_set_workers"
            ));
        }
        for (id, worker) in workers.iter() {
            let theirs = worker.upgrade().and_then(|worker| worker.pe().ok());
            if theirs.is_some_and(|theirs| !Rc::ptr_eq(&theirs, pe)) {
                return Err(failure!(
                    INVALID_VALUE,
                    "the domain's worker {} belongs to another progress engine: connect a domain to that of its workers",
                    WorkerId(*id)
                ));
            }
        }
        Ok(())
    }

    fn running(&self) -> Result<Vec<(u64, Rc<Run>)>, Failure> {
        let run = |(id, worker): &(u64, Weak<Context>)| {
            let run =
                |worker: Rc<Context>| worker.worker()?.run(&worker).map(|run| Rc::clone(&run));
            let run = worker.upgrade().and_then(|worker| run(worker).ok());
            let run = run.filter(|run| !run.is_leaving());
            run.map(|run| (*id, run)).ok_or_else(|| match failure_of(worker) {
                Some(Failure { code, text }) => Failure {
                    code,
                    text: format!("the domain's worker {} does not run: {text}", WorkerId(*id)),
                },
                None => {
                    failure!(
                        BAD_STATE,
                        "the domain's worker {} does not run: start it first",
                        WorkerId(*id)
                    )
                }
            })
        };
        self.workers.borrow().iter().map(run).collect()
    }

    /// The blob: this process's part of the domain.
    fn describe(&self, workers: &[(u64, Rc<Run>)]) -> Vec<u8> {
        let members = workers.iter().map(|(id, run)| Member {
            id: *id,
            addresses: run
                .plugin_addresses()
                .iter()
                .map(|plugin| Address { plugin: &plugin.name, address: &plugin.address })
                .collect(),
        });
        let buffers = self.buffers.borrow();
        let segments = buffers.iter().map(|Buffer { va, len, memh, mkey }| Segment {
            va: *va,
            len: *len,
            memh,
            mkey,
        });
        Participant { members: members.collect(), segments: segments.collect() }.encode()
    }

    /// One step of the exchange. Whether there is another.
    pub(crate) fn exchange(&self, ctx: &Rc<Context>, pe: &Pe) -> bool {
        let take =
            |run: &mut Box<DomainRun>| run.exchange.take().map(|exchange| (run.number, exchange));
        let taken = self.run.borrow_mut().as_mut().and_then(take);
        let Some((number, mut exchange)) = taken else { return false };
        // The host's functions may stop this domain. Then the step's result is dropped.
        let step = exchange.as_mut().poll(&mut task::Context::from_waker(Waker::noop()));
        let mut own = self.run.borrow_mut();
        let Some(run) = own.as_mut().filter(|run| run.number == number) else {
            drop(own);
            drop(exchange);
            return false;
        };
        match step {
            Poll::Pending => {
                run.exchange = Some(exchange);
                true
            }
            Poll::Ready(Ok(Outcome::Table(table))) => {
                run.distribute(table, pe.mailbox());
                false
            }
            Poll::Ready(Ok(Outcome::Agreed)) => {
                drop(own);
                pe.announce(Rc::clone(ctx), CtxState::RUNNING);
                false
            }
            Poll::Ready(Err(failure)) => {
                drop(own);
                self.fail(ctx, pe, &failure);
                false
            }
        }
    }

    pub(crate) fn on_event(&self, ctx: &Rc<Context>, pe: &Pe, event: Event) {
        let Event::DomainStarted { worker, result } = event else { return };
        let mut own = self.run.borrow_mut();
        let Some(run) = own.as_mut().filter(|run| !run.failed && !run.settled) else { return };
        run.awaited = run.awaited.map(|awaited| awaited.saturating_sub(1));
        let result = result.unwrap_or_else(|| Err(self.not_heard(worker)));
        let result = result.map_err(|Failure { code, text }| {
            let id = run.workers.get(worker).map_or(u64::MAX, |(id, _)| *id);
            Failure {
                code,
                text: format!("the domain could not start at worker {}: {text}", WorkerId(id)),
            }
        });
        match &result {
            Err(_) => drop(run.end()),
            Ok(()) if run.awaited == Some(0) => {}
            Ok(()) => return,
        }
        let Some(oob) = self.oob.get() else { return };
        run.exchange = Some(exchange::of_verdicts(oob, result));
        run.settled = true;
        pe.exchange(Rc::clone(ctx));
    }

    /// Why the worker at this place never answered.
    fn not_heard(&self, place: usize) -> Failure {
        let workers = self.workers.borrow();
        let why = workers.get(place).and_then(|(_, worker)| failure_of(worker));
        why.unwrap_or_else(|| {
            failure!(NOT_CONNECTED, "its context was stopped before it had the domain's table")
        })
    }

    fn fail(&self, ctx: &Rc<Context>, pe: &Pe, failure: &Failure) {
        let mut own = self.run.borrow_mut();
        let Some(run) = own.as_mut().filter(|run| !run.failed) else { return };
        run.failed = true;
        drop(run.end());
        drop(own);
        ctx.fail(failure);
        pe.announce(Rc::clone(ctx), CtxState::IDLE);
    }

    pub(crate) fn begins(&self) -> bool {
        self.run.borrow().as_ref().is_some_and(|run| !run.failed)
    }

    pub(crate) fn ended(&self, pe: &Pe) {
        if let Some(run) = self.run.take() {
            pe.end(run.number);
        }
    }

    /// Stops at once, whatever is under way.
    pub(crate) fn stop(&self, ctx: &Context, pe: &Pe) -> DocaError {
        if let Some(mut run) = self.run.take() {
            pe.end(run.number);
            pe.forget(ctx);
            // Gives the host's request back.
            drop(run.exchange.take());
            if !run.failed {
                // The channel closes when every worker has answered or is lost.
                let _ = run.end().recv_timeout(STOP_DEADLINE);
            }
        }
        ctx.set_state(CtxState::IDLE);
        DocaError::SUCCESS
    }
}

impl DomainRun {
    fn distribute(&mut self, table: Vec<u8>, mailbox: &Arc<Mailbox>) {
        self.awaited = Some(self.workers.len());
        let table = Arc::new(table);
        for (place, (_, worker)) in self.workers.iter().enumerate() {
            let mailbox = Arc::clone(mailbox);
            let reply = Reply { mailbox, domain: self.number, worker: place, sent: false };
            let (table, cancelled) = (Arc::clone(&table), Arc::clone(&self.cancelled));
            // Without a worker, dropping the reply says so.
            if let Some(worker) = worker.upgrade() {
                worker.order(Order::Start { table, cancelled, reply });
            }
        }
    }

    /// Ends the domain at every worker that has its table, or is receiving it. The channel closes
    /// once they are done.
    fn end(&mut self) -> mpsc::Receiver<()> {
        let (done, all_done) = mpsc::channel();
        self.cancelled.store(true, Ordering::Release);
        if self.awaited.is_some() {
            for worker in self.workers.iter().filter_map(|(_, worker)| worker.upgrade()) {
                worker.order(Order::End { domain: self.number, done: done.clone() });
            }
        }
        all_done
    }
}
