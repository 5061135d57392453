//! The order of operations within one instance.

use super::*;

#[test]
fn a_send_waits_for_a_receive_and_so_does_everything_behind_it() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    let source = one.share([9; 8], LOCAL);
    let (target, buffer) = (two.share([0; 8], ALL), two.share([0; 8], LOCAL));
    let list = [source.range()];
    let send = one.tell(&list);
    let write = one.write(at(&target, 0), &list);
    for _ in 0..200 {
        domain.progress();
    }
    assert!(one.worker.answer(&send).is_none() && one.worker.answer(&write).is_none());
    assert_eq!(target.bytes(), [0; 8]);
    let receive = two.post(&[buffer.range()]);
    two.wait(receive).unwrap();
    one.wait(send).unwrap();
    one.wait(write).unwrap();
    assert_eq!((target.bytes(), buffer.bytes()), (vec![9; 8], vec![9; 8]));
}

#[test]
fn the_last_of_many_writes_to_one_address_remains() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    for path in PATHS {
        // In UCX, short messages overtake long ones.
        let long = 400_000;
        let target = two.share_by(vec![0; long], ALL, path);
        let sources =
            [long, 8, long, 100, 8].map(|len| one.share_by(vec![len as u8; len], LOCAL, path));
        let last = one.share_by([0x5a; 8], LOCAL, path);
        let writes: Vec<_> = sources
            .iter()
            .chain([&last])
            .map(|source| {
                let pieces = &[source.range()];
                one.write(at(&target, 0), pieces)
            })
            .collect();
        for write in writes {
            one.wait(write).unwrap();
        }
        let found = target.bytes();
        assert_eq!(
            (&found[..8], found[8], found[100]),
            (&[0x5a; 8][..], 100, long as u8),
            "{path:?}"
        );
    }
}

#[test]
fn a_read_sees_the_writes_before_it_and_none_behind_it() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    for path in PATHS {
        let len = 200_000;
        let target = two.share_by(vec![0; len], ALL, path);
        let sources = [1, 2].map(|byte| one.share_by(vec![byte; len], LOCAL, path));
        let back = one.share_by(vec![0; len], LOCAL, path);
        let remote = at(&target, 0);
        let write = |source: &SharedMemory| one.write(remote, &[source.range()]);
        let first = write(&sources[0]);
        let read = one.read(remote, &[back.range()]);
        let second = write(&sources[1]);
        one.wait(first).unwrap();
        one.wait(read).unwrap();
        one.wait(second).unwrap();
        assert!(back.bytes() == vec![1; len], "{path:?}");
        assert!(target.bytes() == vec![2; len], "{path:?}");
    }
}

#[test]
fn messages_of_all_lengths_arrive_in_the_order_in_which_they_were_sent() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let lens: Vec<usize> = (0..60).map(|at| [1, 300_000, 9000, 64, 70_000][at % 5]).collect();
    let buffer = two.share(vec![0; lens.iter().sum()], LOCAL);
    let mut end = 0;
    let receives: Vec<_> = lens
        .iter()
        .map(|len| {
            end += *len as u64;
            two.post(&[buffer.slice(end - *len as u64..end)])
        })
        .collect();
    let sources: Vec<_> =
        lens.iter().zip(0..).map(|(len, byte)| one.share(vec![byte; *len], LOCAL)).collect();
    let sends: Vec<_> = sources.iter().map(|source| one.tell(&[source.range()])).collect();
    for send in sends {
        one.wait(send).unwrap();
    }
    for (receive, len) in receives.into_iter().zip(&lens) {
        assert_eq!(two.wait(receive).unwrap().len, *len as u64);
    }
    let mut bytes = &buffer.bytes()[..];
    for (len, byte) in lens.iter().zip(0_u8..) {
        assert!(bytes[..*len].iter().all(|found| *found == byte), "message {byte}");
        bytes = &bytes[*len..];
    }
}

#[test]
fn operations_wait_until_the_other_end_has_connected() {
    let (domain, workers) = workers();
    let [one, two] = [0, 1].map(|at| End::started(&workers[at], ALL));
    let details = [one, two].map(|end| end.details());
    one.call(Connect { rdma: one.rdma, details: &details[1] }).unwrap();
    let (source, target) = (one.share([4; 8], LOCAL), two.share([0; 8], ALL));
    let pieces = &[source.range()];
    let write = one.write(at(&target, 0), pieces);
    for _ in 0..200 {
        domain.progress();
    }
    assert!(one.worker.answer(&write).is_none());
    two.call(Connect { rdma: two.rdma, details: &details[0] }).unwrap();
    one.wait(write).unwrap();
    assert_eq!(target.bytes(), [4; 8]);
}

#[test]
fn both_ends_work_at_a_time() {
    let (_domain, workers) = workers();
    let ends = pair(&workers);
    let memories =
        ends.map(|end| [end.share(pattern(100_000, 8), LOCAL), end.share(vec![0; 100_000], ALL)]);
    let writes: Vec<_> = (0..20)
        .flat_map(|_| [0, 1])
        .map(|this| {
            let target = at(&memories[1 - this][1], 0);
            let pieces = &[memories[this][0].range()];
            (this, ends[this].write(target, pieces))
        })
        .collect();
    for (this, write) in writes {
        ends[this].wait(write).unwrap();
    }
    memories.iter().for_each(|memory| assert!(memory[0].bytes() == memory[1].bytes()));
}

#[test]
fn more_than_an_end_keeps_waits_at_the_other_end() {
    let (domain, workers) = workers();
    let [one, two] = pair(&workers);
    let len = 4000;
    let source = one.share(pattern(len, 9), LOCAL);
    let target = two.share(vec![0; len], ALL);
    // A message without a receive, followed by more than an instance keeps: each in 60 parts.
    let waiting = one.tell(&[source.range()]);
    let part = |_| source.range();
    let list: Vec<_> = (0..60).map(part).collect();
    let buffer = two.share(vec![0; 60 * len], ALL);
    let writes: Vec<_> = (0..200).map(|_| one.write(at(&buffer, 0), &list)).collect();
    until(&domain, "the memory of all", || source.opened() > 0 && one.state() == State::Connected);
    assert_eq!(two.state(), State::Connected);
    let receive = two.post(&[target.range()]);
    two.wait(receive).unwrap();
    one.wait(waiting).unwrap();
    for write in writes {
        one.wait(write).unwrap();
    }
    assert!(buffer.bytes().chunks(len).all(|bytes| bytes == pattern(len, 9)));
}

#[test]
fn a_thousand_operations_that_waited_run_without_a_deep_stack() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let source = one.share([3; 8], LOCAL);
    let target = two.share(vec![0; 8 * 1000], ALL);
    let waiting = one.tell(&[source.range()]);
    let writes: Vec<_> =
        (0..1000).map(|index| one.write(at(&target, 8 * index), &[source.range()])).collect();
    for _ in 0..100 {
        assert_eq!(one.state(), State::Connected);
    }
    let buffer = two.share([0; 8], LOCAL);
    let receive = two.post(&[buffer.range()]);
    two.wait(receive).unwrap();
    one.wait(waiting).unwrap();
    for write in writes {
        one.wait(write).unwrap();
    }
    assert!(target.bytes().iter().all(|byte| *byte == 3));
}
