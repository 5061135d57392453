//! All-gathers seen by the library: errors, panics, and calls that break the rules.

use std::cell::Cell;
use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use urom_host::gather::{AllGather, BoxError, Error as GatherError, InProcess};
use urom_host::{DocaError, DocaStatus, Domain, Service, Worker, block_on_for};

use crate::domains::{alone, domain, run};
use crate::fake::{self, ANSWERS, HABIT, habit};
use crate::{LIMIT, connect, send, start, world};

#[derive(Clone, Copy)]
struct Scripted {
    begin: fn() -> Result<(), BoxError>,
    test: fn() -> Result<bool, BoxError>,
}

impl AllGather for Scripted {
    fn participants(&self) -> u32 {
        3
    }

    fn index(&self) -> u32 {
        1
    }

    fn begin(&mut self, _block: &[u8]) -> Result<(), BoxError> {
        (self.begin)()
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        assert!(blocks.iter().all(|byte| *byte == 0), "zero at first, and nothing was written");
        (self.test)()
    }
}

#[test]
fn an_error_of_the_all_gather_is_the_cause_of_the_start_s() {
    let error = || Err(GatherError::new(DocaError::TIME_OUT, "participant 2 is late").into());
    let io = || Err(std::io::Error::other("no more cables").into());
    let good = Scripted { begin: || Ok(()), test: || Ok(true) };
    let (_clean, service, _, worker) = world(0);
    for (gather, text) in [
        (Scripted { begin: error, ..good }, "participant 2 is late"),
        (
            Scripted {
                test: || Err(GatherError::new(DocaError::IN_PROGRESS, "not yet").into()),
                ..good
            },
            "not yet",
        ),
        (Scripted { test: || Err("plain text".into()), ..good }, "plain text"),
        (Scripted { test: io, ..good }, "no more cables"),
    ] {
        let start = domain(&service, &worker).gather(gather).start();
        let error = block_on_for(LIMIT, start).unwrap().unwrap_err();
        let all = error.to_string();
        assert!(
            all.contains("starting a domain as participant 1 of 3 failed") && all.contains(text),
            "{all}"
        );
        assert!(error.source().is_some_and(|cause| cause.to_string() == text));
    }
    let source = GatherError::io("x", std::io::ErrorKind::TimedOut.into());
    assert_eq!(source.code(), DocaError::TIME_OUT);
}

#[test]
fn a_panic_in_the_all_gather_goes_on_in_whoever_waits() {
    let good = Scripted { begin: || Ok(()), test: || Ok(true) };
    let (_clean, service, graph, worker) = world(0);
    for gather in [
        Scripted { begin: || panic!("in the all-gather"), ..good },
        Scripted { test: || panic!("in the all-gather"), ..good },
    ] {
        let start = domain(&service, &worker).gather(gather).start();
        let panic = catch_unwind(AssertUnwindSafe(|| start.wait())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"in the all-gather"));
        // Without a wait, the caller of the progress gets the panic; the start has failed then.
        let start = domain(&service, &worker).gather(gather).start();
        let panic = catch_unwind(AssertUnwindSafe(|| while !service.progress() {})).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"in the all-gather"));
        start.wait().unwrap_err();
    }
    HABIT.store(habit::EXCHANGES_AT_ONCE, Ordering::SeqCst);
    let gather = Scripted { begin: || panic!("in the start"), ..good };
    let start = AssertUnwindSafe(domain(&service, &worker).gather(gather));
    let panic = catch_unwind(|| { start }.0.start()).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"in the start"));
    run(domain(&service, &worker)).stop_blocking().unwrap();
    assert_eq!(send(&graph, &worker, 2).wait().unwrap().data, 2);
}

struct Curious {
    service: Rc<Service>,
    worker: Rc<Worker>,
    victim: Option<Domain>,
    seen: Rc<Cell<Option<DocaError>>>,
    inner: InProcess,
}

impl AllGather for Curious {
    fn participants(&self) -> u32 {
        1
    }

    fn index(&self) -> u32 {
        0
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
        assert!(!self.service.progress());
        let nested = domain(&self.service, &self.worker).start().wait();
        self.seen.set(nested.err().map(|error| error.code()));
        self.inner.begin(block)
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        drop(self.victim.take());
        self.inner.test(blocks)
    }
}

#[test]
fn an_all_gather_cannot_progress_and_may_drop_domains() {
    for at_once in [false, true] {
        let _clean = fake::clean();
        let service = Rc::new(connect());
        let worker = Rc::new(start(&service, 0).1);
        let seen = Rc::new(Cell::new(None));
        let victim = Some(run(domain(&service, &worker)));
        let (theirs, note) = (Rc::clone(&service), Rc::clone(&seen));
        let curious = Curious {
            service: theirs,
            worker: Rc::clone(&worker),
            victim,
            seen: note,
            inner: alone(),
        };
        if at_once {
            HABIT.store(habit::EXCHANGES_AT_ONCE, Ordering::SeqCst);
        }
        drop(run(domain(&service, &worker).gather(curious)));
        assert_eq!(seen.take(), Some(DocaError::BAD_STATE));
    }
}

#[test]
fn nonsense_from_the_library_is_answered_with_codes() {
    let (_clean, service, _, worker) = world(0);
    HABIT.store(habit::ASKS_NONSENSE, Ordering::SeqCst);
    let gather = Scripted { begin: || Ok(()), test: || Ok(true) };
    let (good, bad) = (DocaStatus::SUCCESS, DocaStatus::INVALID_VALUE);
    let before = [bad, bad, DocaStatus::TOO_BIG, bad, bad, bad, bad];
    let answers = [&before[..], &[good, DocaStatus::BAD_STATE, good, good, good, bad]].concat();
    // A single participant may use any length up to the address space.
    for builder in [domain(&service, &worker), domain(&service, &worker).gather(gather)] {
        drop(builder.start());
        assert_eq!(std::mem::take(&mut *ANSWERS.lock().unwrap()), answers);
    }
}
