//! How many there may be: workers, workers of one host, and requests that wait for one that starts.

use super::*;

/// A fixture that is full soon.
fn narrow(workers: usize, workers_per_host: usize) -> Fixture {
    let limits = Limits { hosts: 9, workers, workers_per_host };
    Fixture { roster: Roster::new(limits, numbers()) }
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
    let mut fixture = Fixture::new();
    fixture.start(0, wish(7));
    for host in 1..MOST_WAITING as HostKey {
        assert!(fixture.start(host, wish(7)).is_empty());
    }
    let actions = fixture.roster.start(9000, 1, wish(7), KNOWN);
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
    let mut fixture = Fixture::new();
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
