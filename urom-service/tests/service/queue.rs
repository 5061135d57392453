//! Hosts of a worker whose receive queue another host left with a place that nobody fills.

use ucx::test_queues::{Queues, ran_alone};
use urom_abi::DocaError;
use urom_wire::control::StartWorker;

use crate::support::client::{any, op, served};

#[test]
fn hosts_that_wait_behind_one_that_died_while_it_sent_are_told() {
    if ran_alone("queue::hosts_that_wait_behind_one_that_died_while_it_sent_are_told") {
        return;
    }
    let (_uromd, mut client) = served();
    let dying = client.attach(StartWorker { id: 1, ..any() }, 64);
    let waiting = client.attach(StartWorker { id: 1, ..any() }, 64);
    assert_eq!(waiting.call(op::ECHO, 1).status, DocaError::SUCCESS);

    let queues = Queues::now();
    // Nobody answers these, so no queue of this process's own moves.
    (0..5).for_each(|slot| dying.ask(slot, op::HOLD, 0));
    queues.block(5);
    drop(dying);
    waiting.ask(1, op::ECHO, 2);
    let failure = waiting.refusal();
    assert_eq!(failure.code(), DocaError::CONNECTION_RESET);
    assert!(failure.to_string().contains("UCX's receive queue"), "{failure}");

    // The next worker has a queue of its own.
    let next = client.attach(any(), 1);
    assert_eq!(next.call(op::ECHO, 3).status, DocaError::SUCCESS);
}

/// Nobody learns of its end from a stream: that was closed when it was thrown out.
#[test]
fn hosts_that_wait_behind_one_that_was_thrown_out_and_sent_on_are_told() {
    if ran_alone("queue::hosts_that_wait_behind_one_that_was_thrown_out_and_sent_on_are_told") {
        return;
    }
    let (_uromd, mut client) = served();
    let rude = client.attach(StartWorker { id: 1, ..any() }, 64);
    let waiting = client.attach(StartWorker { id: 1, ..any() }, 64);
    assert_eq!(waiting.call(op::ECHO, 1).status, DocaError::SUCCESS);
    rude.ask(64, op::HOLD, 0);
    assert_eq!(waiting.call(op::ECHO, 1).status, DocaError::SUCCESS);
    assert!(rude.refusal().to_string().contains("beyond"));

    let queues = Queues::now();
    (0..5).for_each(|slot| rude.ask(slot, op::HOLD, 0));
    queues.block(5);
    waiting.ask(1, op::ECHO, 2);
    let failure = waiting.refusal();
    assert!(failure.to_string().contains("UCX's receive queue"), "{failure}");
}
