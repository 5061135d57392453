//! Lost, missing and replaced peers.

use ucx::test_queues::{Queues, ran_alone};
use urom_pdk::CancelReason;

use super::*;

#[test]
fn a_host_that_leaves_ends_its_instances_and_the_other_end_is_notified() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    let receive = two.post(&[]);
    workers[0].leave(one.connection);
    until(&domain, "the other end's state", || two.state() == State::Error);
    let (code, why) = two.failure(receive);
    assert_eq!(code, DocaError::CONNECTION_ABORTED);
    assert!(why.contains("its host has left"), "{why}");
    let foreign = End { connection: 77, ..one };
    assert_eq!(foreign.call(Query { rdma: one.rdma }).map(drop), Err(DocaError::INVALID_VALUE));
}

#[test]
fn a_host_that_leaves_in_the_middle_of_operations_is_missed_by_the_other_end() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    let memory = one.share([0; 8], LOCAL);
    // Neither operation can end without the other side.
    let _receive = one.post(&[memory.range()]);
    let _send = one.tell(&[memory.range()]);
    let lonely = End::started(&workers[0], ALL);
    let other = End::started(&workers[1], ALL);
    lonely.call(Connect { rdma: lonely.rdma, details: &other.details() }).unwrap();
    let _write = lonely.write(Remote::default(), &[]);
    workers[0].leave(one.connection);
    until(&domain, "the other end's state", || two.state() == State::Error);
    until(&domain, "the memory", || memory.opened() == 0);
}

#[test]
fn operations_that_were_cancelled_keep_their_position() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let buffers = [0, 1].map(|_| two.share([0; 8], LOCAL));
    let receives = buffers.each_ref().map(|buffer| two.post(&[buffer.range()]));
    two.worker.cancel(&receives[0], CancelReason::Cancelled);
    let [cancelled, receive] = receives;
    assert_eq!(two.wait(cancelled).map(drop), Err(DocaError::SKIPPED));
    let source = one.share([4; 8], LOCAL);
    one.wait(one.tell(&[source.range()])).unwrap();
    assert!(two.worker.answer(&receive).is_none());
    assert_eq!(buffers[0].bytes(), [4; 8]);
    let sent = one.tell(&[source.slice(..4)]);
    one.worker.cancel(&sent, CancelReason::TimedOut);
    assert_eq!(one.wait(sent).map(drop), Err(DocaError::SKIPPED));
    assert_eq!(two.wait(receive).unwrap().len, 4);
    one.wait(one.write(Remote::default(), &[])).unwrap();
}

#[test]
fn an_operation_that_was_cancelled_before_the_other_end_came_runs_then() {
    let (_domain, workers) = workers();
    let [one, two] = [0, 1].map(|at| End::started(&workers[at], ALL));
    let details = [one, two].map(|end| end.details());
    one.call(Connect { rdma: one.rdma, details: &details[1] }).unwrap();
    let (source, target) = (one.share([4; 8], LOCAL), two.share([0; 16], ALL));
    let first = one.write(at(&target, 0), &[source.range()]);
    one.worker.cancel(&first, CancelReason::Cancelled);
    assert_eq!(one.wait(first).map(drop), Err(DocaError::SKIPPED));
    let second = one.write(at(&target, 8), &[source.range()]);
    two.call(Connect { rdma: two.rdma, details: &details[0] }).unwrap();
    one.wait(second).unwrap();
    assert_eq!(target.bytes(), [4; 16]);
}

#[test]
fn a_worker_that_closes_the_plugin_notifies_the_other_end() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    one.wait(one.write(Remote::default(), &[])).unwrap();
    let buffer = two.share([0; 8], LOCAL);
    let receive = two.post(&[buffer.range()]);
    let send = two.tell(&[buffer.range()]);
    workers[0].close();
    until(&domain, "the other end's state", || two.state() == State::Error);
    assert_eq!(two.wait(send).map(drop), Err(DocaError::CONNECTION_ABORTED));
    assert_eq!(two.wait(receive).map(drop), Err(DocaError::CONNECTION_ABORTED));
}

#[test]
fn an_instance_that_was_stopped_before_is_refused() {
    let (domain, workers) = workers();
    let [one, two] = [0, 1].map(|at| End::started(&workers[at], ALL));
    let old = two.details();
    two.call(Stop { rdma: two.rdma }).unwrap();
    two.call(Start { rdma: two.rdma }).unwrap();
    one.call(Connect { rdma: one.rdma, details: &old }).unwrap();
    until(&domain, "the state", || one.state() == State::Error);
    let query = one.call(Query { rdma: one.rdma }).unwrap();
    assert_eq!(query.failure, DocaError::CONNECTION_RESET.code());
    assert_eq!(two.state(), State::Init);
}

#[test]
fn an_instance_that_is_connected_to_another_refuses_a_third() {
    let (domain, workers) = workers();
    let [one, two] = [0, 1].map(|at| End::started(&workers[at], ALL));
    let third = End::started(&workers[1], ALL);
    let details = [one, two, third].map(|end| end.details());
    one.call(Connect { rdma: one.rdma, details: &details[1] }).unwrap();
    two.call(Connect { rdma: two.rdma, details: &details[0] }).unwrap();
    third.call(Connect { rdma: third.rdma, details: &details[0] }).unwrap();
    until(&domain, "the third's state", || third.state() == State::Error);
    let (source, target) = (one.share([4; 8], LOCAL), two.share([0; 8], ALL));
    let pieces = &[source.range()];
    one.wait(one.write(at(&target, 0), pieces)).unwrap();
    assert_eq!((one.state(), two.state()), (State::Connected, State::Connected));
}

/// Waits for messages whose arrival the test cannot observe.
fn settle(domain: &Domain) {
    for _ in 0..200 {
        domain.progress();
    }
}

/// Returns two instances; the second has the first as a caller.
fn called<'a>(domain: &Domain, workers: &'a [Worker<Protocol>; 2]) -> [End<'a>; 2] {
    let [one, two] = [0, 1].map(|at| End::started(&workers[at], ALL));
    one.call(Connect { rdma: one.rdma, details: &two.details() }).unwrap();
    settle(domain);
    [one, two]
}

#[test]
fn an_instance_that_is_stopped_before_it_connects_refuses_its_callers() {
    let (domain, workers) = workers();
    let [one, two] = called(&domain, &workers);
    let write = one.write(Remote::default(), &[]);
    two.call(Stop { rdma: two.rdma }).unwrap();
    until(&domain, "the state", || one.state() == State::Error);
    assert_eq!(one.wait(write).map(drop), Err(DocaError::CONNECTION_ABORTED));
    let [three, four] = called(&domain, &workers);
    workers[1].leave(four.connection);
    until(&domain, "the state", || three.state() == State::Error);
}

#[test]
fn an_instance_that_connects_to_another_refuses_its_callers() {
    let (domain, workers) = workers();
    let [one, two] = called(&domain, &workers);
    let third = End::started(&workers[0], ALL);
    let details = [two, third].map(|end| end.details());
    two.call(Connect { rdma: two.rdma, details: &details[1] }).unwrap();
    third.call(Connect { rdma: third.rdma, details: &details[0] }).unwrap();
    until(&domain, "the state", || one.state() == State::Error);
    third.wait(third.write(Remote::default(), &[])).unwrap();
    assert_eq!((two.state(), third.state()), (State::Connected, State::Connected));
}

#[test]
fn more_callers_than_an_instance_keeps_are_turned_away_and_those_that_left_are_forgotten() {
    let (domain, workers) = workers();
    let two = End::started(&workers[1], ALL);
    let callers: Vec<End<'_>> = (0..9).map(|_| End::started(&workers[0], ALL)).collect();
    for caller in &callers {
        caller.call(Connect { rdma: caller.rdma, details: &two.details() }).unwrap();
    }
    let refused = || callers.iter().filter(|it| it.state() == State::Error).count();
    until(&domain, "the last caller's state", || refused() == 1);
    for caller in &callers {
        caller.call(Stop { rdma: caller.rdma }).unwrap();
    }
    settle(&domain);
    let caller = callers[0];
    caller.call(Start { rdma: caller.rdma }).unwrap();
    let details = caller.details();
    caller.call(Connect { rdma: caller.rdma, details: &two.details() }).unwrap();
    settle(&domain);
    two.call(Connect { rdma: two.rdma, details: &details }).unwrap();
    caller.wait(caller.write(Remote::default(), &[])).unwrap();
}

#[test]
fn a_peer_that_dies_while_it_sends_costs_the_connections_and_not_the_plugin() {
    let name =
        "tests::peers::a_peer_that_dies_while_it_sends_costs_the_connections_and_not_the_plugin";
    // Over TCP, every peer has its own queue.
    if std::env::var("UCX_TLS").is_ok_and(|transports| transports == "tcp") || ran_alone(name) {
        return;
    }
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    one.wait(one.write(Remote::default(), &[])).unwrap();
    let waits = End::started(&workers[1], ALL);
    let old = waits.details();
    let queues = Queues::now();
    let sends = [one.tell(&[]), one.tell(&[])];
    until(&domain, "the messages", || queues.took(sends.len() as u64));
    queues.block(sends.len() as u64);
    workers[0].close();
    for end in [two, waits] {
        until(&domain, "the state", || end.state() == State::Error);
        let query = end.call(Query { rdma: end.rdma }).unwrap();
        assert_eq!(query.failure, DocaError::CONNECTION_RESET.code());
        end.call(Stop { rdma: end.rdma }).unwrap();
        end.call(Start { rdma: end.rdma }).unwrap();
    }
    // The next peer finds a moving queue. The old address causes an error, immediate or later.
    let third = domain.open::<RdmaPlugin, Protocol>(2);
    third.set_timeout(DEADLINE);
    let [late, three] = [0, 1].map(|_| End::started(&third, ALL));
    match late.call(Connect { rdma: late.rdma, details: &old }) {
        Ok(_) => until(&domain, "the state", || late.state() == State::Error),
        Err(code) => assert_eq!(code, DocaError::NOT_CONNECTED),
    }
    connect(two, three);
    three.wait(three.write(Remote::default(), &[])).unwrap();
    two.wait(two.write(Remote::default(), &[])).unwrap();
}

#[test]
fn bytes_announced_before_the_worker_was_blocked_give_their_memory_back() {
    let name = "tests::peers::bytes_announced_before_the_worker_was_blocked_give_their_memory_back";
    if std::env::var("UCX_TLS").is_ok_and(|transports| transports == "tcp") || ran_alone(name) {
        return;
    }
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    one.wait(one.write(Remote::default(), &[])).unwrap();
    let third = domain.open::<RdmaPlugin, Protocol>(2);
    third.set_timeout(DEADLINE);
    let [sender, receiver] = [&workers[1], &third].map(|worker| End::started(worker, ALL));
    connect(sender, receiver);
    sender.wait(sender.write(Remote::default(), &[])).unwrap();
    let source = sender.share(pattern(1 << 20, 1), LOCAL);
    let send = sender.tell(&[source.range()]);
    settle(&domain);
    let queues = Queues::now();
    let sends = [one.tell(&[]), one.tell(&[])];
    until(&domain, "the messages", || queues.took(sends.len() as u64));
    queues.block(sends.len() as u64);
    // The refusal of the bytes is reported through the queue.
    let stop = sender.send(Stop { rdma: sender.rdma });
    assert_eq!(sender.wait(send).map(drop), Err(DocaError::SHUTDOWN));
    source.unshare();
    workers[0].close();
    until(&domain, "the state", || two.state() == State::Error);
    sender.wait(stop).unwrap();
    until(&domain, "the memory", || source.opened() == 0);
}

#[test]
fn details_that_name_no_worker_are_refused_and_can_be_tried_again() {
    let (_domain, workers) = workers();
    let [one, two] = [0, 1].map(|at| End::started(&workers[at], ALL));
    let good = two.details();
    for at in [0, 9, 12, 40, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        let connect = one.call(Connect { rdma: one.rdma, details: &bad });
        assert!(connect.is_err(), "byte {at}");
        assert_eq!(one.state(), State::Init);
    }
    let details = one.details();
    one.call(Connect { rdma: one.rdma, details: &good }).unwrap();
    two.call(Connect { rdma: two.rdma, details: &details }).unwrap();
    one.wait(one.write(Remote::default(), &[])).unwrap();
}

#[test]
fn memory_that_goes_while_an_operation_waits_for_it_stays_until_that_is_over() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    let source = one.share([6; 8], LOCAL);
    let send = one.tell(&[source.range()]);
    source.unshare();
    let buffer = two.share([0; 8], LOCAL);
    two.wait(two.post(&[buffer.range()])).unwrap();
    one.wait(send).unwrap();
    assert_eq!(buffer.bytes(), [6; 8]);
    until(&domain, "the memory", || source.opened() == 0);
}
