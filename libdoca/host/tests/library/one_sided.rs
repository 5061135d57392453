//! Failures at one participant of a starting domain: the others fail instead of waiting forever.

use rustix::process::{Signal, kill_process};
use urom_abi::host::{CtxState, OobColl};
use urom_abi::{DocaError, DocaStatus};

use crate::domain_support::{TestDomain, together, with_one, with_two};
use crate::loss::pid_of;
use crate::processes::{Plugins, Uromd};
use crate::rally::{Party, ROUNDS, Rally};
use crate::support::{At, Engine, OK, TestService, TestWorker, failure, state};

const IO: DocaStatus = DocaStatus::IO_FAILED;

/// Both fail with `code` and `words`; the second reports its own failure.
fn both_failed([here, there]: [&TestDomain; 2], code: DocaStatus, words: &str) {
    for (domain, begin) in [(here, "participant 1 of the domain failed: "), (there, "")] {
        let (failed, text) = domain.reason();
        assert_eq!(failed, code, "{text}");
        assert!(text.starts_with(begin) && text.contains(words), "{text}");
    }
}

#[test]
fn a_worker_that_does_not_run_fails_the_start_of_all_participants() {
    with_two(|service, two| {
        let idle = TestWorker::new(service.raw, two.engines[1], 3, 8);
        let domains = two.domains([1, 2]);
        assert_eq!(domains[1].set_workers(&[(2, two.workers[1]), (3, idle)]), OK);
        let mut rounds = 0;
        for destroyed in [false, true] {
            if destroyed {
                idle.destroy();
            }
            assert_eq!(two.together(&domains), [1, 1]);
            let words = "the domain's worker 3 does not run";
            both_failed(domains.each_ref(), DocaStatus::BAD_STATE, words);
            // Only the failure is exchanged.
            rounds += 1;
            assert_eq!(two.parties.each_ref().map(|party| party.counts()), [(rounds, rounds); 2]);
            two.is_quiet();
        }
        assert_eq!(domains[1].set_workers(&[(2, two.workers[1])]), OK);
        two.meet(&domains);
        assert_eq!(two.parties[0].counts().0, rounds + ROUNDS);
    });
}

#[test]
fn a_domain_of_one_process_fails_like_any_other() {
    with_one(|engine, service, _| {
        let idle = TestWorker::new(service.raw, engine, 3, 8);
        let party = Rally::new(1).party(0);
        let domain = TestDomain::new(engine, &party, &[(3, idle)]);
        let (code, text) = domain.fail(engine);
        assert_eq!(code, DocaError::BAD_STATE);
        assert!(text.starts_with("the domain's worker 3 does not run"), "{text}");
    });
}

fn pair(change: impl FnOnce(&mut Party, &mut OobColl), check: impl FnOnce([&TestDomain; 2])) {
    with_two(|_, two| {
        let mut oob = two.parties[1].oob();
        change(&mut two.parties[1], &mut oob);
        let domains = two.domains([1, 2]);
        assert_eq!(c!(doca_urom_domain_set_oob(domains[1].raw, &mut oob)), OK);
        assert_eq!(domains[0].set_count(1), OK);
        assert_eq!(domains[0].add(0x1000, 16, b"h", b"k"), OK);
        assert_eq!(two.together(&domains), [1, 1]);
        check(domains.each_ref());
        two.is_quiet();
    });
}

#[test]
fn a_size_that_is_wrong_for_one_participant_ends_the_start_of_both() {
    pair(|_, oob| oob.oob_index = 0, |domains| both_failed(domains, IO, "oob_index of its own"));
}

#[test]
fn blobs_that_only_one_participant_cannot_read_end_the_start_of_both() {
    for (byte, words, code) in
        [(0xff, "cannot be read", IO), (0, "it lacks a worker", DocaStatus::INVALID_VALUE)]
    {
        let tamper = move |round, bytes: &mut Vec<u8>| {
            if round == 1 {
                bytes.fill(byte);
            }
        };
        // Only the first notices.
        let check = |[here, there]: [&TestDomain; 2]| {
            let (failed, text) = here.reason();
            assert_eq!(failed, code);
            assert!(text.contains(words) && text.contains("participant 1"), "{text}");
            let (failed, text) = there.reason();
            assert_eq!(failed, code);
            assert!(text.starts_with("participant 0 of the domain failed: "), "{text}");
            assert!(text.contains(words), "{text}");
        };
        pair(|party, _| party.tamper = Some(Box::new(tamper)), check);
    }
}

/// Kills the second participant's worker before the start or during the exchange of blobs.
fn kill(under_way: bool) {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start(&plugins);
    let engines = [Engine::new(), Engine::new()];
    let services =
        engines.each_ref().map(|engine| TestService::start(&At::Address(uromd.address), engine));
    let workers = [0, 1].map(|at| TestWorker::start(services[at].raw, &engines[at], at as u64, 1));
    let rally = Rally::new(2);
    let parties = [rally.party(0), rally.party(1)];
    let domains = [0, 1]
        .map(|at| TestDomain::new(&engines[at], &parties[at], &[(7 + at as u64, workers[at])]));
    let pid = pid_of(&engines[1], &workers[1]);
    if under_way {
        domains[0].start();
        domains[1].start();
        // The first joins the round of blobs only after the loss.
        while parties[1].counts() != (2, 1) {
            engines[1].progress();
            if parties[0].counts().1 == 0 {
                engines[0].progress();
            }
        }
    }
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(engines[1].next(), 1);
    while state(workers[1].ctx) != CtxState::IDLE {
        engines[1].progress();
    }
    let why = failure(workers[1].ctx);
    assert!(why.contains("was lost"), "{why}");
    if !under_way {
        domains.each_ref().into_iter().for_each(TestDomain::start);
    }
    together(&[(&engines[0], &domains[0]), (&engines[1], &domains[1])]);
    both_failed(domains.each_ref(), domains[1].reason().0, &why);
}

#[test]
fn all_hear_why_a_worker_was_lost_before_the_start() {
    kill(false);
}

#[test]
fn all_hear_why_a_worker_was_lost_before_it_had_the_table() {
    kill(true);
}
