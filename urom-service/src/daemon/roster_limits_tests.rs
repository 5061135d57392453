//! How many there may be: workers, workers of one host, and requests that wait for one that starts.

use super::*;

/// A fixture that is full soon.
fn narrow(workers: usize, workers_per_host: usize) -> Fixture {
    let limits = Limits { hosts: 9, workers, workers_per_host };
    Fixture { roster: Roster::new(limits), ..Fixture::default() }
}

#[test]
fn a_host_has_so_many_workers_whether_it_waits_for_them_or_is_there() {
    let mut fixture = narrow(9, 2);
    fixture.start(1, wish(1));
    fixture.start(1, wish(2));
    // A third one, and one of those it has, a second time.
    for id in [3, 2, WORKER_ID_ANY] {
        assert_eq!(fixture.start(1, wish(id)), ["host 1: 10 failed FULL"]);
    }
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    assert_eq!(fixture.start(1, wish(3)), ["host 1: 10 failed FULL"]);
    fixture.roster.arrived(1, 1);
    assert_eq!(fixture.start(1, wish(3)), ["host 1: 10 failed FULL"]);
    assert_eq!(
        fixture.start(2, wish(3)),
        ["spawn 3 as 3 for 2"],
        "others have places of their own"
    );
    fixture.roster.departed(1, 1);
    assert_eq!(fixture.start(1, wish(4)), ["spawn 4 as 4 for 1"]);
}

#[test]
fn a_place_is_free_again_when_the_worker_is_gone_or_the_host_never_came() {
    let mut fixture = narrow(9, 1);
    fixture.start(1, wish(1));
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    texts(fixture.roster.expired(1, 1));
    assert_eq!(fixture.start(1, wish(2)), ["spawn 2 as 2 for 1"]);
    texts(fixture.roster.gone(2, &lost()));
    assert_eq!(fixture.start(1, wish(3)), ["spawn 3 as 3 for 1"]);
}

#[test]
fn a_host_that_came_as_it_was_given_up_has_a_place_from_then_on() {
    let mut fixture = narrow(9, 1);
    fixture.start(1, wish(1));
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    texts(fixture.roster.expired(1, 1));
    // The worker had let it in before it heard of that.
    fixture.roster.arrived(1, 1);
    assert!(fixture.roster.expired(1, 1).is_empty());
    assert_eq!(fixture.start(1, wish(2)), ["host 1: 10 failed FULL"]);
    fixture.roster.departed(1, 1);
    assert_eq!(fixture.start(1, wish(2)), ["spawn 2 as 2 for 1"]);
}

#[test]
fn there_are_so_many_workers_and_who_is_sent_to_one_needs_no_other() {
    let mut fixture = narrow(1, 9);
    fixture.start(1, wish(1));
    for id in [2, WORKER_ID_ANY] {
        assert_eq!(fixture.start(2, wish(id)), ["host 2: 20 failed FULL"]);
    }
    assert_eq!(fixture.start(2, wish(1)), [""; 0]);
    texts(fixture.roster.failed(1, &lost()));
    assert_eq!(fixture.start(2, wish(2)), ["spawn 2 as 2 for 2"]);
}

#[test]
fn so_many_requests_wait_for_a_worker_that_starts_and_its_queue_has_room_for_them() {
    let mut fixture = Fixture::default();
    fixture.start(0, wish(7));
    for host in 1..MOST_WAITING as HostKey {
        assert!(fixture.start(host, wish(7)).is_empty());
    }
    let actions = fixture.roster.start(9000, 1, wish(7), KNOWN, || Ok(0));
    let [Action::ToHost(9000, DaemonToHost::Failed { request: 1, failure })] = &actions[..] else {
        panic!("a refusal, not {:?}", texts(actions));
    };
    assert_eq!(failure.code(), DocaError::FULL);
    assert!(
        failure.text.contains(&MOST_WAITING.to_string()) && failure.text.contains("worker 7"),
        "{failure}"
    );
    assert_eq!(fixture.start(9000, wish(8)), ["spawn 2 as 8 for 9000"], "another one is no matter");
    let told =
        fixture.ready(1).into_iter().filter(|text| text.starts_with("worker 1: expect")).count();
    // There is one message before them.
    assert!(told == MOST_WAITING && told + 1 < BACKLOG);
    assert_eq!(fixture.start(9000, wish(7)).len(), 2, "it runs");
}

#[test]
fn those_who_wanted_to_join_a_worker_that_died_wait_for_the_next_one_up_to_the_limit() {
    let mut fixture = Fixture::default();
    fixture.start(9000, wish(7));
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    let more = 5;
    for host in 0..MOST_WAITING as HostKey + more {
        fixture.start(host, wish(7));
    }
    let actions = texts(fixture.roster.gone(1, &lost()));
    assert!(actions[0].starts_with("spawn 2 as 7"), "{}", actions[0]);
    assert_eq!(actions.iter().filter(|text| text.ends_with("failed FULL")).count(), more as usize);
    assert_eq!(actions.len(), 1 + more as usize);
}

/// What the limit is about, counted by looking at every worker.
fn places(roster: &Roster, host: HostKey) -> usize {
    let counts = |visitor: &&Visitor| visitor.host == host && (visitor.there || !visitor.late);
    let at = |entry: &Entry| {
        let visits = entry.tickets.values().filter(counts).count();
        match &entry.state {
            State::Starting(waiting) => {
                visits + waiting.iter().filter(|one| one.host == host).count()
            }
            State::Ready(_) => visits,
        }
    };
    roster.workers.values().map(at).sum()
}

#[test]
fn whatever_happens_a_host_has_as_many_places_as_there_are_at_all_workers_and_none_when_it_is_gone()
{
    let mut fixture = narrow(12, 5);
    let mut seed = 1_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    // As in a daemon, a host that comes again has another key.
    let mut keys = [1, 2, 3, 4];
    let mut taken = 0;
    for _ in 0..20_000 {
        let (which, serial) =
            (draw(4) as usize, fixture.roster.last_serial.saturating_sub(draw(8)));
        let ticket = fixture.tickets.saturating_sub(u128::from(draw(12)));
        match draw(16) {
            0..=4 => drop(fixture.start(keys[which], wish(draw(9)))),
            5 | 6 => drop(fixture.ready(serial)),
            7 | 8 => drop(texts(fixture.roster.expected(serial, ticket))),
            9 | 10 => fixture.roster.arrived(serial, ticket),
            11 => fixture.roster.departed(serial, ticket),
            12 => drop(texts(fixture.roster.expired(serial, ticket))),
            13 => drop(texts(fixture.roster.empty(serial))),
            14 => drop(texts(fixture.roster.gone(serial, &lost()))),
            _ => {
                texts(fixture.roster.host_gone(keys[which]));
                let left = |visitor: &Visitor| visitor.host == keys[which] && !visitor.there;
                let mut entries = fixture.roster.workers.values();
                assert!(entries.all(|entry| !entry.tickets.values().any(left)), "it is on the way");
                let mut states = fixture.roster.workers.values().map(|entry| &entry.state);
                let waits = |waiting: &[Waiting]| waiting.iter().any(|one| one.host == keys[which]);
                assert!(!states.any(|state| matches!(state, State::Starting(all) if waits(all))));
                keys[which] += 4;
            }
        }
        for key in keys {
            let count = fixture.roster.hosts.get(&key).map_or(0, Host::count);
            assert_eq!(count, places(&fixture.roster, key), "host {key}");
            taken += usize::from(count == 5);
        }
    }
    assert!(taken > 100, "the limit was reached {taken} times");
    assert!(fixture.roster.hosts.len() <= 4, "hosts that are gone are forgotten");
}
