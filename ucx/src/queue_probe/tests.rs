//! Queues that move, and queues with a place that nobody fills.

use super::*;
use crate::test_queues::{Queues, ran_alone};

/// A worker that receives over shared memory, and its queue.
fn receiver() -> (Worker, Queue) {
    listening(SHARED_MEMORY)
}

fn listening(config: &[(&str, &str)]) -> (Worker, Queue) {
    let context = Context::builder(Features::AM | Features::WAKEUP).watched_shared_memory();
    let context =
        config.iter().fold(context, |context, (name, value)| context.config(*name, *value));
    let worker = context.build().unwrap().worker().unwrap();
    let queue = Queue::of(&worker, 4).unwrap();
    (worker, queue)
}

const SHARED_MEMORY: &[(&str, &str)] = &[("TLS", "posix")];

/// A test whose message nobody sends.
fn unsent() -> Probe {
    Probe {
        awaited: Rc::default(),
        state: Arc::new(ProbeState::new()),
        seen: Seen::default(),
        sent: None,
        further: None,
        traffic: None,
        thread: None,
    }
}

/// One whose message UCX has had for so many turns, without finding a place for it.
fn sent(turns: u32) -> Probe {
    let probe = unsent();
    give_to_ucx(&probe, turns);
    probe
}

fn give_to_ucx(probe: &Probe, turns: u32) {
    probe.state.reach(Stage::Sent);
    (0..turns).for_each(|_| probe.state.turn());
}

/// Tries until there is a result.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it takes too long");
        thread::yield_now();
    }
}

fn known(verdict: Verdict) -> Option<Verdict> {
    (verdict != Verdict::Unknown).then_some(verdict)
}

/// Looks until the test is over.
fn verdict(worker: &Worker, probe: &mut Probe) -> Verdict {
    until(|| known(probe.look(!worker.progress(), Instant::now())))
}

#[test]
fn a_queue_that_is_in_order_moves() {
    let (worker, queue) = receiver();
    for _ in 0..3 {
        let mut probe = Probe::begin(queue.clone()).unwrap();
        assert_eq!(verdict(&worker, &mut probe), Verdict::Moves);
    }
}

#[test]
fn a_queue_with_a_place_that_nobody_fills_is_blocked() {
    if ran_alone("queue_probe::tests::a_queue_with_a_place_that_nobody_fills_is_blocked") {
        return;
    }
    let (worker, queue) = receiver();
    let queues = Queues::now();
    for count in 1..4 {
        let mut probe = Probe::begin(queue.clone()).unwrap();
        assert_eq!(verdict(&worker, &mut probe), Verdict::Moves, "{count}");
    }
    queues.block(3);
    let mut probe = Probe::begin(queue.clone()).unwrap();
    assert_eq!(verdict(&worker, &mut probe), Verdict::Blocked);
}

#[test]
fn somebody_elses_message_proves_nothing() {
    let mut probe = sent(0);
    let begin = Instant::now();
    probe.awaited.set([7; 8]);
    for other in [&[8; 8][..], &[7; 7], &[7; 9], &[]] {
        probe.awaited.receive(other);
        assert_eq!(probe.look(true, begin), Verdict::Unknown);
    }
    // A flood of others hides none, and what came before does not count.
    [[7; 8], [8; 8]].iter().for_each(|header| probe.awaited.receive(header));
    assert_eq!(probe.look(true, begin), Verdict::Moves);
    probe.awaited.set([9; 8]);
    assert_eq!(probe.look(true, begin), Verdict::Unknown);
}

#[test]
fn an_owner_that_did_not_look_knows_nothing() {
    let mut probe = unsent();
    let begin = Instant::now();
    // Not on its way yet.
    for _ in 0..2 * ENOUGH.looks {
        assert_eq!(probe.look(true, begin + 10 * LIMIT), Verdict::Unknown);
    }
    give_to_ucx(&probe, ENOUGH.turns);
    assert_eq!(probe.look(true, begin), Verdict::Unknown);
    // It was stopped, or the queue had other messages.
    for _ in 0..2 * ENOUGH.looks {
        assert_eq!(probe.look(false, begin + 10 * LIMIT), Verdict::Unknown);
    }
    for _ in 0..ENOUGH.looks - 1 {
        assert_eq!(probe.look(true, begin + 11 * LIMIT), Verdict::Unknown);
    }
    assert_eq!(probe.look(true, begin + 11 * LIMIT), Verdict::Blocked);
}

#[test]
fn while_other_messages_come_the_last_word_may_wait_longer_for_its_place() {
    let begin = Instant::now();
    let looked_at = || {
        let mut probe = sent(ENOUGH.turns);
        for _ in 0..=ENOUGH.looks {
            assert_eq!(probe.look(true, begin), Verdict::Unknown);
        }
        probe
    };
    assert_eq!(looked_at().look(true, begin + LIMIT), Verdict::Blocked, "nothing came");
    let mut probe = looked_at();
    for halves in (1..).take_while(|halves| *halves * LIMIT / 2 < LIMIT_IN_TRAFFIC) {
        assert_eq!(probe.look(false, begin + halves * LIMIT / 2), Verdict::Unknown);
    }
    assert_eq!(
        probe.look(true, begin + LIMIT_IN_TRAFFIC),
        Verdict::Blocked,
        "others may come on other ways"
    );
    let mut probe = looked_at();
    assert_eq!(probe.look(false, begin + LIMIT / 2), Verdict::Unknown);
    assert_eq!(probe.look(true, begin + LIMIT), Verdict::Unknown);
    assert_eq!(probe.look(true, begin + LIMIT / 2 + LIMIT), Verdict::Blocked, "nothing came since");
}

#[test]
fn however_many_are_lost_there_is_one_test_at_a_time_and_one_more_after_the_last() {
    let (worker, queue) = receiver();
    let mut probe = QueueProbe::default();
    probe.shared = true;
    for _ in 0..256 {
        probe.begin(queue.clone()).unwrap();
    }
    let mut tests = Vec::new();
    until(|| {
        let Some(test) = &probe.probe else { return Some(()) };
        let nonce = test.awaited.nonce.get();
        if probe.look(!worker.progress(), Instant::now()) == Verdict::Moves {
            tests.push(nonce);
        }
        None
    });
    assert!(tests.len() == 2 && tests[0] != tests[1], "{tests:?}");
}

#[test]
fn a_message_that_its_thread_could_not_move_says_nothing() {
    let mut probe = sent(0);
    let begin = Instant::now();
    assert_eq!(probe.look(true, begin), Verdict::Unknown);
    for turn in 0..ENOUGH.turns {
        for _ in 0..2 * ENOUGH.looks {
            assert_eq!(probe.look(true, begin + 10 * LIMIT), Verdict::Unknown, "{turn}");
        }
        probe.state.turn();
    }
    assert_eq!(probe.look(true, begin + 10 * LIMIT), Verdict::Blocked);
}

#[test]
fn a_message_that_came_into_the_queue_a_moment_ago_has_its_time_to_come_out() {
    let mut probe = sent(0);
    let begin = Instant::now();
    for _ in 0..=ENOUGH.looks {
        assert_eq!(probe.look(true, begin), Verdict::Unknown);
    }
    probe.state.reach(Stage::Arrived);
    // The owner found nothing before it came.
    let arrived = begin + 10 * LIMIT;
    assert_eq!(probe.look(true, arrived), Verdict::Unknown);
    assert_eq!(probe.look(true, arrived + LIMIT / 2), Verdict::Unknown);
    // Nor does what it found before count.
    for _ in 0..ENOUGH.looks - 2 {
        assert_eq!(probe.look(true, arrived + LIMIT), Verdict::Unknown);
    }
    assert_eq!(probe.look(true, arrived + LIMIT), Verdict::Blocked);
}

#[test]
fn a_message_that_had_to_wait_for_its_place_is_late_as_soon_as_others() {
    let mut probe = sent(0);
    let begin = Instant::now();
    assert_eq!(probe.look(true, begin), Verdict::Unknown);
    probe.state.reach(Stage::Arrived);
    let arrived = begin + LIMIT_IN_TRAFFIC - LIMIT;
    assert_eq!(probe.look(true, arrived), Verdict::Unknown);
    for _ in 0..ENOUGH.looks {
        assert_eq!(probe.look(true, arrived), Verdict::Unknown);
    }
    // Something else came, and says nothing.
    assert_eq!(probe.look(false, begin + LIMIT_IN_TRAFFIC - LIMIT / 2), Verdict::Unknown);
    assert_eq!(probe.look(true, begin + LIMIT_IN_TRAFFIC), Verdict::Blocked);
}

#[test]
fn a_worker_without_shared_memory_has_no_queue_that_could_be_blocked() {
    let (_worker, queue) = listening(&[("TLS", "tcp")]);
    let mut probe = Probe::begin(queue).unwrap();
    // Its worker does not even move.
    let verdict = until(|| {
        let verdict = probe.look(true, Instant::now());
        assert!(!matches!(probe.state.stage(), Stage::Sent | Stage::Arrived), "{probe:?}");
        known(verdict)
    });
    assert_eq!(verdict, Verdict::Untested);
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn no_thread_is_left_of_a_test_whose_owner_goes() {
    if ran_alone("queue_probe::tests::no_thread_is_left_of_a_test_whose_owner_goes") {
        return;
    }
    let (worker, queue) = receiver();
    let before = threads();
    let mut probe = QueueProbe::default();
    probe.shared = true;
    // One that is over, and takes down what it has, and one that has only begun.
    probe.begin(queue.clone()).unwrap();
    until(|| known(probe.look(!worker.progress(), Instant::now())));
    probe.begin(queue.clone()).unwrap();
    assert!(threads() > before);
    drop(probe);
    assert_eq!(threads(), before);
}

#[test]
fn the_message_is_in_the_queue_though_its_owner_does_not_move() {
    for config in [SHARED_MEMORY, &[]] {
        let (worker, queue) = listening(config);
        let mut probe = Probe::begin(queue).unwrap();
        let thread = probe.thread.take().unwrap();
        let ended = thread.closed.recv_timeout(LIMIT * 10);
        assert_eq!(ended, Err(RecvTimeoutError::Disconnected), "{config:?}: {probe:?}");
        assert_eq!(verdict(&worker, &mut probe), Verdict::Moves);
    }
}

#[test]
fn for_peers_that_share_no_memory_nothing_is_tested() {
    let tcp = || listening(&[("TLS", "tcp")]);
    let ((owner, queue), (peer, _)) = (tcp(), tcp());
    let endpoint = owner.endpoint().connect(&peer.address().unwrap()).unwrap();
    let mut probe = QueueProbe::default();
    probe.met(&endpoint);
    probe.begin(queue).unwrap();
    assert!(!probe.is_running());

    let ((owner, queue), (peer, _)) = (receiver(), receiver());
    let endpoint = owner.endpoint().connect(&peer.address().unwrap());
    probe.met(&endpoint.unwrap());
    probe.begin(queue).unwrap();
    assert!(probe.is_running());
}
