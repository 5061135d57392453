//! The permissions of both ends: every cell of DOCA's table.

use super::*;

#[derive(Clone, Copy, Debug)]
enum Permitted {
    Write,
    WriteImm,
    Read,
    CompareSwap,
    FetchAdd,
}

impl Permitted {
    const ALL: [(Permitted, Access); 5] = [
        (Permitted::Write, Access::RDMA_WRITE),
        (Permitted::WriteImm, Access::RDMA_WRITE),
        (Permitted::Read, Access::RDMA_READ),
        (Permitted::CompareSwap, Access::RDMA_ATOMIC),
        (Permitted::FetchAdd, Access::RDMA_ATOMIC),
    ];

    fn run(self, end: End<'_>, local: &SharedMemory, target: Remote) -> Result<(), DocaError> {
        let (rdma, list, result) = (end.rdma, [local.slice(..8)], local.slice(..8));
        let pieces = (&list).into();
        match self {
            Permitted::Write => end.call(Write { rdma, target, pieces }).map(drop),
            Permitted::WriteImm => {
                end.call(WriteImm { rdma, target, immediate: [0; 4], pieces }).map(drop)
            }
            Permitted::Read => end.call(Read { rdma, source: target, places: pieces }).map(drop),
            Permitted::CompareSwap => {
                end.call(CompareSwap { rdma, target, compare: 0, swap: 1, result }).map(drop)
            }
            Permitted::FetchAdd => end.call(FetchAdd { rdma, target, add: 1, result }).map(drop),
        }
    }
}

const EACH: [Access; 3] = [Access::RDMA_WRITE, Access::RDMA_READ, Access::RDMA_ATOMIC];

/// Runs an operation on a new pair of instances; returns the result and both states.
fn run(
    operation: Permitted,
    instance: Access,
    memory: Access,
) -> (Result<(), DocaError>, [State; 2]) {
    let (domain, workers) = workers();
    let (one, two) =
        (End::started(&workers[0], Access::empty()), End::started(&workers[1], instance));
    connect(one, two);
    let local = one.share([0; 8], LOCAL);
    let target = two.share([0; 16], memory);
    let _receive = two.post(&[]);
    let outcome = operation.run(one, &local, at(&target, 8));
    if outcome.is_err() {
        until(&domain, "the other end's state", || two.state() == State::Error);
        assert_eq!(target.bytes(), [0; 16], "{operation:?}");
    }
    (outcome, [one.state(), two.state()])
}

#[test]
fn an_operation_needs_its_permission_of_the_instance_and_of_the_memory() {
    for (operation, needed) in Permitted::ALL {
        let fine = run(operation, needed, LOCAL | needed);
        assert_eq!(fine, (Ok(()), [State::Connected; 2]), "{operation:?}");
        let refused = (Err(DocaError::NOT_PERMITTED), [State::Error; 2]);
        for other in EACH.into_iter().filter(|other| *other != needed) {
            assert_eq!(run(operation, other, ALL), refused, "{operation:?}, instance {other:?}");
            assert_eq!(run(operation, ALL, LOCAL | other), refused, "{operation:?}, {other:?}");
        }
        assert_eq!(run(operation, Access::empty(), ALL), refused, "{operation:?}");
        assert_eq!(run(operation, ALL, LOCAL), refused, "{operation:?}");
        // The owner itself may not write it.
        let read_only = Access::LOCAL_READ_ONLY | needed | Access::PCI_READ_WRITE;
        assert_eq!(run(operation, ALL, read_only), refused, "{operation:?}");
    }
}

#[test]
fn local_memory_that_is_read_only_is_refused_and_the_instance_goes_on() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let target = two.share([0; 16], ALL);
    for access in [Access::PCI_READ_ONLY, Access::PCI_READ_WRITE, Access::RDMA_READ] {
        let local = one.share([0; 8], access);
        for (operation, _) in Permitted::ALL {
            let outcome = operation.run(one, &local, at(&target, 0));
            assert_eq!(outcome, Err(DocaError::NOT_PERMITTED), "{operation:?}, {access:?}");
        }
        let list = [local.range()];
        let send = one.wait(one.tell(&list));
        assert_eq!(send.map(drop), Err(DocaError::NOT_PERMITTED));
        let receive = one.call(Receive { rdma: one.rdma, places: (&list).into() });
        assert_eq!(receive.map(drop), Err(DocaError::NOT_PERMITTED));
    }
    assert_eq!((one.state(), two.state()), (State::Connected, State::Connected));
}

#[test]
fn sends_need_no_permission_of_the_other_end() {
    let (_domain, workers) = workers();
    let ends = [0, 1].map(|at| End::started(&workers[at], Access::empty()));
    connect(ends[0], ends[1]);
    let (source, buffer) = (ends[0].share([3; 8], LOCAL), ends[1].share([0; 8], LOCAL));
    let receive = ends[1].post(&[buffer.range()]);
    let list = [source.range()];
    ends[0].wait(ends[0].tell(&list)).unwrap();
    ends[1].wait(receive).unwrap();
    assert_eq!(buffer.bytes(), [3; 8]);
}
