//! Each state with each call.

use super::*;

/// Returns the result of each call in one state, in the order of the table below.
fn each(
    end: End<'_>,
    peer: &[u8],
    memory: &SharedMemory,
) -> Vec<(&'static str, Option<DocaError>)> {
    let rdma = end.rdma;
    let (no, list) = (Remote::default(), [memory.range()]);
    let result = memory.slice(..8);
    let refused = |outcome: Result<(), DocaError>| outcome.err();
    vec![
        ("export", refused(end.call(Export { rdma }).map(drop))),
        ("send", refused(end.wait(end.tell(&list)).map(drop))),
        (
            "send_imm",
            refused(
                end.call(SendImm { rdma, immediate: [0; 4], pieces: (&list).into() }).map(drop),
            ),
        ),
        ("write", refused(end.wait(end.write(no, &[])).map(drop))),
        (
            "write_imm",
            refused(
                end.call(WriteImm { rdma, target: no, immediate: [0; 4], pieces: (&[]).into() })
                    .map(drop),
            ),
        ),
        ("read", refused(end.wait(end.read(no, &[])).map(drop))),
        (
            "compare_swap",
            refused(
                end.call(CompareSwap { rdma, target: no, compare: 0, swap: 0, result }).map(drop),
            ),
        ),
        ("fetch_add", refused(end.call(FetchAdd { rdma, target: no, add: 0, result }).map(drop))),
        ("connect", refused(end.call(Connect { rdma, details: peer }).map(drop))),
    ]
}

fn all_are_refused(calls: Vec<(&'static str, Option<DocaError>)>, but: &[&str]) {
    for (call, refused) in calls {
        if !but.contains(&call) {
            assert_eq!(refused, Some(DocaError::BAD_STATE), "{call}");
        }
    }
}

#[test]
fn nothing_but_a_start_and_a_stop_is_taken_in_reset() {
    let (_domain, workers) = workers();
    let (end, other) = (End::new(&workers[0], 1, ALL), End::started(&workers[1], ALL));
    let memory = end.share([0; 8], LOCAL);
    all_are_refused(each(end, &other.details(), &memory), &[]);
    let receive = end.call(Receive { rdma: end.rdma, places: (&[]).into() });
    assert_eq!(receive.unwrap_err(), DocaError::BAD_STATE);
    end.call(Stop { rdma: end.rdma }).unwrap();
    assert_eq!(end.state(), State::Reset);
    end.call(Start { rdma: end.rdma }).unwrap();
    assert_eq!(end.state(), State::Init);
}

#[test]
fn receives_an_export_and_a_connection_are_taken_in_init() {
    let (_domain, workers) = workers();
    let (end, other) = (End::started(&workers[0], ALL), End::started(&workers[1], ALL));
    let memory = end.share([0; 8], LOCAL);
    assert_eq!(end.call(Start { rdma: end.rdma }).unwrap_err(), DocaError::BAD_STATE);
    let receive = end.post(&[memory.range()]);
    let details = other.details();
    let bad = each(end, b"no details", &memory);
    assert_eq!(bad.last(), Some(&("connect", Some(DocaError::INVALID_VALUE))));
    all_are_refused(bad, &["export", "connect"]);
    assert_eq!(end.state(), State::Init);
    end.call(Connect { rdma: end.rdma, details: &details }).unwrap();
    assert_eq!(end.state(), State::Connected);
    end.call(Stop { rdma: end.rdma }).unwrap();
    assert_eq!(end.wait(receive).unwrap_err(), DocaError::SHUTDOWN);
}

#[test]
fn a_connected_instance_is_not_started_exported_or_connected_again() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let rdma = one.rdma;
    assert_eq!(one.call(Start { rdma }).unwrap_err(), DocaError::BAD_STATE);
    assert_eq!(one.call(Export { rdma }).map(drop), Err(DocaError::BAD_STATE));
    assert_eq!(one.call(Connect { rdma, details: &[] }).unwrap_err(), DocaError::BAD_STATE);
    assert_eq!((one.state(), two.state()), (State::Connected, State::Connected));
}

#[test]
fn after_a_failure_nothing_is_taken_until_stop_start_export_and_connect() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    let memory = one.share([0; 8], LOCAL);
    let target = Remote { memory: 0xdead, offset: 0 };
    let pieces = [memory.range()];
    let failed = one.wait(one.write(target, &pieces));
    assert_eq!(failed.unwrap_err(), DocaError::NOT_FOUND);
    until(&domain, "the other end's state", || two.state() == State::Error);
    for end in [one, two] {
        assert_eq!(end.state(), State::Error);
        let memory = end.share([0; 8], LOCAL);
        all_are_refused(each(end, &[], &memory), &[]);
        let receive = end.call(Receive { rdma: end.rdma, places: (&[]).into() });
        assert_eq!(receive.unwrap_err(), DocaError::BAD_STATE);
        assert_eq!(end.call(Start { rdma: end.rdma }).unwrap_err(), DocaError::BAD_STATE);
    }
    let query = one.call(Query { rdma: one.rdma }).unwrap();
    let why = String::from_utf8(query.why.to_vec()).unwrap();
    assert_eq!(query.failure, DocaError::NOT_FOUND.code());
    assert!(why.contains("has not exported it"), "{why}");
    for end in [one, two] {
        end.call(Stop { rdma: end.rdma }).unwrap();
        end.call(Start { rdma: end.rdma }).unwrap();
    }
    connect(one, two);
    let target = two.share([0; 8], ALL);
    let write = Write { rdma: one.rdma, target: at(&target, 0), pieces: (&pieces).into() };
    one.call(write).unwrap();
}

#[test]
fn operations_pending_at_a_failure_name_the_first_one() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let memory = one.share([7; 8], LOCAL);
    let list = [memory.range()];
    let own = one.post(&list);
    let target = Remote { memory: 0xdead, offset: 0 };
    let first = one.write(target, &list);
    let second = one.tell(&list);
    let (code, why) = one.failure(first);
    assert_eq!(code, DocaError::NOT_FOUND);
    for (code, other) in [one.failure(second), one.failure(own)] {
        assert_eq!(code, DocaError::CONNECTION_ABORTED);
        assert!(other.contains("failed before") && other.contains("memory 0xdead"), "{other}");
    }
    assert!(why.contains("the other end") && why.contains("memory 0xdead"), "{why}");
    let _ = two;
}

#[test]
fn operations_pending_at_a_stop_end_with_shutdown() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    let memory = one.share([7; 8], LOCAL);
    let list = [memory.range()];
    let receive = one.post(&list);
    let send = one.tell(&list);
    one.call(Stop { rdma: one.rdma }).unwrap();
    assert_eq!(one.wait(receive).unwrap_err(), DocaError::SHUTDOWN);
    assert_eq!(one.wait(send).unwrap_err(), DocaError::SHUTDOWN);
    assert_eq!(one.state(), State::Reset);
    until(&domain, "the other end's state", || two.state() == State::Error);
    let query = two.call(Query { rdma: two.rdma }).unwrap();
    let why = String::from_utf8(query.why.to_vec()).unwrap();
    assert_eq!(query.failure, DocaError::CONNECTION_RESET.code());
    assert!(why.contains("the instance was stopped"), "{why}");
    until(&domain, "the memory", || memory.opened() == 0);
}

#[test]
fn an_instance_that_is_destroyed_is_unknown_and_so_are_forged_numbers() {
    let (_domain, workers) = workers();
    let [one, _two] = pair(&workers);
    let other_host = End { connection: 2, ..one };
    assert_eq!(other_host.call(Query { rdma: one.rdma }).map(drop), Err(DocaError::INVALID_VALUE));
    assert_eq!(
        other_host.call(Destroy { rdma: one.rdma }).map(drop),
        Err(DocaError::INVALID_VALUE)
    );
    one.call(Destroy { rdma: one.rdma }).unwrap();
    for rdma in [one.rdma, 0, 1, u64::MAX, one.rdma ^ (1 << 32), one.rdma ^ 1] {
        let forged = End { rdma, ..one };
        let memory = one.share([0; 8], LOCAL);
        for (call, refused) in each(forged, &[], &memory) {
            assert_eq!(refused, Some(DocaError::INVALID_VALUE), "{call} on {rdma:#x}");
        }
        assert_eq!(one.call(Start { rdma }).map(drop), Err(DocaError::INVALID_VALUE));
        assert_eq!(one.call(Stop { rdma }).map(drop), Err(DocaError::INVALID_VALUE));
        assert_eq!(one.call(Query { rdma }).map(drop), Err(DocaError::INVALID_VALUE));
        let receive = Receive { rdma, places: (&[]).into() };
        assert_eq!(one.call(receive).map(drop), Err(DocaError::INVALID_VALUE));
    }
    assert_ne!(End::new(&workers[0], 1, ALL).rdma, one.rdma);
}

#[test]
fn a_host_has_no_more_instances_than_the_limit_and_unknown_permissions_are_refused() {
    let (_domain, workers) = workers();
    let limits = workers[0].call(Create { permissions: 0 }).unwrap().limits;
    let most = limits.instances;
    assert_eq!((limits.message, limits.list > 1), (1 << 31, true));
    for _ in 1..most {
        workers[0].call(Create { permissions: 0 }).unwrap();
    }
    let create = workers[0].call(Create { permissions: 0 });
    assert_eq!(create.map(drop), Err(DocaError::FULL));
    for permissions in [Access::PCI_READ_WRITE.bits(), 1 << 7, u32::MAX] {
        let create = workers[1].call(Create { permissions });
        assert_eq!(create.map(drop), Err(DocaError::INVALID_VALUE));
    }
}

#[test]
fn after_a_stop_no_byte_of_the_other_end_arrives() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    for _ in 0..5 {
        let source = one.share(vec![1; 8 << 20], LOCAL);
        let target = two.share(vec![0; 8 << 20], ALL);
        let write = one.write(at(&target, 0), &[source.range()]);
        domain.progress();
        two.call(Stop { rdma: two.rdma }).unwrap();
        let (arrived, _) = (target.bytes(), one.wait(write));
        for _ in 0..100 {
            domain.progress();
        }
        assert!(target.bytes() == arrived);
        until(&domain, "the state", || one.state() == State::Error);
        one.call(Stop { rdma: one.rdma }).unwrap();
        for end in [one, two] {
            end.call(Start { rdma: end.rdma }).unwrap();
        }
        connect(one, two);
    }
}

#[test]
fn nothing_behind_an_operation_that_fails_happens() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let memory = one.share([0; 8], LOCAL);
    let target = two.share([0; 8], ALL);
    let waits = one.tell(&[memory.range()]);
    let fails = one.write(Remote { memory: 0xdead, offset: 0 }, &[memory.range()]);
    let add = FetchAdd { rdma: one.rdma, target: at(&target, 0), add: 1, result: memory.range() };
    let add = one.send(add);
    for _ in 0..100 {
        assert_eq!(two.state(), State::Connected);
    }
    let _receive = two.post(&[memory_of(two).range()]);
    assert_eq!(one.wait(fails).map(drop), Err(DocaError::NOT_FOUND));
    assert_eq!(one.wait(waits).map(drop), Ok(()));
    assert_eq!(one.wait(add).map(drop), Err(DocaError::CONNECTION_ABORTED));
    assert_eq!(target.bytes(), [0; 8]);
}

fn memory_of(end: End<'_>) -> SharedMemory {
    end.share([0; 8], LOCAL)
}
