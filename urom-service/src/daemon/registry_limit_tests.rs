//! The registry's limits on workers, slots and waiting requests.

use super::*;

#[test]
fn a_host_has_so_many_workers_whether_it_waits_for_them_or_is_there() {
    plays_within(
        9,
        2,
        "start 1 1
         start 1 2
         start 1 3   -> host 1: 10 failed FULL
         start 1 2   -> host 1: 10 failed FULL
         start 1 any -> host 1: 10 failed FULL
         ready 1
         expected 1 1
         start 1 3   -> host 1: 10 failed FULL
         arrived 1 1
         start 1 3   -> host 1: 10 failed FULL
         start 2 3   -> spawn 3 as 3 for 2
         departed 1 1
         start 1 4   -> spawn 4 as 4 for 1",
    );
}

#[test]
fn a_host_that_connected_after_its_token_expired_occupies_a_slot() {
    // A slot is free when the host never arrived, or its worker has ended. The last worker accepted
    // the host before the cancellation reached it.
    plays_within(
        9,
        1,
        "start 1 1
         ready 1
         expected 1 1
         expired 1 1
         start 1 2   -> spawn 2 as 2 for 1
         gone 2
         start 1 3   -> spawn 3 as 3 for 1
         ready 3
         expected 3 2
         expired 3 2
         arrived 3 2
         expired 3 2 ->
         start 1 4   -> host 1: 10 failed FULL
         departed 3 2
         start 1 4   -> spawn 4 as 4 for 1",
    );
}

#[test]
fn there_are_so_many_workers_and_who_is_sent_to_one_needs_no_other() {
    plays_within(
        1,
        9,
        "start 1 1
         start 2 2   -> host 2: 20 failed FULL
         start 2 any -> host 2: 20 failed FULL
         start 2 1   ->
         failed 1
         start 2 2   -> spawn 2 as 2 for 2",
    );
}

#[test]
fn requests_up_to_a_limit_wait_for_a_starting_worker_and_its_queue_has_capacity_for_them() {
    let mut registry = after(DaemonLimits::default(), "start 0 7");
    for host in 1..MOST_WAITING as HostKey {
        assert!(registry.start(host, 1, wish(7), &known()).is_empty());
    }
    let actions = registry.start(9000, 1, wish(7), &known());
    let [DaemonAction::ToHost(9000, DaemonToHost::Failed { request: 1, failure })] = &actions[..]
    else {
        panic!("a refusal, not {:?}", texts(actions));
    };
    assert_eq!(failure.code, DocaError::FULL);
    let names = [&MOST_WAITING.to_string(), "worker 7"];
    assert!(names.iter().all(|part| failure.text.contains(part)), "{failure}");
    play(&mut registry, "start 9000 8 -> spawn 2 as 8 for 9000");
    let told = texts(registry.ready(1, ([127, 0, 0, 1], 5000).into()));
    let told = told.iter().filter(|text| text.starts_with("worker 1: expect")).count();
    assert!(told == MOST_WAITING && told + 1 < BACKLOG);
    // Hosts that joined a dead worker wait for the next worker, up to the same limit.
    let more = 5;
    for host in 0..MOST_WAITING as HostKey + more {
        registry.start(host, 2, wish(7), &known());
    }
    let actions = texts(registry.gone(1, &lost()));
    assert!(actions[0].starts_with("spawn 3 as 7"), "{}", actions[0]);
    assert_eq!(
        actions.iter().filter(|text| text.ends_with("2 failed FULL")).count(),
        more as usize
    );
}
