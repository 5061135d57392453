//! Random appends, scatters and flushes against a model, for each kind of memory.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Append {
        pointer: usize,
        len: usize,
    },
    Scatter(Vec<(usize, usize)>),
    Flush,
    /// The host moves a pointer, right after a flush.
    Point {
        pointer: usize,
        to: usize,
    },
}

/// Number of pointers; data begins after them.
const POINTERS: usize = 4;
const DATA: usize = 8 * POINTERS;

fn step() -> impl Strategy<Value = Step> {
    let offset = DATA..REGION + 8;
    let part = (offset.clone(), 0..700_usize);
    prop_oneof![
        6 => (0..POINTERS, 0..1500_usize).prop_map(|(pointer, len)| Step::Append { pointer, len }),
        2 => prop::collection::vec(part, 0..5).prop_map(Step::Scatter),
        2 => Just(Step::Flush),
        1 => (0..POINTERS, offset).prop_map(|(pointer, to)| Step::Point { pointer, to }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn memory_is_as_if_everything_happened_in_order(
        steps in prop::collection::vec(step(), 1..60),
        path in prop::option::of(path()),
    ) {
        let rig = Rig::new();
        let host = path.map_or_else(|| rig.host(0), |path| rig.sharing_host(path));
        run(&rig, &host, &steps)?;
    }
}

fn path() -> impl Strategy<Value = MemoryPath> {
    prop::sample::select(vec![MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK])
}

fn run(rig: &Rig, host: &Host, steps: &[Step]) -> Result<(), TestCaseError> {
    let initiator = rig.initiator(host);
    let mut model = vec![0_u8; REGION];
    let mut pointers = [DATA; POINTERS];
    let set = |model: &mut [u8], pointers: &[usize; POINTERS]| {
        for (at, pointer) in pointers.iter().enumerate() {
            model[8 * at..][..8].copy_from_slice(&host.at(*pointer).to_le_bytes());
        }
    };
    set(&mut model, &pointers);
    host.write(0, &model);
    for (byte, step) in (1_u8..).zip(steps.iter().chain([&Step::Flush])) {
        match step {
            Step::Append { pointer, len } => {
                let operation = Operation::Append {
                    pointer: host.at(8 * pointer),
                    pointer_rkey: host.rkey,
                    data_rkey: host.rkey,
                };
                // Without a fence, writes to the same address are unordered.
                initiator.request(true, operation, vec![byte; *len]);
                let at = pointers[*pointer];
                if at + len <= REGION {
                    model[at..at + len].fill(byte);
                    pointers[*pointer] += len;
                }
            }
            Step::Scatter(parts) => {
                let mut data = Vec::new();
                for (at, len) in parts {
                    let bytes = vec![byte; *len];
                    let part = Part { address: host.at(*at), rkey: host.rkey, data: &bytes };
                    part.write(&mut data).unwrap();
                }
                let operation = Operation::Scatter { count: parts.len() as u64 };
                initiator.request(true, operation, data);
                if parts.iter().all(|(at, len)| at + len <= REGION) {
                    parts.iter().for_each(|(at, len)| model[*at..at + len].fill(byte));
                }
            }
            Step::Flush | Step::Point { .. } => {
                rig.flush(&initiator);
                set(&mut model, &pointers);
                let mut found = vec![0; REGION];
                host.read(0, &mut found);
                prop_assert_eq!(found, model.clone());
                if let Step::Point { pointer, to } = step {
                    pointers[*pointer] = *to;
                    set(&mut model, &pointers);
                    host.write(0, &model[..DATA]);
                }
            }
        }
    }
    Ok(())
}
