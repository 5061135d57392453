//! Each operation on each path and in each size, with a check of its bytes.

use super::*;

const LENGTHS: [usize; 6] = [1, 8, 4000, 70_000, 300_000, 3 << 20];

#[test]
fn a_write_puts_bytes_into_the_other_ends_memory_and_nowhere_else() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    for path in PATHS {
        for len in LENGTHS {
            let bytes = pattern(len, 1);
            let source = one.share_by(&bytes, LOCAL, path);
            let target = two.share_by(vec![0xee; len + 32], ALL, path);
            one.wait(one.write(at(&target, 16), &[source.range()])).unwrap();
            let found = target.bytes();
            assert!(found[16..16 + len] == bytes, "{path:?}, {len} bytes");
            assert_eq!((&found[..16], &found[16 + len..]), (&[0xee; 16][..], &[0xee; 16][..]));
        }
    }
}

#[test]
fn a_read_gets_bytes_of_the_other_ends_memory() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    for path in PATHS {
        for len in LENGTHS {
            let source = two.share_by(pattern(len + 8, 2), ALL, path);
            let target = one.share_by(vec![0; len], LOCAL, path);
            one.wait(one.read(at(&source, 8), &[target.range()])).unwrap();
            assert!(target.bytes() == pattern(len + 8, 2)[8..], "{path:?}, {len} bytes");
        }
    }
}

#[test]
fn a_send_fills_the_receive_that_was_posted_first() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    for path in PATHS {
        for len in LENGTHS {
            let source = one.share_by(pattern(len, 3), LOCAL, path);
            let buffers = [0, 1].map(|_| two.share_by(vec![0; len + 8], LOCAL, path));
            let receives = [0, 1].map(|at: usize| two.post(&[buffers[at].range()]));
            one.call(SendImm {
                rdma: one.rdma,
                immediate: 0x0102_0304_u32.to_be_bytes(),
                pieces: (&[source.range()]).into(),
            })
            .unwrap();
            one.wait(one.tell(&[source.slice(..1)])).unwrap();
            let received = receives.map(|receive| two.wait(receive).unwrap());
            let first =
                ReceiveDone { opcode: Opcode::SendImm, immediate: [1, 2, 3, 4], len: len as u64 };
            let second = ReceiveDone { opcode: Opcode::Send, immediate: [0; 4], len: 1 };
            assert_eq!(received, [first, second]);
            assert!(buffers[0].bytes()[..len] == pattern(len, 3), "{path:?}, {len} bytes");
            assert_eq!(buffers[1].bytes()[..2], [pattern(1, 3)[0], 0]);
        }
    }
}

#[test]
fn a_write_with_immediate_completes_a_receive_and_leaves_its_buffers_unchanged() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let source = one.share(b"written", LOCAL);
    let (target, buffer) = (two.share([0; 16], ALL), two.share([5; 8], LOCAL));
    for posted in [&[][..], &[buffer.range()]] {
        let receive = two.post(posted);
        let immediate = 77_u32.to_be_bytes();
        let (list, target) = ([source.range()], at(&target, 4));
        let pieces = (&list).into();
        one.call(WriteImm { rdma: one.rdma, target, immediate, pieces }).unwrap();
        let received = two.wait(receive).unwrap();
        assert_eq!(received, ReceiveDone { opcode: Opcode::WriteImm, immediate, len: 0 });
    }
    assert_eq!((&target.bytes()[4..11], buffer.bytes()), (&b"written"[..], vec![5; 8]));
}

#[test]
fn atomic_operations_give_what_was_there_before_and_put_it_into_local_memory() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    for path in PATHS {
        let target = two.share_by([0; 24], ALL, path);
        target.view().copy_from(8, &u64::MAX.to_le_bytes()).unwrap();
        let found = one.share_by([0; 8], LOCAL, path);
        let (rdma, result) = (one.rdma, found.range());
        let added = one.call(FetchAdd { rdma, target: at(&target, 8), add: 3, result }).unwrap();
        assert_eq!((added.before, found.bytes()), (u64::MAX, u64::MAX.to_le_bytes().to_vec()));
        for (compare, now) in [(7, 2), (2, 99)] {
            let target = at(&target, 8);
            let swap = CompareSwap { rdma, target, compare, swap: 99, result };
            assert_eq!(one.call(swap).unwrap().before, 2, "{path:?}");
            assert_eq!(found.bytes(), 2_u64.to_le_bytes());
            let _ = now;
        }
        assert_eq!(target.bytes()[8..16], 99_u64.to_le_bytes(), "{path:?}");
        assert_eq!((&target.bytes()[..8], &target.bytes()[16..]), (&[0; 8][..], &[0; 8][..]));
    }
}

#[test]
fn operations_on_no_bytes_reach_the_other_end() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let rdma = one.rdma;
    let nowhere = Remote::default();
    one.wait(one.write(nowhere, &[])).unwrap();
    one.wait(one.read(nowhere, &[])).unwrap();
    let memory = two.share([1; 8], ALL);
    one.wait(one.write(at(&memory, 8), &[])).unwrap();
    let receives = [two.post(&[]), two.post(&[])];
    one.wait(one.tell(&[])).unwrap();
    one.call(WriteImm { rdma, target: nowhere, immediate: [9; 4], pieces: (&[]).into() }).unwrap();
    let received = receives.map(|receive| two.wait(receive).unwrap());
    assert_eq!(received[0], ReceiveDone { opcode: Opcode::Send, immediate: [0; 4], len: 0 });
    assert_eq!(received[1], ReceiveDone { opcode: Opcode::WriteImm, immediate: [9; 4], len: 0 });
}

#[test]
fn lists_are_gathered_and_scattered() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    for path in PATHS {
        for scale in [1, 3000, 40_000_u64] {
            let len = 10 * scale;
            let all = pattern(len as usize, 4);
            let source = one.share_by(&all, ALL, path);
            let target = two.share_by(vec![0; len as usize], ALL, path);
            let lens = [1, 0, 5, 4].map(|part: u64| part * scale);
            let mut end = 0;
            let pieces = lens.map(|len| {
                end += len;
                source.slice(end - len..end)
            });
            let list = pieces.as_slice();
            one.wait(one.write(at(&target, 0), list)).unwrap();
            assert!(target.bytes() == all, "{path:?}, {len} bytes");
            let back = one.share_by(vec![0; len as usize], LOCAL, path);
            let buffers = [back.slice(7 * scale..), back.slice(..7 * scale)];
            one.wait(one.read(at(&target, 0), &buffers)).unwrap();
            let turned = [&all[3 * scale as usize..], &all[..3 * scale as usize]].concat();
            assert!(back.bytes() == turned, "{path:?}, {len} bytes");
            let buffers = [target.slice(2 * scale..9 * scale), target.slice(..2 * scale)];
            let receive = two.post(&buffers);
            one.wait(one.tell(&pieces[..3])).unwrap();
            assert_eq!(two.wait(receive).unwrap().len, 6 * scale);
            let sent = 6 * scale as usize;
            assert!(target.bytes()[2 * scale as usize..][..sent] == all[..sent], "{path:?}");
        }
    }
}

#[test]
fn an_instance_connects_to_another_one_of_its_own_worker() {
    let (_domain, workers) = workers();
    let ends = [1, 2].map(|connection| End::new(&workers[0], connection, ALL));
    for end in ends {
        end.call(Start { rdma: end.rdma }).unwrap();
    }
    connect(ends[0], ends[1]);
    let source = ends[0].share(pattern(100_000, 5), LOCAL);
    let target = ends[1].share(vec![0; 100_000], ALL);
    ends[0].wait(ends[0].write(at(&target, 0), &[source.range()])).unwrap();
    assert!(target.bytes() == source.bytes());
}
