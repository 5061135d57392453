//! Domains as contexts: states, setters, and the state after each kind of stop.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use urom_abi::host::{Ctx, CtxState, Data};
use urom_abi::{DocaError, DocaStatus};

use crate::domain_support::{TestDomain, ask, op, seeker, with_one, with_seekers, with_workers};
use crate::rally::{Fault, ROUNDS, Rally};
use crate::support::{Engine, OK, TestService, failure, has, state};

const INVALID: DocaStatus = DocaStatus::INVALID_VALUE;
const BAD: DocaStatus = DocaStatus::BAD_STATE;

thread_local! {
    static CHANGES: RefCell<Vec<(CtxState, CtxState)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn note_change(_: Data, ctx: *mut Ctx, previous: CtxState, next: CtxState) {
    assert_eq!(state(ctx), next);
    CHANGES.with_borrow_mut(|changes| changes.push((previous, next)));
}

#[test]
fn a_domain_starts_runs_and_stops_as_the_samples_expect() {
    with_workers(|engine, [worker]| {
        let party = Rally::new(1).party(0);
        let domain = TestDomain::new(engine, &party, &[(7, worker)]);
        CHANGES.take();
        assert_eq!(c!(doca_ctx_set_state_changed_cb(domain.ctx, Some(note_change))), OK);
        for times in 1..=3 {
            domain.run(engine);
            // Progress is quiet until a task completes.
            engine.is_quiet(20_000);
            assert_eq!(party.counts(), (ROUNDS * times, ROUNDS * times));
            assert_eq!(c!(doca_ctx_start(domain.ctx)), BAD);
            assert_eq!(c!(doca_urom_domain_destroy(domain.raw)), DocaError::NOT_PERMITTED);
            domain.stop();
            assert_eq!(c!(doca_ctx_stop(domain.ctx)), OK);
            engine.is_quiet(1000);
        }
        use CtxState as S;
        let once = [(S::IDLE, S::STARTING), (S::STARTING, S::RUNNING), (S::RUNNING, S::IDLE)];
        assert_eq!(CHANGES.take(), once.repeat(3));
        assert!(party.is_called_by_this_thread());
    });
}

/// The C program `every_function` calls the setters with every wrong argument.
#[test]
fn refused_setters_report_the_reason() {
    with_one(|engine, service, worker| {
        let domain = TestDomain::bare(engine);
        let other = seeker(service.raw, engine, 2);
        let refused = |code, expected, words: &str| {
            assert_eq!(code, expected);
            has(&failure(domain.ctx), &[words]);
        };
        refused(domain.set_workers(&[(1, worker), (1, other)]), INVALID, "have the id 1");
        let twice = domain.set_workers(&[(1, worker), (2, worker)]);
        refused(twice, INVALID, "two ids in the domain, 1 and 2");
        assert_eq!(domain.set_workers(&[(1, worker), (u64::MAX, other)]), OK);
        assert_eq!(domain.set_count(2), OK);
        let beyond = domain.add(usize::MAX, 2, b"h", b"k");
        refused(beyond, INVALID, "2 bytes at 0xffffffffffffffff");
        assert_eq!(domain.add(usize::MAX, 1, b"", b""), OK);
        assert_eq!(domain.add(0x1000, 16, b"h", b"k"), OK);
        let more = domain.add(0x2000, 16, b"h", b"k");
        refused(more, DocaStatus::FULL, "has its 2 buffers");
    });
}

#[test]
fn an_incomplete_start_reports_what_is_missing_and_stays_idle() {
    with_one(|engine, service, worker| {
        let refused = |domain: &TestDomain, code: DocaStatus, words: &str| {
            assert_eq!(c!(doca_ctx_start(domain.ctx)), code, "{}", failure(domain.ctx));
            assert!(failure(domain.ctx).contains(words), "{}", failure(domain.ctx));
            assert_eq!(state(domain.ctx), CtxState::IDLE);
            engine.is_quiet(100);
            domain.stop();
        };
        let party = Rally::new(1).party(0);
        let mut oob = party.oob();
        let mut raw = std::ptr::null_mut();
        assert_eq!(c!(doca_urom_domain_create(&mut raw)), OK);
        let lonely = TestDomain { raw, ctx: c!(doca_urom_domain_as_ctx(raw)) };
        refused(&lonely, DocaStatus::NOT_CONNECTED, "doca_pe_connect_ctx");
        lonely.destroy();
        let domain = TestDomain::bare(engine);
        refused(&domain, INVALID, "doca_urom_domain_set_oob");
        assert_eq!(c!(doca_urom_domain_set_oob(domain.raw, &mut oob)), OK);
        refused(&domain, INVALID, "doca_urom_domain_set_workers");
        let elsewhere = Engine::new();
        let strange = seeker(service.raw, &elsewhere, 4);
        assert_eq!(domain.set_workers(&[(4, strange)]), OK);
        refused(&domain, INVALID, "worker 4 belongs to another progress engine");
        strange.end(&elsewhere);
        assert_eq!(domain.set_workers(&[(1, worker)]), OK);
        assert_eq!(domain.set_count(3), OK);
        assert_eq!(domain.add(0x1000, 16, b"h", b"k"), OK);
        refused(&domain, INVALID, "1 of the domain's 3 buffers");
        assert_eq!(party.counts(), (0, 0), "nothing was called");
        assert_eq!(domain.set_count(1), OK);
        assert_eq!(domain.add(0x1000, 16, b"h", b"k"), OK);
        domain.run(engine);
        assert_eq!(failure(domain.ctx), "");
    });
}

#[test]
fn an_exchange_that_is_never_over_holds_nothing_up_and_can_be_stopped() {
    with_seekers(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        let worker = seeker(service.raw, &engine, 1);
        for round in 0..ROUNDS {
            let mut party = Rally::new(1).party(0);
            party.fault = Some(Fault::Never(round));
            let domain = TestDomain::new(&engine, &party, &[(1, worker)]);
            domain.start();
            engine.is_quiet(1000);
            for _ in 0..100 {
                ask(&engine, &worker, op::OWN, 0, 0);
            }
            let third = seeker(service.raw, &engine, 2);
            third.end(&engine);
            assert_eq!(
                (state(domain.ctx), party.counts()),
                (CtxState::STARTING, (round + 1, round))
            );
            domain.stop();
            assert_eq!(party.counts(), (round + 1, round + 1), "the request is given back, once");
            domain.destroy();
            engine.is_quiet(1000);
            assert_eq!(party.counts(), (round + 1, round + 1), "nothing is called after a stop");
            assert!(party.is_called_by_this_thread());
        }
        // Nothing is called before the first progress.
        let party = Rally::new(1).party(0);
        let domain = TestDomain::new(&engine, &party, &[(1, worker)]);
        domain.start();
        domain.end();
        engine.is_quiet(1000);
        assert_eq!(party.counts(), (0, 0));
    });
}

#[test]
fn functions_may_progress_and_stop_the_domain_they_belong_to() {
    with_one(|engine, _, worker| {
        let mut party = Rally::new(1).party(0);
        let domain = TestDomain::new(engine, &party, &[(1, worker)]);
        let (pe, ctx) = (engine.0.expose_provenance(), domain.ctx.expose_provenance());
        party.inside = Some(Box::new(move || {
            assert_eq!(c!(doca_pe_progress(std::ptr::with_exposed_provenance_mut(pe))), 0);
            let ctx = std::ptr::with_exposed_provenance_mut(ctx);
            assert_eq!(c!(doca_ctx_stop(ctx)), OK);
            assert_eq!(state(ctx), CtxState::IDLE);
        }));
        domain.start();
        engine.is_quiet(1000);
        assert_eq!((state(domain.ctx), party.counts()), (CtxState::IDLE, (1, 1)));
        party.inside = None;
        party.gathers.store(0, Ordering::Relaxed);
        domain.run(engine);
    });
}

#[test]
fn a_start_that_was_stopped_leaves_nothing_behind_for_the_next() {
    with_one(|engine, _, worker| {
        let party = Rally::new(1).party(0);
        let domain = TestDomain::new(engine, &party, &[(1, worker)]);
        // Stops after more and more steps: in an exchange, during the table, before the answer.
        for steps in (0..60).chain([1000, 10_000]) {
            party.gathers.store(0, Ordering::Relaxed);
            domain.start();
            for _ in 0..steps {
                engine.progress();
            }
            domain.stop();
            party.gathers.store(0, Ordering::Relaxed);
            domain.run(engine);
            engine.is_quiet(100);
            domain.stop();
        }
    });
}
