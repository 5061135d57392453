//! Random lists between random ranges of two memories, compared with a model.

use proptest::prelude::*;

use super::*;

const LEN: u64 = 40_000;

#[derive(Debug, Clone)]
enum Step {
    Write { pieces: Vec<(u64, u64)>, to: u64 },
    Read { targets: Vec<(u64, u64)>, from: u64 },
    Send { pieces: Vec<(u64, u64)>, targets: Vec<(u64, u64)> },
    Add { at: u64, add: u64 },
    Swap { at: u64, compare: u64, swap: u64 },
}

fn list() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let len = prop_oneof![3 => 0..64_u64, 2 => 0..3000_u64, 1 => 0..12_000_u64];
    prop::collection::vec((0..LEN, len), 0..6)
        .prop_map(|list| list.into_iter().map(|(at, len)| (at, len.min(LEN - at))).collect())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (list(), 0..LEN).prop_map(|(pieces, to)| Step::Write { pieces, to }),
        3 => (list(), 0..LEN).prop_map(|(targets, from)| Step::Read { targets, from }),
        3 => (list(), list()).prop_map(|(pieces, targets)| Step::Send { pieces, targets }),
        1 => (0..LEN / 8, any::<u64>()).prop_map(|(at, add)| Step::Add { at: 8 * at, add }),
        1 => (0..LEN / 8, 0..2_u64, any::<u64>())
            .prop_map(|(at, compare, swap)| Step::Swap { at: 8 * at, compare, swap }),
    ]
}

fn path() -> impl Strategy<Value = MemoryPath> {
    prop::sample::select(PATHS.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn memories_are_as_if_everything_happened_in_order(
        steps in prop::collection::vec((any::<bool>(), step()), 1..40),
        paths in (path(), path()),
    ) {
        run(&steps, [paths.0, paths.1])?;
    }
}

fn total(list: &[(u64, u64)]) -> u64 {
    list.iter().map(|(_, len)| len).sum()
}

fn cut(list: &[(u64, u64)], most: u64) -> Vec<(u64, u64)> {
    let mut left = most;
    list.iter()
        .map(|&(at, len)| {
            let len = len.min(left);
            left -= len;
            (at, len)
        })
        .collect()
}

fn gather(model: &[u8], list: &[(u64, u64)]) -> Vec<u8> {
    list.iter().flat_map(|&(at, len)| model[at as usize..][..len as usize].to_vec()).collect()
}

fn scatter(model: &mut [u8], list: &[(u64, u64)], mut bytes: &[u8]) {
    for &(at, len) in list {
        let (part, rest) = bytes.split_at(bytes.len().min(len as usize));
        model[at as usize..][..part.len()].copy_from_slice(part);
        bytes = rest;
    }
}

/// Returns whether the list has overlapping ranges, whose write order DOCA does not define.
fn overlaps(list: &[(u64, u64)]) -> bool {
    list.iter().enumerate().any(|(index, (at, len))| {
        list[..index].iter().any(|(other, others)| at.max(other) < &(at + len).min(other + others))
    })
}

fn run(steps: &[(bool, Step)], paths: [MemoryPath; 2]) -> Result<(), TestCaseError> {
    let (_domain, workers) = workers();
    let ends = pair(&workers);
    let mut models = [pattern(LEN as usize, 1), pattern(LEN as usize, 2)];
    let memories = [0, 1].map(|at| ends[at].share_by(&models[at], ALL, paths[at]));
    let words = ends.map(|end| end.share([0; 8], LOCAL));
    for (turned, step) in steps {
        let this = usize::from(*turned);
        let (end, other) = (ends[this], ends[1 - this]);
        let (memory, far) = (&memories[this], &memories[1 - this]);
        let (rdma, result) = (end.rdma, words[this].range());
        let ranges = |memory: &SharedMemory, list: &[(u64, u64)]| {
            list.iter().map(|&(at, len)| memory.slice(at..at + len)).collect::<Vec<_>>()
        };
        match step {
            Step::Write { pieces, to } => {
                let pieces = cut(pieces, LEN - to);
                let list = ranges(memory, &pieces);
                let write = Write { rdma, target: at(far, *to), pieces: list[..].into() };
                prop_assert!(end.call(write).is_ok());
                let bytes = gather(&models[this], &pieces);
                scatter(&mut models[1 - this], &[(*to, bytes.len() as u64)], &bytes);
            }
            Step::Read { targets, from } => {
                let targets = cut(targets, LEN - from);
                if overlaps(&targets) {
                    continue;
                }
                let list = ranges(memory, &targets);
                let read = Read { rdma, source: at(far, *from), places: list[..].into() };
                prop_assert!(end.call(read).is_ok());
                let bytes = gather(&models[1 - this], &[(*from, total(&targets))]);
                scatter(&mut models[this], &targets, &bytes);
            }
            Step::Send { pieces, targets } => {
                let pieces = cut(pieces, total(targets));
                if overlaps(targets) {
                    continue;
                }
                let receive = other.post(&ranges(far, targets));
                let list = ranges(memory, &pieces);
                prop_assert!(end.wait(end.tell(&list)).is_ok());
                let received = other.wait(receive).unwrap();
                prop_assert_eq!(received.len, total(&pieces));
                let bytes = gather(&models[this], &pieces);
                scatter(&mut models[1 - this], targets, &bytes);
            }
            Step::Add { at: index, add } => {
                let model = &mut models[1 - this][*index as usize..][..8];
                let before = u64::from_le_bytes(model.try_into().unwrap());
                let added = end.call(FetchAdd { rdma, target: at(far, *index), add: *add, result });
                prop_assert_eq!(added.unwrap().before, before);
                model.copy_from_slice(&before.wrapping_add(*add).to_le_bytes());
            }
            Step::Swap { at: index, compare, swap } => {
                let model = &mut models[1 - this][*index as usize..][..8];
                let before = u64::from_le_bytes(model.try_into().unwrap());
                // Half of the comparisons should succeed.
                let compare = if *compare == 0 { before } else { before ^ 1 };
                let swapped =
                    CompareSwap { rdma, target: at(far, *index), compare, swap: *swap, result };
                prop_assert_eq!(end.call(swapped).unwrap().before, before);
                if compare == before {
                    model.copy_from_slice(&swap.to_le_bytes());
                }
            }
        }
        for (memory, model) in memories.iter().zip(&models) {
            prop_assert!(memory.bytes() == *model, "{:?}", step);
        }
    }
    Ok(())
}
