//! When plugins find a domain's data.

use std::sync::mpsc;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use urom_abi::host::CtxState;
use urom_abi::{DocaError, DocaStatus};

use crate::domain_support::{
    TestDomain, ask, ask_plugin, handle, meet, op, seeker, segment, with_seekers, with_workers,
};
use crate::processes::{Plugins, daemon_of};
use crate::rally::Rally;
use crate::support::{Engine, OK, TestService, TestWorker, failure, has, state, until};

const UNKNOWN: (DocaStatus, Vec<u8>) = (DocaStatus::NOT_FOUND, Vec::new());

#[test]
fn every_plugin_finds_its_own_address_at_every_member() {
    with_workers(|engine, workers: [TestWorker; 3]| {
        let party = Rally::new(1).party(0);
        let ids = [7, u64::MAX, 0];
        let members: Vec<_> = ids.into_iter().zip(workers).collect();
        let domain = TestDomain::new(engine, &party, &members);
        let addresses =
            |id| [1, 2, 4].map(|plugin| ask_plugin(engine, &workers[0], plugin, [op::ADDR, id, 0]));
        assert_eq!(addresses(7), [UNKNOWN; 3], "not before it runs");
        domain.run(engine);
        for asking in &workers {
            for (id, member) in &members {
                for plugin in [1, 2] {
                    let own = ask_plugin(engine, member, plugin, [op::OWN, 0, 0]);
                    assert_eq!(ask_plugin(engine, asking, plugin, [op::ADDR, *id, 0]), own);
                }
                let none = ask_plugin(engine, asking, 4, [op::ADDR, *id, 0]);
                assert_eq!(none, UNKNOWN, "it lacks an address");
            }
            assert_eq!(ask(engine, asking, op::ADDR, 1, 0), UNKNOWN);
        }
        domain.stop();
        assert_eq!(addresses(7), [UNKNOWN; 3], "nor after it stopped");
    });
}

#[test]
fn segments_are_found_by_every_address_in_them_and_by_no_other() {
    with_workers(|engine, [worker, other]: [TestWorker; 2]| {
        let party = Rally::new(1).party(0);
        let domain = TestDomain::new(engine, &party, &[(5, worker), (6, other)]);
        let top = usize::MAX - 4095;
        let buffers = [(0x2000, 0x1000), (0x1000, 0x1000), (top, 4096), (0x2800, 0x1000), (1, 1)];
        assert_eq!(domain.set_count(buffers.len()), OK);
        for (number, (va, len)) in buffers.into_iter().enumerate() {
            let key = format!("key {number}");
            let memh: &[u8] = if number == 1 { b"" } else { b"memh" };
            assert_eq!(
                domain.add(va, len, memh, if number == 2 { b"" } else { key.as_bytes() }),
                OK
            );
        }
        domain.run(engine);
        let none = Err(DocaError::NOT_FOUND);
        for id in [5, 6] {
            for (va, found) in [
                (0x2000, Ok(0)),
                (0x2fff, Ok(0)),
                (0x3000, Ok(3)),
                (0x37ff, Ok(3)),
                (0x3800, none),
                (0x1000, Ok(1)),
                (0x1fff, Ok(1)),
                (0xfff, none),
                (top as u64, Ok(2)),
                (u64::MAX, Ok(2)),
                (top as u64 - 1, none),
                (0, none),
                (1, Ok(4)),
                (2, none),
            ] {
                assert_eq!(segment(engine, &worker, id, va), found, "{va:#x}");
            }
            assert_eq!(ask(engine, &other, op::MKEY, id, 3), handle(b"key 3"));
            assert_eq!(ask(engine, &other, op::MEMH, id, 0), handle(b"memh"));
            assert_eq!(ask(engine, &other, op::MEMH, id, 1), UNKNOWN, "it is missing");
            assert_eq!(ask(engine, &other, op::MKEY, id, 2), UNKNOWN, "it is missing");
            for beyond in [5, i32::MAX as u64] {
                assert_eq!(ask(engine, &worker, op::MEMH, id, beyond), UNKNOWN);
                assert_eq!(ask(engine, &worker, op::MKEY, id, beyond), UNKNOWN);
            }
        }
        let (code, codes) = ask(engine, &worker, op::NULLS, 5, 0x2000);
        assert_eq!((code, codes), (OK, DocaError::INVALID_VALUE.code().to_le_bytes().repeat(12)));
        assert_eq!(segment(engine, &worker, 7, 0x2000), none);
        domain.end();
        assert_eq!(segment(engine, &worker, 5, 0x2000), none);
    });
}

#[test]
fn a_lookup_result_stays_after_the_domain_stopped() {
    with_workers(|engine, [worker]: [TestWorker; 1]| {
        let party = Rally::new(1).party(0);
        let domain = TestDomain::new(engine, &party, &[(5, worker)]);
        let key: Vec<u8> = (0..100_000_u32).map(|byte| (byte * 7) as u8).collect();
        assert_eq!(domain.set_count(1), OK);
        assert_eq!(domain.add(0x1000, 1, b"", &key), OK);
        domain.run(engine);
        assert_eq!(ask(engine, &worker, op::KEEP, 5, 0), handle(&key));
        domain.stop();
        for _ in 0..10 {
            domain.run(engine);
            domain.stop();
        }
        assert_eq!(ask(engine, &worker, op::MKEY, 5, 0), UNKNOWN);
        assert_eq!(ask(engine, &worker, op::KEPT, 0, 0), handle(&key));
    });
}

#[test]
fn plugins_find_the_member_of_the_newest_domain_that_runs() {
    with_workers(|engine, [worker, other]: [TestWorker; 2]| {
        let parties = [0, 1, 2].map(|_| Rally::new(1).party(0));
        let first = TestDomain::new(engine, &parties[0], &[(5, worker), (6, other)]);
        let second = TestDomain::new(engine, &parties[1], &[(5, worker)]);
        let different = TestDomain::new(engine, &parties[2], &[(9, other), (5, worker)]);
        for domain in [&first, &second, &different] {
            assert_eq!(domain.set_count(1), OK);
        }
        assert_eq!(first.add(0x1000, 16, b"h", b"k"), OK);
        assert_eq!(second.add(0x1000, 16, b"h", b"k"), OK);
        assert_eq!(different.add(0x1000, 17, b"h", b"another"), OK);
        first.run(engine);
        second.run(engine);
        assert_eq!(ask(engine, &worker, op::KEEP, 5, 0), handle(b"k"));
        different.run(engine);
        for asking in [&worker, &other] {
            assert_eq!(ask(engine, asking, op::MKEY, 5, 0), handle(b"another"));
            assert_eq!(segment(engine, asking, 5, 0x1010), Ok(0));
        }
        assert_eq!(ask(engine, &worker, op::KEPT, 0, 0), handle(b"k"), "an answer stays");
        assert_eq!(ask(engine, &other, op::MKEY, 6, 0), handle(b"k"), "the first's alone");
        different.stop();
        assert_eq!(segment(engine, &worker, 9, 0x1000), Err(DocaError::NOT_FOUND));
        // The id exists until the last domain ends.
        first.stop();
        assert_eq!(segment(engine, &worker, 5, 0x100f), Ok(0));
        assert_eq!(segment(engine, &worker, 5, 0x1010), Err(DocaError::NOT_FOUND));
        assert_eq!(segment(engine, &worker, 6, 0x1000), Err(DocaError::NOT_FOUND));
        second.stop();
        assert_eq!(segment(engine, &worker, 5, 0x1000), Err(DocaError::NOT_FOUND));
        for domain in [first, second, different] {
            domain.end();
        }
    });
}

#[test]
fn a_host_that_leaves_takes_its_domains_along() {
    with_seekers(|at| {
        let engines = [Engine::new(), Engine::new()];
        let services = [0, 1].map(|which| TestService::start(at, &engines[which]));
        // Two hosts of one worker, with a domain each.
        let workers = [0, 1].map(|which| seeker(services[which].raw, &engines[which], 3));
        let domains = [0, 1].map(|which| {
            let party = Rally::new(1).party(0);
            let domain =
                TestDomain::new(&engines[which], &party, &[(which as u64, workers[which])]);
            domain.run(&engines[which]);
            (domain, party)
        });
        let found = |id| ask(&engines[0], &workers[0], op::ADDR, id, 0).0;
        assert_eq!((found(0), found(1)), (OK, OK));
        // The domain is not notified and keeps running without the worker.
        workers[1].stop(&engines[1]);
        assert_eq!(state(domains[1].0.ctx), CtxState::RUNNING);
        until("it is still there", || found(1) != OK);
        assert_eq!((found(0), found(1)), (OK, DocaStatus::NOT_FOUND));
        for (which, (domain, _)) in domains.into_iter().enumerate() {
            engines[which].is_quiet(1000);
            domain.end();
        }
    });
}

#[test]
fn a_member_that_dies_ends_a_start_and_not_a_domain_that_runs() {
    let (_plugins, _uromd, engine, service) = daemon_of(Plugins::seekers(), 4096);
    let (left, right) = (seeker(service.raw, &engine, 0), seeker(service.raw, &engine, 1));
    let rally = Rally::new(2);
    let (party, late) = (rally.party(0), rally.party(1));
    let domain = TestDomain::new(&engine, &party, &[(0, left), (1, right)]);
    domain.start();
    engine.is_quiet(1000);
    kill_process(pid_of(&engine, &right), Signal::KILL).unwrap();
    assert_eq!(engine.next(), 1, "the worker goes");
    assert_eq!(state(right.ctx), CtxState::IDLE);
    assert_eq!(state(domain.ctx), CtxState::STARTING, "others may wait for this process");
    // The other participant joins late, on another engine, because its start would block this one.
    let other = Engine::new();
    let there = seeker(service.raw, &other, 2);
    let counterpart = TestDomain::new(&other, &late, &[(2, there)]);
    counterpart.start();
    crate::domain_support::together(&[(&engine, &domain), (&other, &counterpart)]);
    let (code, text) = domain.reason();
    // The stream or UCX notices first.
    assert!(matches!(code, DocaStatus::CONNECTION_RESET | DocaStatus::TIME_OUT), "{code}");
    has(&text, &["could not start at worker 1"]);
    assert!(text.contains(&failure(right.ctx)), "{text}");
    let (theirs, text) = counterpart.reason();
    assert_eq!(theirs, code);
    has(&text, &["participant 0 of the domain failed"]);
    until("they still know each other", || {
        [ask(&engine, &left, op::ADDR, 0, 0), ask(&other, &there, op::ADDR, 2, 0)] == [UNKNOWN; 2]
    });
    domain.destroy();
    right.destroy();
    // A running domain remains for its other workers.
    let solo = Rally::new(1).party(0);
    let again = TestDomain::new(&other, &solo, &[(2, there)]);
    again.run(&other);
    kill_process(pid_of(&other, &there), Signal::KILL).unwrap();
    assert_eq!(other.next(), 1);
    assert_eq!(state(there.ctx), CtxState::IDLE);
    assert_eq!(state(again.ctx), CtxState::RUNNING);
    other.is_quiet(1000);
}

fn pid_of(engine: &Engine, worker: &TestWorker) -> Pid {
    let text = String::from_utf8(ask(engine, worker, op::OWN, 0, 0).1).unwrap();
    Pid::from_raw(text.split(' ').nth(3).unwrap().parse().unwrap()).unwrap()
}

#[test]
fn a_worker_without_answers_delays_a_stop_only_briefly() {
    let (_plugins, _uromd, engine, service) = daemon_of(Plugins::seekers(), 4096);
    let worker = seeker(service.raw, &engine, 0);
    let party = Rally::new(1).party(0);
    let domain = TestDomain::new(&engine, &party, &[(0, worker)]);
    domain.run(&engine);
    let pid = pid_of(&engine, &worker);
    kill_process(pid, Signal::STOP).unwrap();
    let begin = Instant::now();
    domain.end();
    assert!(begin.elapsed().as_millis() < 2000, "{:?}", begin.elapsed());
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(engine.next(), 1);
    assert_eq!(state(worker.ctx), CtxState::IDLE);
}

#[test]
fn threads_of_a_plugin_find_all_or_nothing_while_domains_start_and_stop() {
    with_workers(|engine, [worker]: [TestWorker; 1]| {
        let parties = [0, 1, 2].map(|_| Rally::new(1).party(0));
        let domains = parties.each_ref().map(|party| {
            let domain = TestDomain::new(engine, party, &[(5, worker)]);
            assert_eq!(domain.set_count(1), OK);
            assert_eq!(domain.add(0x10000, 0x1000, b"", b"the key\0"), OK);
            domain
        });
        assert_eq!(ask(engine, &worker, op::HUNT, 5, 0).0, OK);
        for round in 0..100 {
            domains[round % 3].run(engine);
            if round % 2 == 0 {
                domains[(round + 1) % 3].run(engine);
                domains[(round + 1) % 3].stop();
            }
            domains[round % 3].stop();
        }
        let (code, counts) = ask(engine, &worker, op::RETURN, 0, 0);
        let counts: Vec<u64> = counts
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(code, OK);
        assert!(
            counts[0] > 0 && counts[1] > 0 && counts[2] == 0,
            "found, missed, wrong: {counts:?}"
        );
    });
}

#[test]
fn participants_on_threads_of_their_own_meet() {
    with_seekers(|at| {
        const COUNT: usize = 4;
        let rally = Rally::new(COUNT);
        let (own, addresses) = mpsc::channel();
        std::thread::scope(|scope| {
            for index in 0..COUNT {
                let (rally, own) = (&rally, own.clone());
                scope.spawn(move || {
                    let engine = Engine::new();
                    let service = TestService::start(at, &engine);
                    let ids = [index, index + COUNT];
                    let workers = ids.map(|id| seeker(service.raw, &engine, 100 + id as u64));
                    let party = rally.party(index);
                    let members: Vec<_> =
                        ids.map(|id| id as u64).into_iter().zip(workers).collect();
                    let domain = TestDomain::new(&engine, &party, &members);
                    domain.start();
                    meet(&[(&engine, &domain)]);
                    assert!(party.is_called_by_this_thread());
                    for (id, worker) in &members {
                        own.send((*id, ask(&engine, worker, op::OWN, 0, 0))).unwrap();
                        for other in 0..2 * COUNT as u64 {
                            own.send((other, ask(&engine, worker, op::ADDR, other, 0))).unwrap();
                        }
                    }
                });
            }
        });
        drop(own);
        let mut seen = std::collections::HashMap::new();
        let mut count = 0;
        for (id, (code, address)) in addresses {
            assert_eq!(code, OK);
            assert_eq!(*seen.entry(id).or_insert_with(|| address.clone()), address);
            count += 1;
        }
        assert_eq!((seen.len(), count), (2 * COUNT, 2 * COUNT * (2 * COUNT + 1)));
    });
}
