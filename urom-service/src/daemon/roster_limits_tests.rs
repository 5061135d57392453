//! How many there may be: workers, workers of one host, and requests that wait for one that starts.

use super::*;

/// A desk that is full soon.
fn narrow(workers: usize, workers_per_host: usize) -> Desk {
    let limits = Limits { hosts: 9, workers, workers_per_host };
    Desk { roster: Roster::new(limits), ..Desk::default() }
}

#[test]
fn a_host_has_so_many_workers_whether_it_waits_for_them_or_is_there() {
    let mut desk = narrow(9, 2);
    desk.start(1, wish(1));
    desk.start(1, wish(2));
    // A third one, and one of those it has, a second time.
    for id in [3, 2, WORKER_ID_ANY] {
        assert_eq!(desk.start(1, wish(id)), ["host 1: 10 failed FULL"]);
    }
    desk.ready(1);
    desk.roster.expected(1, 1);
    assert_eq!(desk.start(1, wish(3)), ["host 1: 10 failed FULL"]);
    desk.roster.arrived(1, 1);
    assert_eq!(desk.start(1, wish(3)), ["host 1: 10 failed FULL"]);
    assert_eq!(desk.start(2, wish(3)), ["spawn 3 as 3 for 2"], "others have places of their own");
    desk.roster.departed(1, 1);
    assert_eq!(desk.start(1, wish(4)), ["spawn 4 as 4 for 1"]);
}

#[test]
fn a_place_is_free_again_when_the_worker_is_gone_or_the_host_never_came() {
    let mut desk = narrow(9, 1);
    desk.start(1, wish(1));
    desk.ready(1);
    desk.roster.expected(1, 1);
    texts(desk.roster.expired(1, 1));
    assert_eq!(desk.start(1, wish(2)), ["spawn 2 as 2 for 1"]);
    texts(desk.roster.gone(2, &lost()));
    assert_eq!(desk.start(1, wish(3)), ["spawn 3 as 3 for 1"]);
}

#[test]
fn a_host_that_came_as_it_was_given_up_has_a_place_from_then_on() {
    let mut desk = narrow(9, 1);
    desk.start(1, wish(1));
    desk.ready(1);
    desk.roster.expected(1, 1);
    texts(desk.roster.expired(1, 1));
    // The worker had let it in before it heard of that.
    desk.roster.arrived(1, 1);
    assert!(desk.roster.expired(1, 1).is_empty());
    assert_eq!(desk.start(1, wish(2)), ["host 1: 10 failed FULL"]);
    desk.roster.departed(1, 1);
    assert_eq!(desk.start(1, wish(2)), ["spawn 2 as 2 for 1"]);
}

#[test]
fn there_are_so_many_workers_and_who_is_sent_to_one_needs_no_other() {
    let mut desk = narrow(1, 9);
    desk.start(1, wish(1));
    for id in [2, WORKER_ID_ANY] {
        assert_eq!(desk.start(2, wish(id)), ["host 2: 20 failed FULL"]);
    }
    assert_eq!(desk.start(2, wish(1)), [""; 0]);
    texts(desk.roster.failed(1, &lost()));
    assert_eq!(desk.start(2, wish(2)), ["spawn 2 as 2 for 2"]);
}

#[test]
fn so_many_requests_wait_for_a_worker_that_starts_and_its_queue_has_room_for_them() {
    let mut desk = Desk::default();
    desk.start(0, wish(7));
    for host in 1..MOST_WAITING as HostKey {
        assert!(desk.start(host, wish(7)).is_empty());
    }
    let actions = desk.roster.start(9000, 1, wish(7), KNOWN, || Ok(0));
    let [Action::ToHost(9000, DaemonToHost::Failed { request: 1, failure })] = &actions[..] else {
        panic!("a refusal, not {:?}", texts(actions));
    };
    assert_eq!(failure.code(), DocaError::FULL);
    assert!(
        failure.text.contains(&MOST_WAITING.to_string()) && failure.text.contains("worker 7"),
        "{failure}"
    );
    assert_eq!(desk.start(9000, wish(8)), ["spawn 2 as 8 for 9000"], "another one is no matter");
    let told =
        desk.ready(1).into_iter().filter(|text| text.starts_with("worker 1: expect")).count();
    // There is one message before them.
    assert!(told == MOST_WAITING && told + 1 < BACKLOG);
    assert_eq!(desk.start(9000, wish(7)).len(), 2, "it runs");
}

#[test]
fn those_who_wanted_to_join_a_worker_that_died_wait_for_the_next_one_up_to_the_limit() {
    let mut desk = Desk::default();
    desk.start(9000, wish(7));
    desk.ready(1);
    desk.roster.expected(1, 1);
    let more = 5;
    for host in 0..MOST_WAITING as HostKey + more {
        desk.start(host, wish(7));
    }
    let actions = texts(desk.roster.gone(1, &lost()));
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
    let mut desk = narrow(12, 5);
    let mut seed = 1_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    // As in a daemon, a host that comes again has another key.
    let mut keys = [1, 2, 3, 4];
    let mut taken = 0;
    for _ in 0..20_000 {
        let (which, serial) = (draw(4) as usize, desk.roster.last_serial.saturating_sub(draw(8)));
        let ticket = desk.tickets.saturating_sub(u128::from(draw(12)));
        match draw(16) {
            0..=4 => drop(desk.start(keys[which], wish(draw(9)))),
            5 | 6 => drop(desk.ready(serial)),
            7 | 8 => drop(texts(desk.roster.expected(serial, ticket))),
            9 | 10 => desk.roster.arrived(serial, ticket),
            11 => desk.roster.departed(serial, ticket),
            12 => drop(texts(desk.roster.expired(serial, ticket))),
            13 => drop(texts(desk.roster.empty(serial))),
            14 => drop(texts(desk.roster.gone(serial, &lost()))),
            _ => {
                texts(desk.roster.host_gone(keys[which]));
                let left = |visitor: &Visitor| visitor.host == keys[which] && !visitor.there;
                let mut entries = desk.roster.workers.values();
                assert!(entries.all(|entry| !entry.tickets.values().any(left)), "it is on the way");
                let mut states = desk.roster.workers.values().map(|entry| &entry.state);
                let waits = |waiting: &[Waiting]| waiting.iter().any(|one| one.host == keys[which]);
                assert!(!states.any(|state| matches!(state, State::Starting(all) if waits(all))));
                keys[which] += 4;
            }
        }
        for key in keys {
            let count = desk.roster.hosts.get(&key).map_or(0, Host::count);
            assert_eq!(count, places(&desk.roster, key), "host {key}");
            taken += usize::from(count == 5);
        }
    }
    assert!(taken > 100, "the limit was reached {taken} times");
    assert!(desk.roster.hosts.len() <= 4, "hosts that are gone are forgotten");
}
