//! The exchange of a starting domain: all sizes, failing functions, and malformed data.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use urom_abi::host::CtxState;
use urom_abi::{DocaError, DocaStatus};

use crate::domain_support::{
    TestDomain, Two, ask, handle, meet, op, seeker, segment, with_one, with_seekers, with_two,
};
use crate::rally::{Fault, Rally, Tamper};
use crate::support::{Engine, OK, TestService, has, state, until};

const INVALID: DocaStatus = DocaStatus::INVALID_VALUE;

/// A blob length that exceeds the limit together with any other.
const TOO_LONG: [u8; 8] = (1_u64 << 26).to_le_bytes();

#[test]
fn a_function_that_fails_ends_the_start_and_is_named() {
    with_one(|engine, _, worker| {
        let faults: [fn(usize) -> Fault; 3] = [Fault::Allgather, Fault::Test, Fault::Free];
        let names = ["allgather", "req_test", "req_free"];
        let codes = [DocaError::IO_FAILED, DocaError::CONNECTION_RESET, DocaError::DRIVER];
        for (round, what) in [(0, "sizes"), (1, "blobs"), (2, "verdicts")] {
            for ((fault, name), code) in faults.iter().zip(names).zip(codes) {
                let mut party = Rally::new(1).party(0);
                party.fault = Some(fault(round));
                let domain = TestDomain::new(engine, &party, &[(1, worker)]);
                let (failed, text) = domain.fail(engine);
                assert_eq!(failed, code, "{text}");
                has(&text, &[&format!("`{name}` failed in the round of {what}")]);
                let (gathers, frees) = party.counts();
                assert_eq!(gathers, frees, "{name} {round}");
                engine.is_quiet(1000);
                domain.stop();
                // It succeeds without the fault.
                party.fault = None;
                party.gathers.store(0, Ordering::Relaxed);
                domain.run(engine);
                domain.end();
            }
        }
    });
}

/// Returns the first participant's result if `tamper` changes the second's blocks.
fn tampered(
    two: &mut Two<'_>,
    tamper: impl Fn(usize, &mut Vec<u8>) + Send + Sync + 'static,
) -> Result<(), (DocaStatus, String)> {
    let rally = Rally::new(2);
    two.parties = [rally.party(0), rally.party(1)];
    two.parties[1].tamper = Some(Box::new(tamper));
    let [domain, counterpart] = two.domains([1, 2]);
    assert_eq!(counterpart.set_count(1), OK);
    assert_eq!(counterpart.add(0x10_0000, 4096, &[1; 100], &[2; 30]), OK);
    domain.start();
    counterpart.start();
    // After a failure in the first round the other side waits until its host stops it.
    let mut seen = 0;
    until("the exchange does not end", || {
        two.engines[1].progress();
        seen += two.engines[0].progress();
        state(domain.ctx) != CtxState::STARTING
    });
    assert_eq!(seen, 1);
    assert_eq!(two.parties[0].counts().0, two.parties[0].counts().1);
    let result = if state(domain.ctx) == CtxState::RUNNING { Ok(()) } else { Err(domain.reason()) };
    domain.end();
    counterpart.end();
    result
}

#[test]
fn forged_bytes_of_a_participant_are_refused() {
    with_two(|_, two| {
        let mut run = |tamper: Tamper| tampered(two, tamper);
        assert_eq!(run(Box::new(|_, _| {})), Ok(()));
        let io = DocaStatus::IO_FAILED;
        let in_round = |wanted: usize, change: fn(&mut Vec<u8>)| -> Tamper {
            Box::new(move |round, bytes: &mut Vec<u8>| {
                if round == wanted {
                    change(bytes)
                }
            })
        };
        for (round, change, code) in [
            (0, (|bytes| bytes.fill(0)) as fn(&mut Vec<u8>), io),
            (0, |bytes| bytes[0] ^= 1, io),
            (0, |bytes| bytes[8..].fill(0), io),
            (0, |bytes| bytes[16..24].fill(0xff), DocaStatus::TOO_BIG),
            (0, |bytes| bytes[16..24].copy_from_slice(&TOO_LONG), DocaStatus::TOO_BIG),
            (1, |bytes| bytes.fill(0), INVALID),
            (1, |bytes| bytes.fill(0xff), io),
            (1, |bytes| bytes[0] = 0x7f, io),
            (2, |bytes| bytes.fill(0), io),
            (2, |bytes| bytes[8] = 7, DocaStatus::NO_MEMORY),
            (2, |bytes| bytes[15] = 1, io),
        ] {
            let (failed, text) = run(in_round(round, change)).unwrap_err();
            assert_eq!(failed, code, "{text}");
            has(&text, &["participant 1"]);
        }
        // The size is too short or too long for the blob.
        for by in [-1_i64, 1] {
            let (failed, text) = run(Box::new(move |round, bytes: &mut Vec<u8>| {
                if round == 0 {
                    let len = i64::from_le_bytes(bytes[16..24].try_into().unwrap());
                    bytes[16..24].copy_from_slice(&(len + by).to_le_bytes());
                }
            }))
            .unwrap_err();
            assert_eq!(failed, io, "{text}");
        }
        // Any byte of the description: the result is a valid description or a failure.
        let mut ran = 0;
        for at in 0..150 {
            let result = run(Box::new(move |round, bytes: &mut Vec<u8>| {
                if round == 1 {
                    let len = bytes.len();
                    bytes[at % len] ^= 0x81;
                }
            }));
            ran += u32::from(result.is_ok());
        }
        assert!((1..150).contains(&ran), "{ran} of them were still descriptions");
    });
}

fn both_fail(two: &Two<'_>, domains: [TestDomain; 2], code: DocaStatus, words: &str) {
    two.together(&domains);
    for domain in domains {
        let (failed, text) = domain.reason();
        assert_eq!(failed, code);
        has(&text, &[words]);
        domain.end();
    }
}

#[test]
fn an_id_that_two_participants_use_is_refused_and_both_are_named() {
    with_two(|_, two| {
        let words = "id 42 is used by participant 0 and by participant 1";
        both_fail(two, two.domains([42, 42]), INVALID, words);
    });
}

#[test]
fn an_index_that_is_not_this_participants_is_found() {
    with_two(|_, two| {
        let domains = two.domains([1, 2]);
        for (domain, (party, index)) in domains.iter().zip(two.parties.iter().zip([1, 0])) {
            let mut oob = party.oob();
            oob.oob_index = index;
            assert_eq!(c!(doca_urom_domain_set_oob(domain.raw, &mut oob)), OK);
        }
        assert_eq!(domains[0].set_count(1), OK);
        assert_eq!(domains[0].add(0x1000, 16, b"h", b"k"), OK);
        both_fail(two, domains, DocaStatus::IO_FAILED, "oob_index");
    });
}

#[test]
fn megabytes_of_handles_are_exchanged_and_found() {
    with_seekers(|at| {
        let engines = [Engine::new(), Engine::new()];
        let services = [0, 1].map(|at_| TestService::start(at, &engines[at_]));
        let workers = [0, 1].map(|at| seeker(services[at].raw, &engines[at], at as u64));
        let rally = Rally::new(2);
        let parties = [rally.party(0), rally.party(1)];
        let domains = [0, 1]
            .map(|at| TestDomain::new(&engines[at], &parties[at], &[(at as u64, workers[at])]));
        // The first exceeds a control message, the last is a small part of one.
        let memh = |at: usize, which: usize| vec![(at * 10 + which + 1) as u8; (1 << 20) >> which];
        let mkey = |at: usize, which: usize| format!("key {which} of {at}").into_bytes();
        for (at, domain) in domains.iter().enumerate() {
            assert_eq!(domain.set_count(5), OK);
            for which in 0..5 {
                let va = 0x10_0000 * (which + 1);
                assert_eq!(domain.add(va, 0x1000, &memh(at, which), &mkey(at, which)), OK);
            }
            domain.start();
        }
        meet(&[(&engines[0], &domains[0]), (&engines[1], &domains[1])]);
        for (engine, worker) in engines.iter().zip(&workers) {
            engine.is_quiet(1000);
            for (at, which) in [(0, 0), (0, 4), (1, 0), (1, 4)] {
                let id = at as u64;
                assert_eq!(
                    segment(engine, worker, id, 0x10_0fff + 0x10_0000 * which as u64),
                    Ok(which as i32)
                );
                assert_eq!(
                    ask(engine, worker, op::MEMH, id, which as u64),
                    handle(&memh(at, which))
                );
                assert_eq!(
                    ask(engine, worker, op::MKEY, id, which as u64),
                    handle(&mkey(at, which))
                );
            }
        }
        for (at, domain) in domains.into_iter().enumerate() {
            domain.end();
            workers[at].end(&engines[at]);
        }
    });
}

#[test]
fn more_than_a_domain_can_hold_is_refused_by_everyone() {
    with_two(|_, two| {
        let domains = two.domains([1, 2]);
        assert_eq!(domains[1].set_count(1), OK);
        assert_eq!(domains[1].add(0x1000, 16, &vec![7; 64 << 20], b"k"), OK);
        both_fail(two, domains, DocaStatus::TOO_BIG, "participant 1");
    });
}

#[test]
fn a_host_that_sleeps_through_an_exchange_is_woken_soon_and_not_all_the_time() {
    with_one(|engine, _, worker| {
        let rally = Rally::new(2);
        let party = rally.party(0);
        let domain = TestDomain::new(engine, &party, &[(1, worker)]);
        domain.start();
        let begin = Instant::now();
        let mut woken = 0;
        while begin.elapsed() < Duration::from_millis(500) {
            assert_eq!(engine.progress(), 0);
            assert!(crate::events::nap(engine, Duration::from_secs(1)), "the host is not woken");
            woken += 1;
        }
        // Once a millisecond, on a possibly busy machine.
        assert!((20..=600).contains(&woken), "{woken}");
        domain.end();
        engine.is_quiet(1000);
        let spurious =
            (0..10).filter(|_| crate::events::nap(engine, Duration::from_millis(50))).count();
        assert!(spurious <= 3, "{spurious}");
        let party = Rally::new(1).party(0);
        let domain = TestDomain::new(engine, &party, &[(1, worker)]);
        domain.start();
        while state(domain.ctx) == CtxState::STARTING {
            assert!(crate::events::nap(engine, Duration::from_secs(10)), "the host is not woken");
            engine.progress();
        }
        assert_eq!(state(domain.ctx), CtxState::RUNNING);
    });
}

#[test]
fn a_failure_at_one_worker_ends_the_start_of_all_participants() {
    with_two(|_, two| {
        // The second's worker keeps looked-up data and is nearly full.
        for round in 0..4 {
            let alone = Rally::new(1).party(0);
            let before = TestDomain::new(two.engines[1], &alone, &[(1, two.workers[1])]);
            assert_eq!(before.set_count(1), OK);
            assert_eq!(before.add(0x1000, 16, &vec![round; 63 << 20], b"k"), OK);
            before.run(two.engines[1]);
            before.end();
        }
        let domains = two.domains([1, 2]);
        assert_eq!(domains[0].set_count(1), OK);
        assert_eq!(domains[0].add(0x1000, 16, &vec![7; 5 << 20], b"k"), OK);
        assert_eq!(two.together(&domains), [1, 1]);
        let expected = [
            ["participant 1", "lacks memory for the domain's"],
            ["the domain could not start at worker 2", ""],
        ];
        for (domain, words) in domains.iter().zip(expected) {
            let (code, text) = domain.reason();
            assert_eq!(code, DocaError::FULL, "{text}");
            has(&text, &words);
        }
        two.is_quiet();
        // It existed briefly at the first's worker.
        let found = || ask(two.engines[0], &two.workers[0], op::ADDR, 2, 0).0;
        until("it is still there", || found() == DocaError::NOT_FOUND);
        domains.into_iter().for_each(TestDomain::end);
        two.meet(&two.domains([1, 2]));
        assert_eq!(found(), OK);
    });
}

#[test]
fn a_domain_runs_nowhere_before_all_workers_of_all_participants_have_its_table() {
    with_two(|_, two| {
        let domains = two.domains([1, 2]);
        domains.iter().for_each(TestDomain::start);
        // The second makes all steps but the last.
        until("the exchange does not go on", || {
            assert_eq!((two.engines[0].progress(), two.engines[1].progress()), (0, 0));
            two.parties[1].counts().1 >= 2
        });
        two.engines[0].is_quiet(10_000);
        assert_eq!(state(domains[0].ctx), CtxState::STARTING);
        meet(&[(two.engines[0], &domains[0]), (two.engines[1], &domains[1])]);
    });
}

#[test]
fn a_start_that_is_taken_back_half_way_leaves_the_worker_to_others() {
    with_one(|engine, _, worker| {
        let parties = [0, 1].map(|_| Rally::new(1).party(0));
        let long = TestDomain::new(engine, &parties[0], &[(1, worker)]);
        assert_eq!(long.set_count(1), OK);
        assert_eq!(long.add(0x1000, 16, &vec![7; 48 << 20], b"k"), OK);
        let short = TestDomain::new(engine, &parties[1], &[(2, worker)]);
        for _ in 0..3 {
            parties.iter().for_each(|party| party.gathers.store(0, Ordering::Relaxed));
            parties.iter().for_each(|party| party.frees.store(0, Ordering::Relaxed));
            // One table is being sent, the other is next.
            long.start();
            while parties[0].counts() != (2, 2) {
                engine.progress();
            }
            short.start();
            while parties[1].counts() != (2, 2) {
                engine.progress();
            }
            long.stop();
            until("the second domain does not start", || {
                engine.progress();
                state(short.ctx) != CtxState::STARTING
            });
            assert_eq!(state(short.ctx), CtxState::RUNNING, "{:?}", short.reason());
            assert_eq!(state(worker.ctx), CtxState::RUNNING);
            assert_eq!(ask(engine, &worker, op::ADDR, 2, 0).0, OK);
            short.stop();
        }
    });
}
