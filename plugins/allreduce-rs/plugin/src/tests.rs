//! The plugin under the test kit: workers of one domain, connected by UCX within this process.

use allreduce_protocol::{Element, Join, Operation, Protocol, Reduce, Reduced};
use half::bf16;
use urom_pdk::memory::{Access, MemoryPath};
use urom_pdk::test_util::{Domain, Sent, SharedMemory, Worker};
use urom_pdk::{CancelReason, DocaError};

use super::{Allreduce, LONG, MOST_PARTS};

struct Member {
    worker: Worker<Protocol>,
    send: SharedMemory,
    recv: SharedMemory,
    handle: u64,
}

fn workers(size: u64) -> (Domain, Vec<Worker<Protocol>>) {
    let domain = Domain::new();
    let workers = (0..size).map(|id| domain.open::<Allreduce, Protocol>(id)).collect();
    (domain, workers)
}

fn join(worker: Worker<Protocol>, rank: usize, size: usize, inputs: &[u8]) -> Member {
    let share = |bytes: &[u8]| worker.share(bytes, Access::PCI_READ_WRITE, MemoryPath::MAPPED);
    let inputs = if inputs.is_empty() { &[0] } else { inputs };
    let (send, recv) = (share(inputs), share(&vec![0; inputs.len()]));
    let (send_range, recv_range) = (send.range(), recv.range());
    let (rank, size) = (rank as u32, size as u32);
    let command = Join { group: 7, rank, size, send: send_range, recv: recv_range };
    let handle = worker.call(command).unwrap().handle;
    Member { worker, send, recv, handle }
}

fn group(inputs: &[Vec<u8>]) -> (Domain, Vec<Member>) {
    let (domain, workers) = workers(inputs.len() as u64);
    let members = workers.into_iter().zip(inputs).enumerate();
    let members =
        members.map(|(rank, (worker, bytes))| join(worker, rank, inputs.len(), bytes)).collect();
    (domain, members)
}

impl Member {
    fn reduce(&self, count: u64, element: Element, operation: Operation) -> Sent<Reduced> {
        let (handle, offset, in_place) = (self.handle, 0, false);
        self.worker.send(Reduce { handle, count, element, operation, offset, in_place })
    }
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn reduced(inputs: &[Vec<u8>], element: Element, operation: Operation) -> Vec<u8> {
    let (_domain, members) = group(inputs);
    let count = inputs[0].len() as u64 / element.size();
    let calls: Vec<_> =
        members.iter().map(|member| member.reduce(count, element, operation)).collect();
    for (member, call) in members.iter().zip(calls) {
        member.worker.wait(call).unwrap();
    }
    let len = inputs[0].len();
    let results = members.iter().map(|member| member.recv.bytes()[..len].to_vec());
    let results: Vec<_> = results.collect();
    assert!(results.iter().all(|result| *result == results[0]), "the same bits at all members");
    results.into_iter().next().unwrap()
}

#[test]
fn every_number_of_members_and_elements_is_reduced() {
    for size in 1..=7_u64 {
        for count in [0, 1, 2, 5, 13, 40, 333] {
            let input = |rank: u64| (0..count).flat_map(move |at| (rank * 1000 + at).to_le_bytes());
            let inputs: Vec<Vec<u8>> = (0..size).map(|rank| input(rank).collect()).collect();
            let total = |at| (0..size).map(|rank| rank * 1000 + at).sum::<u64>();
            let sums: Vec<u8> = (0..count).flat_map(|at| total(at).to_le_bytes()).collect();
            let is_long = count * 8 > LONG;
            let result = reduced(&inputs, Element::U64, Operation::Sum);
            assert!(result == sums, "{size} members, {count} elements, long: {is_long}");
        }
    }
}

#[test]
fn all_types_and_operations_have_the_results_of_the_standard_library() {
    let results = |element, inputs: [Vec<u8>; 3]| {
        [Operation::Sum, Operation::Min, Operation::Max]
            .map(|operation| reduced(&inputs, element, operation))
    };
    let i32s = |values: [i32; 2]| values.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(
        results(Element::I32, [[i32::MAX, 5], [1, -7], [0, 3]].map(i32s)),
        [[i32::MIN, 1], [0, -7], [i32::MAX, 5]].map(i32s)
    );
    assert_eq!(
        results(Element::F32, [[1.5, -2.0], [0.25, 8.0], [4.0, 0.0]].map(|it| f32s(&it))),
        [[5.75, 6.0], [0.25, -2.0], [4.0, 8.0]].map(|it| f32s(&it))
    );
    let f64s = |values: [f64; 1]| values[0].to_le_bytes().to_vec();
    assert_eq!(
        results(Element::F64, [[1e300], [-1e300], [2.5]].map(f64s)),
        // Member 0 adds the input of member 2 first.
        [[0.0], [-1e300], [1e300]].map(f64s)
    );
    let bf16s = |value: f32| bf16::from_f32(value).to_le_bytes().to_vec();
    assert_eq!(
        results(Element::Bf16, [256.0, 1.0, 3.0].map(bf16s)),
        // bfloat16 has 8 bits: 256 + 3 is rounded to 260, and 260 + 1 to 260.
        [260.0, 1.0, 256.0].map(bf16s)
    );
}

#[test]
fn all_members_have_the_same_bits_of_what_depends_on_the_order() {
    let odd = [f32::NAN, -f32::NAN, 0.0, -0.0, 1e30, -1e30, 1.0, f32::INFINITY];
    let inputs: Vec<_> = (0..5)
        .map(|rank| {
            let values: Vec<f32> = (0..40).map(|at| odd[(at * 3 + rank * 5) % odd.len()]).collect();
            f32s(&values)
        })
        .collect();
    let short: Vec<_> = inputs.iter().map(|input| input[..64].to_vec()).collect();
    for operation in [Operation::Sum, Operation::Min, Operation::Max] {
        // `reduced` compares the members.
        reduced(&inputs, Element::F32, operation);
        reduced(&short, Element::F32, operation);
    }
}

#[test]
fn concurrent_calls_are_distinguished() {
    let inputs: Vec<_> = (0..3).map(|rank| vec![rank + 1; 400]).collect();
    let (_domain, members) = group(&inputs);
    let at = |member: &Member, offset, count| {
        let (element, operation) = (Element::U64, Operation::Max);
        let handle = member.handle;
        member.worker.send(Reduce { handle, count, element, operation, offset, in_place: false })
    };
    let calls: Vec<_> = members
        .iter()
        .map(|member| {
            [at(member, 0, 5), at(member, 40, 20), at(member, 200, 1), at(member, 208, 4)]
        })
        .collect();
    for (member, calls) in members.iter().zip(calls) {
        for call in calls {
            member.worker.wait(call).unwrap();
        }
        let mut wanted = vec![3; 240];
        wanted.resize(400, 0);
        assert_eq!(member.recv.bytes(), wanted);
    }
}

#[test]
fn the_input_may_be_in_the_buffer_of_the_result() {
    let (_domain, members) = group(&[vec![0; 24], vec![0; 24], vec![0; 24]]);
    for (rank, member) in members.iter().enumerate() {
        member.recv.view().copy_from(0, &[rank as u8; 24]).unwrap();
    }
    let calls: Vec<_> = members
        .iter()
        .map(|member| {
            let (element, operation) = (Element::U64, Operation::Sum);
            let (handle, count, in_place) = (member.handle, 3, true);
            let call = Reduce { handle, count, element, operation, offset: 0, in_place };
            member.worker.send(call)
        })
        .collect();
    for (member, call) in members.iter().zip(calls) {
        member.worker.wait(call).unwrap();
        assert_eq!(member.recv.bytes(), [3; 24]);
        assert_eq!(member.send.bytes(), [0; 24]);
    }
}

#[test]
fn members_that_disagree_fail_together_and_the_group_is_over() {
    let (_domain, members) = group(&[vec![0; 24], vec![0; 24], vec![0; 24]]);
    let calls: Vec<_> = members
        .iter()
        .zip([3, 3, 2])
        .map(|(member, count)| member.reduce(count, Element::U64, Operation::Sum))
        .collect();
    let codes: Vec<_> = members
        .iter()
        .zip(calls)
        .map(|(member, call)| member.worker.wait(call).unwrap_err())
        .collect();
    assert!(codes.contains(&DocaError::INVALID_VALUE), "{codes:?}");
    for member in &members {
        let late = member.reduce(3, Element::U64, Operation::Sum);
        assert_eq!(member.worker.wait(late).unwrap_err(), DocaError::CONNECTION_ABORTED);
    }
}

#[test]
fn a_member_with_more_parts_than_it_keeps_ends_the_calls_of_all_others() {
    let (domain, members) = group(&[vec![0; 24], vec![0; 24], vec![0; 24]]);
    let call = |at: usize| members[at].reduce(3, Element::U64, Operation::Sum);
    let early: Vec<_> = (0..=MOST_PARTS).map(|_| call(0)).collect();
    for _ in 0..100 {
        domain.progress();
    }
    let late = call(1);
    assert_eq!(members[1].worker.wait(late).unwrap_err(), DocaError::CONNECTION_ABORTED);
    for call in early {
        assert_eq!(members[0].worker.wait(call).unwrap_err(), DocaError::CONNECTION_ABORTED);
    }
    let late = call(2);
    assert_eq!(members[2].worker.wait(late).unwrap_err(), DocaError::CONNECTION_ABORTED);
}

#[test]
fn a_member_that_leaves_ends_the_calls_of_all_others() {
    for bytes in [24, 24 * 100] {
        let inputs: Vec<_> = (0..4).map(|_| vec![0; bytes]).collect();
        let (_domain, mut members) = group(&inputs);
        let count = bytes as u64 / 8;
        let calls: Vec<_> = members[..3]
            .iter()
            .map(|member| member.reduce(count, Element::U64, Operation::Sum))
            .collect();
        members.pop().unwrap().worker.close();
        for (member, call) in members.iter().zip(calls) {
            let code = member.worker.wait(call).unwrap_err();
            let ends = [DocaError::CONNECTION_RESET, DocaError::CONNECTION_ABORTED];
            assert!(ends.contains(&code), "{code}");
        }
    }
}

#[test]
fn a_host_that_leaves_in_the_middle_ends_the_calls_of_all_others() {
    let (domain, members) = group(&[vec![0; 24], vec![0; 24], vec![0; 24], vec![0; 24]]);
    // Members 2 and 3 do not call, so the two calls cannot complete.
    let [first, second] =
        [0, 1].map(|at: usize| members[at].reduce(3, Element::U64, Operation::Sum));
    for _ in 0..100 {
        domain.progress();
    }
    members[1].worker.cancel(&second, CancelReason::HostLeft);
    assert_eq!(members[1].worker.wait(second).unwrap_err(), DocaError::SKIPPED);
    assert_eq!(members[0].worker.wait(first).unwrap_err(), DocaError::CONNECTION_ABORTED);
}

#[test]
fn a_domain_that_stops_in_the_middle_leaves_its_groups_connected() {
    let (domain, members) = group(&[vec![1; 24], vec![2; 24], vec![3; 24]]);
    let call = |at: usize| members[at].reduce(3, Element::U64, Operation::Max);
    let mut calls = vec![call(0), call(1)];
    domain.progress();
    (0..3).for_each(|member| domain.remove(member));
    calls.push(call(2));
    for (member, call) in members.iter().zip(calls) {
        member.worker.wait(call).unwrap();
        assert_eq!(member.recv.bytes(), [3; 24]);
    }
    let (send, recv) = (members[0].send.range(), members[0].recv.range());
    let late = members[0].worker.call(Join { group: 8, rank: 0, size: 3, send, recv });
    assert_eq!(late.map(drop).unwrap_err(), DocaError::NOT_FOUND);
}

#[test]
fn a_host_that_leaves_between_calls_ends_the_calls_of_all_others() {
    let (_domain, members) = group(&[vec![0; 24], vec![0; 24], vec![0; 24]]);
    let calls = [0, 1].map(|at: usize| members[at].reduce(3, Element::U64, Operation::Sum));
    members[2].worker.leave(1);
    for (member, call) in members.iter().zip(calls) {
        assert_eq!(member.worker.wait(call).unwrap_err(), DocaError::CONNECTION_ABORTED);
    }
}

#[test]
fn members_and_counts_that_are_none_are_refused() {
    let (_domain, mut workers) = workers(2);
    let worker = workers.remove(0);
    let share = |access| worker.share([0; 24], access, MemoryPath::MAPPED);
    let (memory, read_only) = (share(Access::PCI_READ_WRITE), share(Access::PCI_READ_ONLY));
    let (send, recv) = (memory.range(), memory.range());
    let join = Join { group: 1, rank: 0, size: 2, send, recv };
    let refused = |join| worker.call(join).unwrap_err();
    assert_eq!(refused(Join { rank: 2, ..join }), DocaError::INVALID_VALUE);
    assert_eq!(refused(Join { size: 0, ..join }), DocaError::INVALID_VALUE);
    assert_eq!(refused(Join { size: 1025, ..join }), DocaError::INVALID_VALUE);
    assert_eq!(refused(Join { size: 3, ..join }), DocaError::NOT_FOUND, "no member 2");
    assert_eq!(refused(Join { recv: read_only.range(), ..join }), DocaError::NOT_PERMITTED);

    let handle = worker.call(join).unwrap().handle;
    let (element, operation) = (Element::U64, Operation::Sum);
    let call = Reduce { handle, count: 3, element, operation, offset: 0, in_place: false };
    let refused = |call| worker.call(call).unwrap_err();
    for (count, offset) in
        [(4, 0), (3, 1), (0, 25), (u64::MAX, 0), (u64::MAX / 8, 8), (1, u64::MAX)]
    {
        let wrong = Reduce { count, offset, ..call };
        assert_eq!(refused(wrong), DocaError::INVALID_VALUE, "{count} at {offset}");
    }
    assert_eq!(refused(Reduce { handle: handle + 1, ..call }), DocaError::INVALID_VALUE);
    let foreign = worker.send_from(9, call);
    assert_eq!(worker.wait(foreign).unwrap_err(), DocaError::INVALID_VALUE);
}
